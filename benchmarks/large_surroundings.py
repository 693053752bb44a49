"""What stands around the sites of a large repository: gaps, the plan, what is known, and the search index.

The capability matrix has 2,500 operators by four dtypes, two directions and two devices; the plan holds every
open site and gap, with people and runners; beside it stand 5,000 entries, a precedent and a reference for one
site of ten, 200 reports of which one is whole, and saved filters. To schedule the 8,000 units of that plan
takes minutes: schedules stand in a smaller repository beside it, written by `benchmarks.plan_pages`.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from django.db import transaction

from audit.parity.catalogue import newest
from benchmarks.capability_pages import cells_of, store
from benchmarks.plan_pages import scanned, staff, staffed

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from audit.models import Branch

OPERATORS = 2500
ENTRIES = 5000
REPORTS = 200
ONE_OF = 10
SCHEDULED_SITES = 2000
SEED = 20261128


def surround(branch: Branch, person: User) -> None:
    """Write it all for a branch whose sites are there."""
    from audit.services.parity import parity_dumps_import_shipped
    from benchmarks.search import entries
    from migrations_tracker.services.search import search_refresh

    scan_run = branch.last_scan
    assert scan_run is not None
    parity_dumps_import_shipped()
    names = [f"aten::{base}" for base in sorted(newest().by_base)]
    names = [*names, *(f"torch.nn.functional.operation_{number}" for number in range(OPERATORS))][:OPERATORS]
    with transaction.atomic():
        store(scan_run, tuple(cells_of(names, random.Random(SEED))))
    entries(ENTRIES, random.Random(SEED))
    _rulings(branch, person)
    _reports(branch, person)
    _planned(branch, person)
    _beside()
    search_refresh()


def _rulings(branch: Branch, person: User) -> None:
    from audit.models import Precedent, TextReference

    states = list(branch.site_states.order_by("site")[: branch.site_states.count() // ONE_OF])
    Precedent.objects.bulk_create(
        (
            Precedent(
                repository_id=branch.repository_id,
                site_id=state.site_id,
                kind="accepted",
                rule_id=state.rule_id,
                form=state.form,
                symbol=state.symbol,
                path=state.path,
                line=state.start_line,
                code="match compile() {\n    Err(_) => x.to_host(),\n}",
                shingles=[state.site_id % 997, state.site_id % 991],
                reason=f"Ruling number {state.site_id}.",
                decided_by=person,
            )
            for state in states
        ),
        batch_size=1000,
    )
    TextReference.objects.bulk_create(
        (
            TextReference(
                repository_id=branch.repository_id,
                site_id=state.site_id,
                kind="issue",
                target=str(state.site_id % 300),
                source="comment",
                source_path=f"/sites/{state.site_id}/",
            )
            for state in states
        ),
        batch_size=1000,
    )


def _reports(branch: Branch, person: User) -> None:
    from migrations_tracker.models import SavedFilter
    from migrations_tracker.services.migration_reports import report_create, report_execute

    first = branch.scan_runs.earliest("pk")
    for _ in range(REPORTS - 1):
        report_create(branch=branch, since=first, actor=person)
    report_execute(pk=report_create(branch=branch, since=first, actor=person).pk)
    SavedFilter.objects.bulk_create(
        SavedFilter(
            owner=person,
            repository_id=branch.repository_id,
            name=f"Filter {number}",
            query=f"repository={branch.repository.slug}&crate=crate-{number}",
            is_shared=number % 2 == 0,
        )
        for number in range(20)
    )


def _beside() -> None:
    """Write a smaller repository with a plan, schedules, and a report, which is asked for in all formats."""
    from migrations_tracker.services.migration_reports import report_create, report_execute

    plan = scanned(SCHEDULED_SITES)
    staffed(plan)
    report = report_create(branch=plan.repository.branches.get(), since=None, actor=None)
    report_execute(pk=report.pk)


def _planned(branch: Branch, person: User) -> None:
    from migrations_tracker.services.plan_proposals import plan_propose

    staff(plan_propose(repository=branch.repository, actor=None).plan, person)
