"""What people decided about a site stays with it while the code around it is edited."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from audit.models import FallbackSite, SiteState
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import ScanReport
from audit.scanner.source.memory import MemorySource
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import SiteMigration
from migrations_tracker.services.site_migrations import site_migration_transition
from tests.audit.scanner.test_identity import _RULES, ARM, READBACK, TWINS, Crate, edited, written
from tests.factories import ingest, make_repository, make_user

pytestmark = pytest.mark.django_db

Files = dict[str, bytes]


def crate(prefix: str = "m", name: str = "ferrotorch-gpu") -> Files:
    return Crate(_modules(prefix), name).files()


def _modules(prefix: str) -> dict[str, tuple[str, ...]]:
    shapes = [ARM, READBACK, ARM, READBACK, ARM]
    return {f"{prefix}{n}": (shape.replace("NAME", f"mark{n}"),) for n, shape in enumerate(shapes)}


def in_one_module() -> Files:
    """Return the crate with all functions in the module that held the first."""
    text = "".join("".join(texts) for texts in _modules("m").values())
    return Crate({"m0": (text,)}).files()


def of_two_crates() -> Files:
    """Return the crate with two of its modules in a crate of their own."""
    modules = _modules("m")
    other = {name: modules.pop(name) for name in ("m3", "m4")}
    return {**Crate(modules).files(), **Crate(other, "ferrotorch-cubecl").files()}


def with_functions_renamed(files: Mapping[str, bytes]) -> Files:
    return {path: re.sub(rb"fn gpu_(mark\d+)", rb"fn \1_on_gpu", data) for path, data in files.items()}


EDITS: dict[str, Callable[[], Files]] = {
    "lines inserted outside": lambda: edited(crate(), "pub fn", "// a line\n\npub fn"),
    "indented anew": lambda: edited(crate(), "\n    ", "\n\t"),
    "line ends of Windows": lambda: edited(crate(), "\n", "\r\n"),
    "all files renamed": lambda: crate(prefix="renamed"),
    "files renamed and edited": lambda: edited(
        crate(prefix="r"), "let host", "let n = a.len();\n    let host"
    ),
    "functions renamed": lambda: with_functions_renamed(crate()),
    "modules moved into another": in_one_module,
    "a part became a crate": of_two_crates,
    "a crate renamed": lambda: crate(name="ferrotorch-cubecl"),
    "files in another order": lambda: dict(reversed(crate().items())),
    "the same again": crate,
}


def report_of(files: Mapping[str, bytes]) -> ScanReport:
    return scan(MemorySource(dict(files)), profile=load_profile(), rules=_RULES)


def decided() -> list[tuple[object, ...]]:
    """Return each site's id with what people decided about it."""
    migrations = SiteMigration.objects.order_by("site_id")
    return list(migrations.values_list("site_id", "site__correlation_guid", "status", "assignee", "version"))


@pytest.mark.parametrize("edit", EDITS)
def test_ids_owners_and_statuses_are_kept(edit: str) -> None:
    ada = make_user()
    repository = make_repository()
    ingest(repository, report_of(crate()))
    for number, migration in enumerate(SiteMigration.objects.order_by("site_id")):
        migration.assignee = ada
        migration.save()
        if number % 2:
            site = FallbackSite.objects.get(migration=migration)
            site_migration_transition(site=site, to=Status.ACCEPTED, actor=ada, reason="Ours.")
    before = decided()
    summary = ingest(repository, report_of(EDITS[edit]()))
    assert summary.new_sites == summary.reopened_sites == summary.absent_sites == ()
    assert decided() == before
    assert FallbackSite.objects.count() == len(before) == 5
    assert SiteState.objects.filter(is_open=True).count() == 5


def test_what_was_decided_is_kept_when_crates_are_merged() -> None:
    repository = make_repository()
    ingest(repository, report_of(of_two_crates()))
    before = decided()
    summary = ingest(repository, report_of(crate()))
    assert summary.new_sites == summary.reopened_sites == summary.absent_sites == ()
    assert decided() == before
    assert len(before) == 5


def test_the_order_of_results_decides_nothing() -> None:
    repository = make_repository()
    report = report_of(crate())
    ingest(repository, report)
    before = decided()
    summary = ingest(repository, replace(report, results=tuple(reversed(report.results))))
    assert summary.new_sites == summary.reopened_sites == summary.absent_sites == ()
    assert decided() == before


@pytest.mark.parametrize("fixed", [0, 1])
def test_of_twins_the_one_that_was_not_fixed_keeps_its_owner(fixed: int) -> None:
    files = written([[ARM, TWINS, ARM]]).files()
    path = "ferrotorch-gpu/src/add.rs"
    arm = b"Err(_) => return cpu_to_gpu(&gpu_to_cpu(a, d)?, d),"
    refusal = b"Err(source) => return Err(GpuError::PtxCompileFailed { source }),"
    head, between, tail = files[path].split(arm)
    first, second = (refusal, arm) if fixed == 0 else (arm, refusal)
    repository = make_repository()
    report = report_of(files)
    ingest(repository, report)
    names = Counter(one.symbol for one in report.results)
    [twin] = [symbol for symbol, count in names.items() if count == 2]
    twins = list(FallbackSite.objects.filter(symbol=twin).order_by("states__start_line"))
    owners = [make_user(name) for name in ("ada", "grace")]
    for site, owner in zip(twins, owners, strict=True):
        SiteMigration.objects.filter(site=site).update(assignee=owner)
    summary = ingest(repository, report_of({**files, path: head + first + between + second + tail}))
    assert summary.absent_sites == (twins[fixed].pk,)
    assert summary.new_sites == ()
    left = SiteMigration.objects.get(site__states__is_open=True, site__symbol=twin)
    assert (left.site, left.assignee) == (twins[1 - fixed], owners[1 - fixed])


def test_the_same_commit_five_times_changes_nothing() -> None:
    repository = make_repository()
    ingest(repository, report_of(crate()))
    before = decided()
    for _ in range(5):
        summary = ingest(repository, report_of(crate()))
        assert summary.new_sites == summary.reopened_sites == summary.absent_sites == ()
    assert decided() == before
    assert set(SiteState.objects.values_list("baseline_state", flat=True)) == {"unchanged"}
