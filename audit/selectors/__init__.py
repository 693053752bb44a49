"""Reads of the facts."""

from __future__ import annotations
