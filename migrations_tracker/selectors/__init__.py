"""Reads for the pages: facts and plan side by side."""

from __future__ import annotations
