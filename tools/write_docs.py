"""Writes the pages of docs/ that are made from the code: `make docs`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from migrations_tracker.env import Variable

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Made from the code by `make docs`; change it there. -->"


def configure() -> str:
    """Return docs/configure.md: every environment variable that the settings read."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")
    from migrations_tracker import checks, settings

    rows = [_row(variable) for variable in sorted(settings.env.variables, key=lambda variable: variable.name)]
    warnings = [f"| `{check.id}` | {check.summary} |" for check in checks.CHECKS]
    return "\n".join(
        [
            NOTE,
            "",
            "# Configure",
            "",
            "Everything is set by environment variables. A file `.env` beside `manage.py` may hold them too,",
            "one `NAME=value` a line; what the environment says wins. A secret may stand in a file of its",
            "own, which the variable with `_FILE` behind its name names.",
            "",
            "`make run` needs none of them. In production `SECRET_KEY`, `DATABASE_URL`, `BROKER_URL` and",
            "`ALLOWED_HOSTS` are needed; [docker-compose.yml](../docker-compose.yml) shows them in use.",
            "",
            "| variable | what | unless set | meaning |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            "`manage.py check` finds combinations that cannot work:",
            "",
            "| id | found |",
            "| --- | --- |",
            *warnings,
            "",
        ]
    )


def _row(variable: Variable) -> str:
    from migrations_tracker.settings import BASE_DIR

    default = variable.default.replace(f"{BASE_DIR}/", "")
    shown = f"`{default}`" if default else "-"
    return f"| `{variable.name}` | {variable.kind} | {shown} | {variable.meaning} |"


def role_page() -> str:
    """Return docs/roles.md: which role may do what."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "migrations_tracker.settings")
    import django

    django.setup()
    from tools.role_docs import roles

    return roles()


# Page and what it is made of; a test holds each against what is checked in.
PAGES: tuple[tuple[str, Callable[[], str]], ...] = (
    ("configure.md", configure),
    ("roles.md", role_page),
)


def main() -> None:
    """Write every page."""
    for name, make in PAGES:
        (DOCS / name).write_text(make())


if __name__ == "__main__":
    main()
