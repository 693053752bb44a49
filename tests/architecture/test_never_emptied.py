"""Tables whose rows the database protects from changes are not emptied either."""

from __future__ import annotations

import pgtrigger
import pytest
from django.apps import apps
from django.db import ProgrammingError, connection, models, transaction

PROTECTED = [
    model
    for model in apps.get_models()
    if any(isinstance(trigger, pgtrigger.Protect) for trigger in getattr(model._meta, "triggers", ()))
]


def test_there_are_such_tables() -> None:
    assert {"transition", "planevent", "result", "machineevent"} <= {
        one._meta.model_name for one in PROTECTED
    }


@pytest.mark.django_db
@pytest.mark.parametrize("model", PROTECTED, ids=lambda model: model._meta.label)
def test_a_table_that_is_never_changed_is_never_emptied(model: type[models.Model]) -> None:
    statement = f"TRUNCATE {connection.ops.quote_name(model._meta.db_table)} CASCADE"
    with (
        pytest.raises(ProgrammingError, match="Cannot truncate"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
