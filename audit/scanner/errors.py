"""Errors that end a scan with a message for people."""

from __future__ import annotations


class ScanError(Exception):
    """The scan cannot be done: the message says what happened, on what, and what to do."""
