"""`manage.py labels_export`: write what people ruled of sites as labels, a line of JSON each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.knowledge.labels import label_lines
from audit.selectors.field_precision import labels
from migrations_tracker.management.named_repository import repository_named


class Command(BaseCommand):
    """Write a label for each site that a person judged: that it is one, or that it is none."""

    help = "Write the rulings in force on what is a site and what is none, as lines of JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("repository", help="its short name")
        parser.add_argument("--rule", default="", help="only this rule, by its id")
        parser.add_argument("--form", default="", help="only this form")
        parser.add_argument(
            "--commit", default="", help="only what was ruled at the commit, by its id's start"
        )
        parser.add_argument("--output", type=Path, help="a file; else standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the labels."""
        repository = repository_named(options["repository"])
        rows = labels(
            repository=repository, rule_id=options["rule"], form=options["form"], commit=options["commit"]
        )
        if options["output"] is None:
            self.stdout.writelines(label_lines(rows))
            return
        try:
            with options["output"].open("w", encoding="utf-8") as file:
                file.writelines(label_lines(rows))
        except OSError as error:
            raise CommandError(f"`{options['output']}` can't be written: {error.strerror}.") from error
