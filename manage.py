#!/usr/bin/env python3
"""Django's command line for Ferroaudit."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "Django is not installed for this Python: run `make run`, or use `.venv/bin/python manage.py`."
        )
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
