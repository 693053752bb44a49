"""Comparing the head of a pull request with its base: pure, like the scanner."""

from __future__ import annotations
