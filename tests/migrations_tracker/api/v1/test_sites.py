"""Sites, gaps, rules and clauses through the API."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from audit.models import CapabilityGap, FallbackSite, Repository
from audit.parity.capability import State
from audit.rules import RULES
from migrations_tracker.models import SiteMigration, TokenScope
from migrations_tracker.roles import Role
from migrations_tracker.services.api_tokens import api_token_create
from migrations_tracker.services.bulk_changes import bulk_change_execute
from migrations_tracker.services.comments import comment_create
from migrations_tracker.services.notices import notices_collect
from tests.factories import ingest, make_capability, make_report, make_result, make_user, store_capabilities
from tests.migrations_tracker.api.v1.conftest import Ask, asker


def test_the_list_holds_what_the_page_holds(repository: Repository, site: FallbackSite, ask: Ask) -> None:
    answer = ask("GET", "repositories/minitorch/sites?q=relu").json()
    assert answer["total"] == 1
    only = answer["items"][0]
    assert (only["id"], only["symbol"], only["is_open"]) == (site.pk, site.symbol, True)
    assert only["migration"] == {"status": "open", "version": 1, "assignee": None, "due_on": None}


def test_pages_follow_each_other_without_a_gap(repository: Repository, ask: Ask) -> None:
    many = [make_result(f"minitorch_gpu::ops::op{n}", line=n + 1) for n in range(120)]
    ingest(repository, make_report(many))
    seen, cursor = [], ""
    for _ in range(4):
        answer = ask("GET", f"repositories/minitorch/sites?cursor={cursor}").json()
        seen += [item["id"] for item in answer["items"]]
        cursor = answer["next"]
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == answer["total"] == 120


@pytest.mark.parametrize(
    "query", ["status=done", "seen=maybe", "level=loud", "q=%00", "outcome=x", "sort=size", f"q={'x' * 300}"]
)
def test_a_filter_that_is_none_is_refused_with_its_name(repository: Repository, ask: Ask, query: str) -> None:
    answer = ask("GET", f"repositories/minitorch/sites?{query}")
    assert answer.status_code == 422
    assert query.partition("=")[0] in answer.json()["errors"][0]["place"]


@pytest.mark.parametrize(
    "path",
    [
        "repositories/none",
        "repositories/none/sites",
        "repositories/minitorch/sites?branch=none",
        "sites/999",
        "gaps/999",
        "units/999",
        "reports/999",
        "scans/999",
        "scan-requests/999",
        "rules/FT999",
        "rules/%00",
        "clauses/X9",
        "repositories/minitorch/units",
    ],
)
def test_what_is_not_there_is_said_so(repository: Repository, ask: Ask, path: str) -> None:
    answer = ask("GET", path)
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


def test_a_site_comes_with_its_evidence_and_rationale(site: FallbackSite, ask: Ask) -> None:
    answer = ask("GET", f"sites/{site.pk}").json()
    assert [step["role"] for step in answer["evidence"]] == ["anchor", "effect"]
    assert answer["rationale"]
    assert (answer["suppression"], answer["allowed_in_source"]) == (None, [])
    assert answer["choices"] == [{"to": "accepted", "needs_reason": False, "needs_commit": False}]
    lead = asker(make_user("lea", role=Role.LEAD))
    choices = lead("GET", f"sites/{site.pk}").json()["choices"]
    assert {"to": "suppressed", "needs_reason": True, "needs_commit": False} in choices


def test_a_suppression_is_asked_for_refused_and_accepted(site: FallbackSite, ask: Ask) -> None:
    lead = asker(make_user("lea", role=Role.LEAD))
    listed = f"repositories/{site.repository.slug}/suppressions"
    asked = ask("POST", f"sites/{site.pk}/suppression", {"justification": "one number"})
    assert (asked.status_code, asked.json()["status"]) == (201, "underReview")
    assert ask("GET", listed).json()["items"] == [asked.json()]
    assert ask("POST", f"sites/{site.pk}/suppression", {"justification": "x"}).status_code == 422
    assert ask("POST", f"sites/{site.pk}/suppression/reject", {"reason": "no"}).status_code == 403
    reject, stale = f"sites/{site.pk}/suppression/reject", {"reason": "no", "version": 1}
    assert lead("POST", reject, stale).status_code == 409
    refused = lead("POST", reject, stale | {"version": 2}).json()
    assert (refused["status"], refused["decided_by"], refused["ended_because"]) == ("rejected", "lea", "no")
    ask("POST", f"sites/{site.pk}/suppression", {"justification": "one number"})
    assert ask("DELETE", f"sites/{site.pk}/suppression").status_code == 200
    ask("POST", f"sites/{site.pk}/suppression", {"justification": "two numbers"})
    body = {"to": "suppressed", "reason": "yes", "expires_on": "2098-01-01", "version": 1}
    assert lead("POST", f"sites/{site.pk}/transitions", body).status_code == 409
    assert lead("POST", f"sites/{site.pk}/transitions", body | {"version": 6}).status_code == 200
    [kept] = ask("GET", f"{listed}?state=in-force").json()["items"]
    assert (kept["justification"], kept["expires_on"], kept["site"]) == ("yes", "2098-01-01", site.pk)
    assert kept["requested_because"] == "two numbers"
    assert [one["ended_because"] for one in ask("GET", f"{listed}?state=ended").json()["items"]] == [
        "Whoever asked took it back.",
        "no",
    ]


class TestATransition:
    """A site's migration that is moved on."""

    def test_is_kept_with_its_actor(self, site: FallbackSite, ask: Ask) -> None:
        moved = ask("POST", f"sites/{site.pk}/transitions", {"to": "accepted", "version": 1}).json()
        assert moved == {"status": "accepted", "version": 2, "assignee": None, "due_on": None}
        step = ask("GET", f"sites/{site.pk}").json()["transitions"][0]
        assert (step["to_status"], step["actor"], step["cause"]) == ("accepted", "ada", "person")

    def test_from_a_state_that_is_no_longer_the_newest_changes_nothing(
        self, site: FallbackSite, ask: Ask
    ) -> None:
        SiteMigration.objects.update(version=7)
        assert (
            ask("POST", f"sites/{site.pk}/transitions", {"to": "accepted", "version": 1}).status_code == 409
        )

    def test_can_t_overrule_the_scanner(self, site: FallbackSite, ask: Ask) -> None:
        body = {"to": "migrated", "reason": "Done.", "version": 1}
        answer = ask("POST", f"sites/{site.pk}/transitions", body)
        assert answer.status_code == 422
        assert "still sees" in answer.json()["detail"]

    def test_needs_the_version_that_was_read(self, site: FallbackSite, ask: Ask) -> None:
        answer = ask("POST", f"sites/{site.pk}/transitions", {"to": "accepted"})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["place"][-1] == "version"


def test_a_site_gets_an_owner_and_loses_it(site: FallbackSite, ask: Ask) -> None:
    make_user("eve")
    owned = ask("PUT", f"sites/{site.pk}/assignee", {"assignee": "eve", "version": 1}).json()
    assert owned["assignee"] == "eve"
    freed = ask("PUT", f"sites/{site.pk}/assignee", {"assignee": None, "version": 2}).json()
    assert (freed["assignee"], freed["version"]) == (None, 3)
    unknown = ask("PUT", f"sites/{site.pk}/assignee", {"assignee": "nobody", "version": 3})
    assert unknown.status_code == 422


def test_a_gap_is_listed_and_moved_on(repository: Repository, ada: User, ask: Ask) -> None:
    scan_run = repository.scan_runs.get()
    store_capabilities(scan_run, [make_capability(state=State.HOST_ONLY)])
    gap = CapabilityGap.objects.get()
    listed = ask("GET", "repositories/minitorch/gaps?state=host-only").json()
    assert [item["id"] for item in listed["items"]] == [gap.pk]
    moved = ask("POST", f"gaps/{gap.pk}/transitions", {"to": "accepted", "version": 1})
    assert moved.json()["status"] == "accepted"
    assert ask("GET", f"gaps/{gap.pk}").json()["migration"]["status"] == "accepted"
    owned = ask("PUT", f"gaps/{gap.pk}/assignee", {"assignee": "ada", "version": 2})
    assert owned.json()["assignee"] == "ada"
    assert ask("POST", f"gaps/{gap.pk}/comments", {"text": "Mine."}).status_code == 201
    detail = ask("GET", f"gaps/{gap.pk}").json()
    assert [comment["text"] for comment in detail["comments"]] == ["Mine."]
    assert [change["kind"] for change in detail["changes"]] == ["opened"]
    assert [step["to_status"] for step in detail["transitions"]] == ["accepted", "open"]
    assert "So the answer is" in detail["rationale"]


def test_a_gap_is_told_without_a_query_for_what_only_its_page_shows(repository: Repository, ask: Ask) -> None:
    store_capabilities(repository.scan_runs.get(), [make_capability(state=State.HOST_ONLY)])
    gap = CapabilityGap.objects.get()
    with CaptureQueriesContext(connection) as asked:
        assert ask("GET", f"gaps/{gap.pk}").json()["proof"]
    unshown = ("audit_scanfile", "audit_sitestate", "workers_verifiedfunction")
    assert not [query for query in asked if any(f'FROM "{table}"' in query["sql"] for table in unshown)]


def test_every_rule_and_its_clauses_are_there(repository: Repository, ask: Ask) -> None:
    rules = ask("GET", "rules").json()
    assert [rule["id"] for rule in rules] == [rule.id for rule in RULES]
    clauses = {clause["id"] for clause in ask("GET", "clauses").json()}
    assert all(set(rule["clauses"]) <= clauses for rule in rules)
    assert ask("GET", "rules/silent-fallback").json()["id"] == ask("GET", "rules/FT001").json()["id"]


def test_a_site_is_watched_and_what_happens_is_in_the_inbox(site: FallbackSite, ask: Ask) -> None:
    assert ask("PUT", f"sites/{site.pk}/watch").json()["reason"] == "asked"
    assert [item["id"] for item in ask("GET", "watches?kind=site").json()["items"]] == [site.pk]
    eve = asker(make_user("eve"))
    made = eve("POST", f"sites/{site.pk}/comments", {"text": "@ada, @nobody"}).json()
    assert (made["mentions"], made["not_told"]) == (["ada"], ["nobody"])
    notices_collect()
    (told,) = ask("GET", "inbox").json()["items"]
    assert (told["kind"], told["text"]) == ("mention", "@ada, @nobody")
    assert eve("GET", "inbox").json()["items"] == []
    assert ask("DELETE", f"sites/{site.pk}/watch").status_code == 204
    assert ask("GET", "watches").json()["items"] == []


def test_a_file_goes_with_a_comment_on_a_gap(site: FallbackSite, ada: User) -> None:
    store_capabilities(site.first_seen_scan, [make_capability(state=State.FALLBACK)])
    gap = CapabilityGap.objects.get()
    token = api_token_create(owner=ada, name="CI", scope=TokenScope.WRITE)[1]
    client = Client(headers={"Authorization": f"Bearer {token}"})
    body = {"text": "proof", "file": SimpleUploadedFile("run.log", b"launched exp")}
    assert client.post(f"/api/v1/gaps/{gap.pk}/attachments", body).status_code == 201
    (comment,) = client.get(f"/api/v1/gaps/{gap.pk}").json()["comments"]
    assert [file["name"] for file in comment["files"]] == ["run.log"]


class TestManyAtOnce:
    """Changes of all sites that match."""

    @pytest.fixture
    def lead(self, db: None) -> Ask:
        return asker(make_user("lena", role=Role.LEAD))

    def test_are_made_by_a_worker_and_taken_back(self, repository: Repository, lead: Ask) -> None:
        body = {"sites": {"rule": "FT001"}, "to": "accepted", "reason": "read", "count": 2}
        asked = lead("POST", "repositories/minitorch/bulk-changes", body)
        assert (asked.status_code, asked.json()["count"], asked.json()["done"]) == (202, 2, 0)
        assert bulk_change_execute(pk=asked.json()["id"])
        done = lead("GET", f"bulk-changes/{asked.json()['id']}").json()
        assert (done["state"], done["done"]) == ("succeeded", 2)
        assert set(SiteMigration.objects.values_list("status", flat=True)) == {"accepted"}
        undo = lead("POST", f"bulk-changes/{done['id']}/undo", {}).json()
        assert bulk_change_execute(pk=undo["id"])
        assert set(SiteMigration.objects.values_list("status", flat=True)) == {"open"}

    def test_give_sites_to_nobody_only_where_that_is_said(self, repository: Repository, lead: Ask) -> None:
        SiteMigration.objects.update(assignee=User.objects.get(username="lena"))
        for body, owned in (({"to": "accepted"}, 2), ({"assignee": None}, 0)):
            asked = lead("POST", "repositories/minitorch/bulk-changes", {"sites": {}, "count": 2, **body})
            assert bulk_change_execute(pk=asked.json()["id"])
            assert SiteMigration.objects.exclude(assignee=None).count() == owned

    def test_are_refused_where_other_sites_match_than_were_seen(
        self, repository: Repository, lead: Ask
    ) -> None:
        body = {"sites": {}, "to": "accepted", "count": 3}
        answer = lead("POST", "repositories/minitorch/bulk-changes", body)
        assert answer.status_code == 422
        assert "2 sites match now, and 3 did" in answer.json()["detail"]

    def test_are_for_leads(self, repository: Repository, ask: Ask) -> None:
        body = {"sites": {}, "to": "accepted", "count": 2}
        assert ask("POST", "repositories/minitorch/bulk-changes", body).status_code == 403


def test_a_file_goes_with_a_comment_and_is_read_and_taken_away(site: FallbackSite, ada: User) -> None:
    token = api_token_create(owner=ada, name="CI", scope=TokenScope.WRITE)[1]
    client = Client(headers={"Authorization": f"Bearer {token}"})
    body = {"text": "proof", "file": SimpleUploadedFile("run.log", b"launched relu")}
    assert client.post(f"/api/v1/sites/{site.pk}/attachments", body).status_code == 201
    (comment,) = client.get(f"/api/v1/sites/{site.pk}").json()["comments"]
    (file,) = comment["files"]
    assert (file["name"], file["size"]) == ("run.log", 13)
    answer = client.get(f"/api/v1/attachments/{file['id']}")
    assert (answer.content, answer["X-Content-Type-Options"]) == (b"launched relu", "nosniff")
    assert client.delete(f"/api/v1/attachments/{file['id']}").status_code == 403
    lead = asker(make_user("lena", role=Role.LEAD))
    assert lead("DELETE", f"attachments/{file['id']}").status_code == 204
    assert lead("GET", f"attachments/{file['id']}").status_code == 404


def test_a_site_and_its_proofs_take_no_more_queries_than_they_may(
    site: FallbackSite, ask: Ask, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        comment_create(subject=site, author=ada, text=f"Remark {number}.")
    for address in (f"sites/{site.pk}", f"sites/{site.pk}/proofs"):
        ask("GET", address)
        with django_assert_max_num_queries(12):
            answer = ask("GET", address)
        assert answer.status_code == 200
    assert len(ask("GET", f"sites/{site.pk}").json()["comments"]) == 30
