"""Errors of the machinery, with a message for people and runners."""

from __future__ import annotations


class MachineryError(Exception):
    """Something asked for can't be done; the message says why and what to do."""


class NotAuthorisedError(MachineryError):
    """The token is nobody's, or its runner may not do this."""


class OutcomeRefusedError(MachineryError):
    """An outcome that is late, forged, or answers something else."""
