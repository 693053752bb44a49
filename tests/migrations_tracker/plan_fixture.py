"""A scanned repository with a plan, for the tests of services, selectors and pages."""

from __future__ import annotations

from django.contrib.auth.models import User

from audit.models import FallbackSite, HeldDrop, HoldState, Repository, ScanRun
from audit.parity.catalogue import Direction
from audit.scanner.inventory import Inventory
from audit.scanner.report import Result
from audit.services.capabilities import Capabilities
from audit.services.inventories import inventory_store
from migrations_tracker.models import Plan, WorkUnit
from migrations_tracker.services.held_drops import held_drop_release
from migrations_tracker.services.plan_proposals import plan_propose
from tests.factories import (
    ingest,
    make_capability,
    make_report,
    make_repository,
    make_result,
    store_capabilities,
)

INVENTORY = Inventory(
    dependencies={"minitorch-gpu": frozenset({"minitorch-core"}), "minitorch-core": frozenset()},
    gpu_crates=frozenset({"minitorch-gpu"}),
    callers={"minitorch_gpu::ops::op0": 3},
)


def results(count: int = 12) -> list[Result]:
    """Make results of two rules in the GPU crate."""
    return [
        make_result(f"minitorch_gpu::ops::op{number}", rule_id=rule, line=10 * number + 1)
        for rule in ("FT001", "FT008")
        for number in range(count)
    ]


def scan(repository: Repository, found: list[Result], inventory: Inventory = INVENTORY) -> ScanRun:
    """Store a scan with an inventory and one gap in two directions."""
    report = make_report(found, files=[make_result("minitorch_gpu::ops::op0").path])
    scan_run = ingest(repository, report).scan_run
    for drop in HeldDrop.objects.filter(state=HoldState.WAITING):
        # Nothing here tells outcomes, so that a person has to say that many sites are gone.
        judge, _ = User.objects.get_or_create(username="judge")
        held_drop_release(drop=drop, actor=judge, reason="They are gone.")
    nothing = Capabilities("2.11.0", ())
    inventory_store(scan_run=scan_run, report=report, capabilities=nothing, inventory=inventory)
    return scan_run


def scan_gaps(scan_run: ScanRun) -> None:
    """Store capabilities that are gaps: the forward of an operator in two dtypes, and its backward."""
    from audit.parity.capability import State

    store_capabilities(
        scan_run,
        [
            make_capability(state=State.HOST_ONLY),
            make_capability(state=State.HOST_ONLY, dtype="float64"),
            make_capability(state=State.HOST_ONLY, direction=Direction.BACKWARD),
        ],
    )


def make_plan(name: str = "minitorch", count: int = 12) -> Plan:
    """Make a repository, scan it and propose its plan."""
    repository = make_repository(name)
    scan_gaps(scan(repository, results(count)))
    return plan_propose(repository=repository, actor=None).plan


def unit_with(site: FallbackSite) -> WorkUnit:
    """Return the unit that holds a site."""
    return WorkUnit.objects.get(members__site=site, members__is_current=True)
