"""Keeping a table whose rows are never changed from being emptied at one stroke."""

from __future__ import annotations

import pgtrigger


def never_emptied(name: str) -> pgtrigger.Trigger:
    """Return a trigger that refuses TRUNCATE, which no trigger on rows hears of."""
    return pgtrigger.Trigger(
        name=f"{name}_is_never_emptied",
        operation=pgtrigger.Truncate,
        when=pgtrigger.Before,
        level=pgtrigger.Statement,
        func="RAISE EXCEPTION 'pgtrigger: Cannot truncate % table', TG_TABLE_NAME;",
    )
