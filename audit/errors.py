"""Errors whose message is for people: what happened, on what, what to do."""

from __future__ import annotations


class AuditError(Exception):
    """Something asked for can't be done; the message says why and what to do."""


class RepositoryNotUsableError(AuditError):
    """The path or URL is no repository that can be scanned."""


class RevisionUnknownError(AuditError):
    """The repository has no such revision."""


class LeaseLostError(AuditError):
    """Another worker took the row, or somebody cancelled it: what this worker found must not be stored."""


class PolicyMovedError(AuditError):
    """Somebody published another version of the policy than the one that the author saw."""


class RevisionMovedError(AuditError):
    """Somebody saved another revision of an entry than the one that the author changed."""
