"""Cells of Markdown tables."""

from __future__ import annotations


def markdown_cell(text: str) -> str:
    """Return text that stays inside one cell of a Markdown table and starts no element of its own."""
    one_line = " ".join(text.split())
    return one_line.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def markdown_code(text: str) -> str:
    """Return text as inline code, whatever it holds."""
    one_line = " ".join(text.split()).replace("|", "\\|")
    fence = "`"
    while fence in one_line:
        fence += "`"
    padding = " " if one_line.startswith("`") or one_line.endswith("`") else ""
    return f"{fence}{padding}{one_line}{padding}{fence}"
