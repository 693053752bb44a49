#!/usr/bin/env python3
"""Django's command line for Ferroaudit."""

from __future__ import annotations

import os
import sys

try:
    from django.core.management import execute_from_command_line

    from migrations_tracker.supervisor.up import main as up
except ImportError as error:
    sys.exit(f"{error}. Run `make run`, which installs everything, or use `.venv/bin/python manage.py`.")


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")
    if sys.argv[1:2] == ["up"]:
        # Before Django: `up` starts the servers that the settings name, so it runs before they are read.
        sys.exit(up(sys.argv[2:]))
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
