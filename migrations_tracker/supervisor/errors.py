"""Errors of the supervisor that end `manage.py up` with a message for people."""

from __future__ import annotations


class SupervisorError(Exception):
    """A step cannot be done: the message says what happened, on what, and what to do."""
