"""Capability gaps: the list, a gap's page, and what people do with one."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from audit.models import Capability, CapabilityGap, FallbackSite
from audit.parity.capability import Cell, State
from audit.parity.counterparts import Support, SupportState
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Comment, Suppression
from migrations_tracker.roles import Role
from migrations_tracker.services.site_migrations import gap_migration_transition
from tests.factories import ingest, make_capability, make_report, make_user, store_capabilities
from tests.workers.machines import make_job
from workers.models import Verification, VerifiedFunction

LIST = "/gaps/"
EXP = make_capability("aten::exp", state=State.FALLBACK)
SUM = make_capability("aten::sum", dtype="float64", state=State.TEXT_ERROR)


@pytest.fixture
def gaps(site: FallbackSite) -> list[CapabilityGap]:
    store_capabilities(site.first_seen_scan, [EXP, SUM, make_capability("aten::log")])
    return list(CapabilityGap.objects.order_by("operator"))


def next_scan(site: FallbackSite, *cells: Cell) -> None:
    scan_run = ingest(site.repository, make_report()).scan_run
    store_capabilities(scan_run, cells, make_report(files=["minitorch-gpu/src/ops.rs"]))


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", 2),
        ("seen=closed", 0),
        ("seen=any", 2),
        ("q=exp", 1),
        ("q=ops.rs exp", 1),
        ("state=text-error", 1),
        ("device=cpu", 0),
        ("family=reduction", 1),
        ("status=accepted", 1),
        ("status=open&owner=ada", 0),
        ("seen=no&state=no&family=no&status=no&page=no", 2),
        ("page=W2ZhbHNlLDEsMl0", 2),
    ],
)
def test_the_list_is_narrowed_as_the_url_says(
    ada_client: Client, ada: User, gaps: list[CapabilityGap], query: str, shown: int
) -> None:
    gap_migration_transition(gap=gaps[0], to=Status.ACCEPTED, actor=ada)
    response = ada_client.get(f"{LIST}?{query}")
    assert (response.context["list"].total, len(response.context["list"].page.rows)) == (shown, shown)
    assert (b"No gap matches" in response.content) == (shown == 0)


def test_the_list_goes_on_and_back(ada_client: Client, site: FallbackSite) -> None:
    cells = [make_capability(f"aten::op{number:03}", state=State.FALLBACK) for number in range(120)]
    store_capabilities(site.first_seen_scan, cells)
    seen: list[list[str]] = []
    cursor = ""
    for _ in range(3):
        page = ada_client.get(LIST, {"page": cursor}).context["list"].page
        seen.append([gap.operator for gap in page.rows])
        cursor = page.next
    assert cursor == ""
    assert [name for names in seen for name in names] == [f"aten::op{number:03}" for number in range(120)]
    back = ada_client.get(LIST, {"page": page.previous}).context["list"].page
    assert [gap.operator for gap in back.rows] == seen[1]


def test_a_gap_shows_the_four_truths_its_proof_and_the_answer(
    ada_client: Client, gaps: list[CapabilityGap], site: FallbackSite
) -> None:
    text = ada_client.get(gaps[0].get_absolute_url()).content.decode()
    for words in (
        "Scanner</h2>",
        "GPU</h2>",
        "Person</h2>",
        "Plan</h2>",
        "So the answer is a device kernel for aten::exp forward in float32 on cuda.",
        "minitorch_<wbr>gpu::<wbr>ops::<wbr>relu",
        "<b>Opened</b>: fallback",
    ):
        assert words in text, words
    assert "to be decided" not in text.lower()
    assert site.get_absolute_url() in text


def test_gpu_runs_of_its_code_are_shown_with_what_they_showed(
    ada_client: Client, gaps: list[CapabilityGap], site: FallbackSite
) -> None:
    job = make_job(site.repository)
    assert job.commit is not None
    for position, verdict in enumerate(("host-round-trip", "on-device")):
        run = Verification.objects.create(
            job=job,
            repository=site.repository,
            commit=job.commit,
            position=position,
            crate="c",
            binary="unit",
            test=f"test_{verdict}",
            verdict=verdict,
            runner_verdict=verdict,
            reason="as it was seen",
            expectation={},
            evidence={},
        )
        VerifiedFunction.objects.create(
            verification=run,
            symbol="minitorch_gpu::ops::relu",
            digest="0" * 64,
            expired_at=None if position else timezone.now(),
            expired_because="" if position else "the function changed",
        )
    text = ada_client.get(gaps[0].get_absolute_url()).content.decode()
    assert "test_<wbr>on-device" in text
    assert "expired</span>" in text
    assert "the function changed" in text
    for address in (
        f"/operators/{site.repository.slug}/aten::exp/",
        Capability.objects.get(operator="aten::exp").address(site.repository),
    ):
        assert "test_<wbr>host-round-trip" in ada_client.get(address).content.decode()


def test_a_person_moves_a_gap_and_owns_it(ada_client: Client, ada: User, gaps: list[CapabilityGap]) -> None:
    gap = gaps[0]
    address = gap.get_absolute_url()
    done = ada_client.post(f"{address}transition/", {"to": "accepted", "version": 1, "reason": ""})
    assert (done.status_code, done["Location"]) == (302, address)
    assert ada_client.post(f"{address}assign/", {"assignee": "ada", "version": 2}).status_code == 302
    gap.refresh_from_db()
    assert (gap.migration.status, gap.migration.assignee, gap.migration.version) == ("accepted", ada, 3)
    events = apps.get_model("migrations_tracker", "SiteMigrationEvent")._default_manager
    before: Any = events.filter(pgh_obj_id=gap.migration.pk).latest("pgh_id")
    assert (before.assignee, before.pgh_context.metadata["user"]) == (None, ada.pk)
    assert "Owned by ada." in ada_client.get(address).content.decode()


def test_people_talk_about_a_gap_and_what_they_say_is_text(
    ada_client: Client, gaps: list[CapabilityGap]
) -> None:
    address = gaps[0].get_absolute_url()
    done = ada_client.post(f"{address}comment/", {"text": "see <b>this</b>"})
    comment = Comment.objects.get()
    assert (comment.gap, comment.site) == (gaps[0], None)
    assert done["Location"] == f"{address}#comment-{comment.pk}"
    assert "see &lt;b&gt;this&lt;/b&gt;" in ada_client.get(address).content.decode()
    assert "see &lt;b&gt;" not in ada_client.get(gaps[1].get_absolute_url()).content.decode()
    empty = ada_client.post(f"{address}comment/", {"text": " "})
    assert (empty.status_code, b"Write something first." in empty.content) == (422, True)


def test_a_comment_is_on_a_site_or_on_a_gap_and_never_on_both(
    ada: User, gaps: list[CapabilityGap], site: FallbackSite
) -> None:
    for subjects in ({}, {"site": site, "gap": gaps[0]}):
        with pytest.raises(IntegrityError, match="comment_on_a_site_or_a_gap"), transaction.atomic():
            Comment.objects.create(author=ada, text="on what?", **subjects)


def test_two_people_at_once_notice_each_other(ada_client: Client, gaps: list[CapabilityGap]) -> None:
    address = gaps[0].get_absolute_url()
    ada_client.post(f"{address}assign/", {"assignee": "ada", "version": 1})
    for route in ("assign", "transition"):
        late = ada_client.post(f"{address}{route}/", {"assignee": "", "to": "accepted", "version": 1})
        assert late.status_code == 409
        assert b"while you looked at it" in late.content


def test_what_a_person_may_not_do_is_said(ada_client: Client, gaps: list[CapabilityGap]) -> None:
    address = gaps[0].get_absolute_url()
    for data, words in (
        ({"to": "migrated", "version": 1, "reason": "x"}, b"The scanner still sees"),
        ({"to": "verified", "version": 1, "reason": "x"}, b"can&#x27;t become"),
        ({"to": "nonsense", "version": 1}, b"Choose the next status"),
    ):
        response = ada_client.post(f"{address}transition/", data)
        assert (response.status_code, words in response.content) == (422, True), data
    assert ada_client.post(f"{address}assign/", {"assignee": "eve", "version": 1}).status_code == 422
    make_user("gone").__class__.objects.filter(username="gone").update(is_active=False)
    assert ada_client.post(f"{address}assign/", {"assignee": "gone", "version": 1}).status_code == 409


def test_a_ruling_ends_with_the_gap_and_the_migration_moves_on(
    ada_client: Client, ada: User, gaps: list[CapabilityGap], site: FallbackSite
) -> None:
    lea = make_user("lea", role=Role.LEAD)
    gap_migration_transition(gap=gaps[0], to=Status.SUPPRESSED, actor=lea, reason="host only by design")
    assert "host only by design" in ada_client.get(gaps[0].get_absolute_url()).content.decode()
    next_scan(site, make_capability("aten::exp"), SUM)
    gap = CapabilityGap.objects.get(pk=gaps[0].pk)
    assert (gap.is_open, gap.outcome, gap.migration.status) == (False, "device-kernel", "migrated")
    assert Suppression.objects.get(gap=gap).ended_because == "The gap is closed, so its suppression ended."
    text = ada_client.get(gap.get_absolute_url()).content.decode()
    assert 'closed</span> <span class="badge">device-kernel' in text
    assert "before, it was fallback." in text


def test_a_gap_that_only_pytorch_closed_has_no_outcome(site: FallbackSite, gaps: list[CapabilityGap]) -> None:
    refused = make_capability(
        "aten::exp", state=State.FALLBACK, support=Support(SupportState.REFUSED, "raises NotImplementedError")
    )
    next_scan(site, refused, SUM)
    gap = CapabilityGap.objects.get(pk=gaps[0].pk)
    assert (gap.is_open, gap.outcome, gap.migration.status) == (False, "", "open")
