"""Writes: one function per mutation of the facts."""

from __future__ import annotations
