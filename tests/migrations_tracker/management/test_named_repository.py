"""Which repository a command is asked about."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from audit.models import Repository
from tests.factories import make_repository

COMMANDS = (
    ("audit_import", "other", __file__),
    ("bundle", "other", "--file", __file__),
    ("capabilities", "--repository", "other"),
    ("labels_export", "other"),
    ("migration_report", "--repository", "other"),
)


@pytest.fixture
def repository(db: None) -> Repository:
    return make_repository()


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_command_that_does_not_know_a_repository_names_those_it_knows(
    words: tuple[str, ...], repository: Repository
) -> None:
    with pytest.raises(CommandError, match=f"no repository `other`; there are `{repository.slug}`"):
        call_command(*words)


@pytest.mark.django_db
def test_without_any_repository_a_command_says_how_to_add_one() -> None:
    with pytest.raises(CommandError, match="scan PATH_OR_URL` adds one"):
        call_command("labels_export", "other")
