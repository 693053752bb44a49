"""`manage.py search`: ask policy, rules, operators, sites and units before writing GPU code."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from migrations_tracker.search.registry import SOURCES
from migrations_tracker.search_texts import as_document, as_lines
from migrations_tracker.selectors.search import SearchFilters, search
from migrations_tracker.services.search import search_refresh


class Command(BaseCommand):
    """Answer a question with what the installation knows; fail when it knows nothing."""

    help = "Search policy, rules, forms, operators, sites and work units."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("question", nargs="+", help="a question, words or a name")
        parser.add_argument("--kind", choices=[source.kind for source in SOURCES], default="")
        parser.add_argument("--repository", default="", help="the slug of a repository")
        parser.add_argument("--rule", default="", help="the id of a rule, such as FT001")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the first page."""
        search_refresh()
        answer = search(
            filters=SearchFilters(
                question=" ".join(options["question"]),
                kind=options["kind"],
                repository=options["repository"],
                rule=options["rule"],
            )
        )
        if options["format"] == "json":
            self.stdout.write(json.dumps(as_document(answer, base=settings.SITE_URL), indent=2))
        else:
            self.stdout.write("\n".join(as_lines(answer, base=settings.SITE_URL)))
        if not answer.hits:
            raise CommandError("Nothing was found.", returncode=1)
