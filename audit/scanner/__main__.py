"""`python -m audit.scanner`."""

from __future__ import annotations

from audit.scanner.cli import command

if __name__ == "__main__":
    command()
