"""Rulings go out as labels through the API, and sites narrow to a form."""

from __future__ import annotations

import json

from django.contrib.auth.models import User

from audit.models import FallbackSite, PrecedentKind, Repository
from audit.services.precedents import precedent_record
from tests.factories import ingest, make_report, make_result
from tests.migrations_tracker.api.v1.conftest import Ask


def test_labels_are_lines_of_json_that_narrow(site: FallbackSite, ada: User, ask: Ask) -> None:
    precedent_record(site=site, kind=PrecedentKind.NOT_A_SITE, reason="Shape data.", actor=ada)
    answer = ask("GET", "repositories/minitorch/labels?rule=FT001&form=match-arm")
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert answer["Content-Type"].startswith("application/jsonl")
    assert [(row["symbol"], row["verdict"], row["why"]) for row in map(json.loads, lines)] == [
        ("relu", "allowed", "Shape data.")
    ]
    other = ask("GET", "repositories/minitorch/labels?form=other")
    assert b"".join(other.streaming_content) == b""
    assert ask("GET", "repositories/nowhere/labels").status_code == 404


def test_sites_narrow_to_a_form(repository: Repository, ask: Ask) -> None:
    ingest(repository, make_report([make_result(), make_result("minitorch_gpu::ops::exp", form="download")]))
    found = ask("GET", "repositories/minitorch/sites?form=download").json()
    assert [item["symbol"] for item in found["items"]] == ["minitorch_gpu::ops::exp"]
    assert found["total"] == 1
