"""Keeping the rows of a table as they were written, whoever asks."""

from __future__ import annotations

import pgtrigger
from django.db import models

#: Made by a schema migration; raises, and tells of the table and of what was asked of it.
REFUSAL = "ferroaudit_refuse"


class Refusal(pgtrigger.Trigger):
    """Refuses, whatever the session has set: `pgtrigger.ignore` is heard of by no trigger of this kind."""

    when = pgtrigger.Before
    # The library makes a function for each trigger that passes what a session wants: it is never asked.
    func = "RETURN NULL;"

    def render_execute(self, model: models.Model) -> str:
        """Name the one function that asks no session."""
        return f"{REFUSAL}()"


def rows_kept(name: str, *, condition: pgtrigger.Condition | None = None) -> tuple[Refusal, ...]:
    """Return triggers that refuse to empty, to delete, and to change: all, or what a condition names."""
    if condition is None:
        changes = [Refusal(name=f"{name}_is_kept", operation=pgtrigger.Update | pgtrigger.Delete)]
    else:
        changes = [
            Refusal(name=f"{name}_stays", operation=pgtrigger.Update, condition=condition),
            Refusal(name=f"{name}_is_kept", operation=pgtrigger.Delete),
        ]
    # No trigger on rows hears of TRUNCATE.
    emptied = Refusal(
        name=f"{name}_is_never_emptied", operation=pgtrigger.Truncate, level=pgtrigger.Statement
    )
    return (*changes, emptied)


#: For the tables of events that django-pghistory makes: nothing but its triggers writes them, and only adds.
EVENTS_KEPT = {
    "triggers": (
        Refusal(
            name="events_are_kept",
            operation=pgtrigger.Update | pgtrigger.Delete | pgtrigger.Truncate,
            level=pgtrigger.Statement,
        ),
    )
}
