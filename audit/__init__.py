"""Facts: what the code is."""
