"""The plan's pages: what they show, what they change, and how many queries they cost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import FallbackSite, Repository
from migrations_tracker.models import Plan, PlanEvent, Precedence, UnitMember, WorkUnit
from migrations_tracker.services.work_units import unit_rename
from tests.factories import ingest, make_report, make_repository, make_result
from tests.migrations_tracker.plan_fixture import results, scan
from tests.migrations_tracker.views.plan_pages import MONDAY, post, sweep, text


def test_the_plan_says_how_one_comes_about(root_client: Client, repository: Repository) -> None:
    assert "Propose a plan" not in text(root_client, "plan-list")
    scan(repository, results(2))
    assert "Propose a plan" in text(root_client, "plan-list")
    response = post(root_client, "plan-renew", repository.slug)
    assert response["Location"] == reverse("plan-board", args=[repository.slug])
    assert WorkUnit.objects.exists()


def test_a_repository_that_was_never_scanned_gets_no_plan(root_client: Client) -> None:
    make_repository("bare")
    response = root_client.post(reverse("plan-renew", args=["bare"]), follow=True)
    assert b"scan it first" in response.content
    assert not Plan.objects.exists()


def test_who_may_not_plan_sees_the_plan_and_changes_nothing(ada_client: Client, plan: Plan) -> None:
    unit = sweep()
    page = text(ada_client, "plan-board", plan.repository.slug) + text(ada_client, "unit-detail", unit.pk)
    assert "Hold it to the newest scan" not in page
    for name, arguments in (
        ("plan-renew", [plan.repository.slug]),
        ("plan-unit-add", [plan.repository.slug]),
        ("plan-people", [plan.repository.slug]),
        ("schedule-ask", [plan.repository.slug]),
        ("plan-settings", [plan.repository.slug]),
        ("unit-hours", [unit.pk]),
        ("unit-rename", [unit.pk]),
        ("precedence-cut", [unit.edges_in.earliest("pk").pk]),
    ):
        assert post(ada_client, name, *arguments, title="x").status_code == 403, name


def test_the_board_is_narrowed_by_the_url(root_client: Client, plan: Plan) -> None:
    slug = plan.repository.slug
    whole = text(root_client, "plan-board", slug)
    assert "Every open site and gap is in one unit" in whole
    assert "Add the error variant" in whole
    board = root_client.get(reverse("plan-board", args=[slug]), {"q": "readback"}).context["board"]
    shown = [unit for column in board.columns for group in column.groups for unit in group.units]
    assert shown
    assert all("host-readback" in unit.title for unit in shown)
    assert "No unit matches" in text(root_client, "plan-units", slug, query="?q=nothing-like-it")
    assert "Add the error variant" in text(root_client, "plan-units", slug, query="?phase=1&status=planned")


def test_the_board_counts_the_units_that_it_does_not_show(
    root_client: Client, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("migrations_tracker.selectors.plan_board.SHOWN", 1)
    shown = root_client.get(reverse("plan-board", args=[plan.repository.slug])).context["board"]
    assert any(group.total > len(group.units) for column in shown.columns for group in column.groups)
    for column in shown.columns:
        for group in column.groups:
            units = WorkUnit.objects.filter(plan=plan, phase=column.phase, status=group.status)
            assert group.total == units.count()
            assert group.hours == pytest.approx(sum(unit.hours_likely for unit in units))
            assert list(group.units) == list(units.order_by("-weight", "key")[:1])
    assert shown.total == WorkUnit.objects.filter(plan=plan).count()
    assert shown.crates == sorted({unit.crate for unit in WorkUnit.objects.all()} - {""})


def test_the_list_goes_on_behind_its_last_row(
    root_client: Client, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("migrations_tracker.selectors.plan_board.PAGE_SIZE", 2)
    response = root_client.get(reverse("plan-units", args=[plan.repository.slug]))
    first, cursor = response.context["list"].page.rows, response.context["list"].page.next
    after = root_client.get(reverse("plan-units", args=[plan.repository.slug]), {"page": cursor})
    assert not {unit.pk for unit in first} & {unit.pk for unit in after.context["list"].page.rows}


def test_what_no_unit_holds_is_shown(root_client: Client, plan: Plan) -> None:
    scan(plan.repository, results(14))
    page = text(root_client, "plan-missing", plan.repository.slug)
    fresh = FallbackSite.objects.exclude(unit_members__is_current=True)
    assert fresh.count() == 4
    assert all(f"#{site.pk}" in page for site in fresh)
    UnitMember.objects.filter(gap__isnull=False).update(is_current=False)
    slug = plan.repository.slug
    listed = root_client.get(reverse("plan-missing", args=[slug])).context
    counted = root_client.get(reverse("plan-board", args=[slug])).context["board"].missing
    assert counted == listed["site_total"] + listed["gap_total"] >= 4
    post(root_client, "plan-renew", plan.repository.slug)
    assert "Nothing is left out" in text(root_client, "plan-missing", plan.repository.slug)


def test_a_unit_says_why_it_is_and_what_its_fix_looks_like(root_client: Client, plan: Plan) -> None:
    page = text(root_client, "unit-detail", sweep().pk)
    for said in (
        "Implementation cost:",
        "Now or next phase?",
        "GpuError::PtxCompileFailed",
        "cargo test -p minitorch-gpu --features cuda",
        "Execution map",
        "has to exist first",
    ):
        assert said in page, said
    gap = UnitMember.objects.filter(gap__isnull=False).earliest("pk").unit
    page = text(root_client, "unit-detail", gap.pk)
    assert "PyTorch registers aten::exp" in page
    assert "Source: torch" in page


def test_a_unit_is_changed_by_its_forms(root_client: Client, plan: Plan) -> None:
    unit = sweep()
    post(root_client, "unit-rename", unit.pk, title="Errors first", version=unit.version)
    post(root_client, "unit-deadline", unit.pk, deadline="2027-01-04T12:00")
    members = list(unit.members.values_list("pk", flat=True)[:2])
    post(root_client, "unit-split", unit.pk, title="Two of them", member=members)
    part = WorkUnit.objects.get(title="Two of them")
    post(root_client, "unit-move", part.pk, into=unit.pk, member=members[:1])
    other = WorkUnit.objects.filter(rules=["host-readback"]).earliest("pk")
    post(root_client, "unit-wait", other.pk, before=unit.pk, reason="the same file")
    unit.refresh_from_db()
    assert (unit.title, unit.deadline) == ("Errors first", datetime(2027, 1, 4, 12, tzinfo=UTC))
    assert part.members.count() == 1
    assert Precedence.objects.get(before=unit, after=other).message == "the same file"
    post(root_client, "unit-merge", part.pk, into=unit.pk)
    assert not WorkUnit.objects.filter(pk=part.pk).exists()
    assert PlanEvent.objects.filter(actor__username="root").count() >= 7


def test_who_changes_what_somebody_changed_meanwhile_is_told(
    root_client: Client, plan: Plan, ada: User
) -> None:
    unit = sweep()
    unit_rename(unit=unit, title="Ada's", actor=ada)
    response = post(root_client, "unit-rename", unit.pk, title="Root's", version=unit.version)
    assert response.status_code == 409
    assert b"Somebody changed the unit" in response.content
    assert b"Ada&#x27;s" in response.content


def test_the_list_counts_what_a_unit_waits_for_without_edges_that_were_cut(
    root_client: Client, plan: Plan
) -> None:
    edge = Precedence.objects.filter(after__plan=plan).earliest("pk")

    def counted() -> dict[int, int]:
        page = root_client.get(reverse("plan-units", args=[plan.repository.slug])).context["list"].page
        return {unit.pk: unit.waits for unit in page.rows}

    before = counted()
    assert before == {pk: Precedence.objects.filter(after=pk).count() for pk in before}
    post(root_client, "precedence-cut", edge.pk, reason="It is no prerequisite.")
    assert counted() == before | {edge.after_id: before[edge.after_id] - 1}


def test_an_edge_is_cut_and_taken_back_on_the_page(root_client: Client, plan: Plan) -> None:
    edge = sweep().edges_in.earliest("pk")
    assert post(root_client, "precedence-cut", edge.pk).status_code == 422
    post(root_client, "precedence-cut", edge.pk, reason="another variant")
    assert "Take the cut back" in text(root_client, "unit-detail", edge.after_id)
    post(root_client, "precedence-restore", edge.pk)
    assert Precedence.objects.get(pk=edge.pk).state == "fact"


def test_a_cycle_is_shown_with_its_edges(root_client: Client, plan: Plan) -> None:
    edge = sweep().edges_in.earliest("pk")
    Precedence.objects.create(before=edge.after, after=edge.before, reason="person", message="back again")
    page = text(root_client, "plan-board", plan.repository.slug)
    assert "These units wait for each other" in page
    assert "back again" in page


def test_what_finished_units_taught_is_shown_with_its_points(root_client: Client, plan: Plan) -> None:
    unit = sweep()
    slug = plan.repository.slug
    assert "What finished units taught" not in text(root_client, "plan-board", slug)
    WorkUnit.objects.filter(pk=unit.pk).update(
        status="finished", finished_at=MONDAY, actual_hours=2 * unit.hours_likely
    )
    page = text(root_client, "plan-board", slug)
    assert "What finished units taught" in page
    # One unit that took twice as long moves the factor by a quarter of the way.
    assert f"{2**0.25:.2f}" in page


def test_a_unit_of_ones_own_is_added(root_client: Client, plan: Plan) -> None:
    own = {"title": "Guide", "reason": "people ask", "phase": 3, "category": "C", "low": 1, "likely": 2}
    slug = plan.repository.slug
    assert post(root_client, "plan-unit-add", slug, **own, high=1).status_code == 422
    assert post(root_client, "plan-unit-add", slug, **own, high=4).status_code == 302
    assert WorkUnit.objects.get(title="Guide").hours_high == 4


def test_a_unit_is_exported_as_an_issue(root_client: Client, plan: Plan) -> None:
    body = text(root_client, "unit-issue", sweep().pk)
    assert body.count("- [ ] `minitorch_gpu::ops::") == sweep().members.count()
    assert "**Comes after**: `error-variant-" in body


def test_a_unit_is_estimated_by_hand_on_its_page(root_client: Client, plan: Plan) -> None:
    unit = sweep()
    wish = {"low": 2, "likely": 3, "high": 9, "version": unit.version}
    assert post(root_client, "unit-hours", unit.pk, **{**wish, "high": ""}).status_code == 422
    assert post(root_client, "unit-hours", unit.pk, **{**wish, "high": 1}).status_code == 409
    assert post(root_client, "unit-hours", unit.pk, **wish).status_code == 302
    assert "by hand" in text(root_client, "unit-detail", unit.pk)
    stale = post(root_client, "unit-hours", unit.pk, low="", likely="", high="", version=unit.version)
    assert stale.status_code == 409


@pytest.mark.parametrize(
    ("view", "given", "expected"),
    [
        (
            "unit-hours",
            {"low": "2", "likely": "3", "high": "", "reason": "A guess"},
            ('"2"', '"3"', '"A guess"'),
        ),
        ("unit-split", {"title": "y" * 301, "into": ""}, (f'"{"y" * 301}"',)),
        ("unit-move", {"title": "Half of it", "into": ""}, ('"Half of it"',)),
        ("unit-rename", {"title": "x" * 301}, (f'"{"x" * 301}"',)),
        ("unit-deadline", {"deadline": "soon"}, ('"soon"',)),
        ("unit-wait", {"before": "", "reason": "It uses it"}, ('"It uses it"',)),
        ("unit-merge", {"into": "0"}, ()),
    ],
)
def test_a_form_of_a_unit_that_is_refused_keeps_what_was_typed(
    root_client: Client, plan: Plan, view: str, given: dict[str, str], expected: tuple[str, ...]
) -> None:
    unit = sweep()
    member = unit.members.order_by("pk")[0].pk
    refused = post(root_client, view, unit.pk, **given, member=[member], version=unit.version)
    assert refused.status_code in {409, 422}
    page = refused.content.decode()
    for value in expected:
        assert f"value={value}" in page
    checked = f'name="member" value="{member}" checked' in page
    assert checked == (view in {"unit-split", "unit-move"})


def test_a_reason_for_a_cut_that_is_refused_is_kept(root_client: Client, plan: Plan) -> None:
    edge = Precedence.objects.exclude(state="cut").order_by("pk")[0]
    reason = "x" * 2001
    refused = root_client.post(reverse("precedence-cut", args=[edge.pk]), {"reason": reason})
    assert refused.status_code == 422
    assert reason in refused.content.decode()


def test_a_repository_without_a_plan_leads_to_where_one_is_proposed(root_client: Client) -> None:
    repository = make_repository("new")
    ingest(repository, make_report([make_result()]))
    response = root_client.get(reverse("plan-board", args=["new"]), follow=True)
    assert response.redirect_chain == [("/plan/?repository=new", 302)]
    assert b"Propose a plan" in response.content
    assert root_client.get("/plan/nowhere/").status_code == 404
