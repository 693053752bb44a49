"""Writes: one function per mutation of the plan."""

from __future__ import annotations
