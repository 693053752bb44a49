"""Errors of the plan, with a message for people."""

from __future__ import annotations


class PlanError(Exception):
    """Something asked for can't be done; the message says why and what to do."""


class ChangedMeanwhileError(PlanError):
    """Somebody else changed the same thing after the page was shown."""
