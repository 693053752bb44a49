"""The rules: one module each, listed in `RULES`."""
