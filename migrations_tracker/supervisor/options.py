"""What may be said behind `manage.py up`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """The choices of one local run."""

    repository: str
    revision: str
    port: int
    resets_administrator: bool


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="manage.py up",
        description="Start everything on this machine: database, broker, pages, worker and clock.",
    )
    parser.add_argument("--repo", default="", help="scan this path or URL; without it the sample workspace")
    parser.add_argument("--rev", default="", help="the branch, tag or commit to scan; only with --repo")
    parser.add_argument(
        "--port", type=_port, default=0, help="the port of the pages (8000 unless it is taken)"
    )
    parser.add_argument("--reset-admin", action="store_true", help="give the administrator a new password")
    values = parser.parse_args(arguments)
    if values.rev and not values.repo:
        parser.error("--rev says nothing without --repo")
    return Options(values.repo, values.rev, values.port, values.reset_admin)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise argparse.ArgumentTypeError(f"`{text}` is no port: a number from 1 to 65535")
    return int(text)
