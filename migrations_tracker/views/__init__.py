"""Thin views: parse, one service or selector, render."""

from __future__ import annotations
