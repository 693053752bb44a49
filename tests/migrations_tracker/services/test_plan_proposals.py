"""Holding a plan to scans: everything open is in one unit, and what people did stays."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from audit.models import CapabilityGap, FallbackSite, Repository
from audit.scanner.inventory import Inventory
from migrations_tracker.errors import PlanError
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Plan, PlanEvent, Precedence, UnitMember, WorkUnit
from migrations_tracker.roles import Role
from migrations_tracker.selectors.plan_facts import plan_facts, standing_of
from migrations_tracker.services.plan_proposals import plan_follow, plan_propose
from migrations_tracker.services.precedences import precedence_add, precedence_cut, precedence_restore
from migrations_tracker.services.site_migrations import site_migration_transition
from migrations_tracker.services.work_units import unit_rename
from tests.factories import make_repository, make_user
from tests.migrations_tracker.plan_fixture import INVENTORY, make_plan, results, scan, unit_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def plan() -> Plan:
    return make_plan()


@pytest.fixture
def ada() -> User:
    return make_user(role=Role.LEAD)


def members() -> dict[int, int]:
    found = UnitMember.objects.filter(is_current=True, site__isnull=False)
    return dict(found.values_list("site_id", "unit_id"))


def test_every_open_site_and_gap_is_in_exactly_one_unit(plan: Plan) -> None:
    assert set(members()) == set(FallbackSite.objects.values_list("pk", flat=True))
    gaps = UnitMember.objects.filter(gap__isnull=False).values_list("gap_id", flat=True)
    assert sorted(gaps) == sorted(CapabilityGap.objects.values_list("pk", flat=True))
    assert CapabilityGap.objects.count() == 3


def test_the_database_holds_a_site_in_one_unit_at_a_time(plan: Plan) -> None:
    site = FallbackSite.objects.earliest("pk")
    other = WorkUnit.objects.exclude(members__site=site).earliest("pk")
    with pytest.raises(IntegrityError), transaction.atomic():
        UnitMember.objects.create(unit=other, site=site)


def test_what_is_missing_comes_first_and_says_why(plan: Plan) -> None:
    variant = WorkUnit.objects.get(need_name="GpuError::PtxCompileFailed")
    consumers = variant.edges_out.values_list("after__rules", "message")
    assert {tuple(rules) for rules, _ in consumers} == {("silent-fallback",)}
    assert all("GpuError::PtxCompileFailed" in message for _, message in consumers)


def test_a_second_proposal_changes_nothing(plan: Plan) -> None:
    before = list(WorkUnit.objects.values_list("pk", "key", "version", "changed_at"))
    edges, told, held = Precedence.objects.count(), PlanEvent.objects.count(), members()
    assert plan_propose(repository=plan.repository, actor=None).changes == ()
    assert list(WorkUnit.objects.values_list("pk", "key", "version", "changed_at")) == before
    assert (Precedence.objects.count(), PlanEvent.objects.count(), members()) == (edges, told, held)


def test_a_later_scan_moves_only_what_changed(plan: Plan) -> None:
    held = members()
    scan(plan.repository, [*results(12), *results(13)[12:13]])
    plan_propose(repository=plan.repository, actor=None)
    after = members()
    assert {site: after[site] for site in held} == held
    assert len(after) == len(held) + 1


def test_sites_that_are_gone_leave_their_unit_and_an_empty_unit_goes(plan: Plan) -> None:
    readback = WorkUnit.objects.filter(rules=["host-readback"])
    assert readback.exists()
    scan(plan.repository, [result for result in results() if result.rule_id == "FT001"])
    plan_propose(repository=plan.repository, actor=None)
    assert not readback.exists()
    assert PlanEvent.objects.filter(what__contains="nothing is left", unit=None).exists()


def test_a_unit_that_a_person_edited_keeps_its_words_and_items(plan: Plan, ada: User) -> None:
    unit = unit_with(FallbackSite.objects.filter(rule_id="FT008").earliest("pk"))
    unit_rename(unit=unit, title="Readbacks first", actor=ada)
    held = members()
    scan(plan.repository, results(14))
    plan_propose(repository=plan.repository, actor=None)
    unit.refresh_from_db()
    assert unit.title == "Readbacks first"
    assert {site for site, pk in members().items() if pk == unit.pk} == {
        site for site, pk in held.items() if pk == unit.pk
    }


def test_a_suppressed_site_is_not_planned(plan: Plan, ada: User) -> None:
    site = FallbackSite.objects.earliest("pk")
    site_migration_transition(site=site, to=Status.SUPPRESSED, actor=ada, reason="a set-up step")
    plan_propose(repository=plan.repository, actor=None)
    assert site.pk not in members()


def test_a_decision_that_the_code_has_made_goes(plan: Plan) -> None:
    known = Inventory(
        INVENTORY.dependencies,
        frozenset({"GpuError::PtxCompileFailed", "GpuError::Unsupported"}),
        gpu_crates=INVENTORY.gpu_crates,
    )
    scan(plan.repository, results(), known)
    plan_propose(repository=plan.repository, actor=None)
    assert not WorkUnit.objects.filter(need_kind="error-variant").exists()


def test_an_edge_stays_cut_until_the_cut_is_taken_back(plan: Plan, ada: User) -> None:
    edge = Precedence.objects.filter(before__need_kind="error-variant").earliest("pk")
    pair = (edge.before.key, edge.after.key)
    precedence_cut(edge=edge, reason="it returns another variant", actor=ada)
    plan_propose(repository=plan.repository, actor=None)
    assert standing_of(plan=plan).cut == [pair]
    assert Precedence.objects.get(pk=edge.pk).state == "cut"
    precedence_restore(edge=edge, actor=ada)
    assert Precedence.objects.get(pk=edge.pk).state == "fact"


def test_a_person_adds_an_edge_with_a_reason_and_it_stays(plan: Plan, ada: User) -> None:
    first, then = WorkUnit.objects.filter(need_kind="", item_count__gt=0).order_by("pk")[:2]
    with pytest.raises(PlanError, match="Say why"):
        precedence_add(before=first, after=then, reason=" ", actor=ada)
    precedence_add(before=first, after=then, reason="the same lines", actor=ada)
    plan_propose(repository=plan.repository, actor=None)
    edge = Precedence.objects.get(before=first, after=then)
    assert (edge.state, edge.message) == ("added", "the same lines")
    with pytest.raises(PlanError, match="wait for each other"):
        precedence_add(before=then, after=first, reason="the other way", actor=ada)


def test_a_repository_without_a_scan_has_nothing_to_plan() -> None:
    repository: Repository = make_repository("bare")
    with pytest.raises(PlanError, match="scan it first"):
        plan_propose(repository=repository, actor=None)
    assert plan_facts(repository=repository).scan_run is None


def test_a_stored_scan_of_the_default_branch_moves_the_plan_and_no_other_does(plan: Plan) -> None:
    other = make_repository("other")
    foreign = scan(other, results(1))
    assert plan_follow(scan_run_id=foreign.pk) is None
    newest = scan(plan.repository, results(13))
    assert UnitMember.objects.filter(site__first_seen_scan=newest).count() == 0
    assert plan_follow(scan_run_id=newest.pk) is not None
    assert UnitMember.objects.filter(site__first_seen_scan=newest).count() == 2


def test_callers_and_dependencies_are_those_of_the_newest_scan(plan: Plan) -> None:
    inventory = plan_facts(repository=plan.repository).facts.inventory
    assert inventory.callers == {"minitorch_gpu::ops::op0": 3}
    assert inventory.dependencies == INVENTORY.dependencies
