"""Makes rows and scan reports for tests, with everything named that a test does not care about."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from audit.models import (
    Branch,
    Commit,
    OperationMatch,
    Repository,
    RepositoryKind,
    RepositoryPolicy,
    RowState,
    ScanRun,
)
from audit.parity.capability import Case, Cell, Effect, Implementation, Layer, Place, State
from audit.parity.catalogue import Direction, newest
from audit.parity.counterparts import Support, SupportState
from audit.parity.matching import Matcher
from audit.parity.operations import Operation, OperationKind
from audit.scanner.report import (
    CrateInfo,
    EvidenceStep,
    FileStatus,
    Level,
    ManifestEntry,
    Outcome,
    Region,
    Result,
    RuleRun,
    RuleStatus,
    ScanReport,
    SiteOutcome,
    SourceInfo,
)
from audit.services.capabilities import Capabilities, capabilities_store
from audit.services.gaps import capability_gaps_follow
from audit.services.ingest import IngestSummary, scan_report_ingest
from audit.services.leases import lease_claim
from audit.services.matches import matches_store
from audit.services.repository_policies import policy_clause_publish, policy_levels_publish
from migrations_tracker.models import Membership
from migrations_tracker.roles import Role
from migrations_tracker.services.follow_up import gaps_follow_up, scan_run_follow_up

PASSWORD = "correct horse battery staple"


def make_user(name: str = "ada", *, is_superuser: bool = False, role: Role | None = Role.ENGINEER) -> User:
    """Make a person with a role in all repositories, or with none."""
    make = User.objects.create_superuser if is_superuser else User.objects.create_user
    user = make(name, f"{name}@example.org", PASSWORD)
    if role is not None and not is_superuser:
        make_member(user, role)
    return user


def make_member(user: User, role: Role, repository: Repository | None = None) -> None:
    """Give a person a role in a repository, or in all, instead of the one held there."""
    Membership.objects.update_or_create(user=user, repository=repository, defaults={"role": role})


def make_repository(name: str = "minitorch", **columns: Any) -> Repository:
    defaults = {
        "slug": name,
        "kind": RepositoryKind.FOLDER,
        "location": f"/srv/{name}",
        "default_branch": "main",
    }
    repository = Repository.objects.create(name=name, **{**defaults, **columns})
    Branch.objects.create(repository=repository, name="main")
    return repository


def make_scan_run(repository: Repository, *, state: str = RowState.PENDING, **columns: Any) -> ScanRun:
    commit = columns.pop("commit", None) or Commit.objects.create(
        repository=repository, object_id=f"snapshot:{uuid.uuid4().hex}"
    )
    return ScanRun.objects.create(
        repository=repository,
        commit=commit,
        branch=columns.pop("branch", None) or repository.branches.get(name="main"),
        scanner_version=columns.pop("scanner_version", "1.0"),
        profile_name="ferrotorch",
        profile_hash="0" * 64,
        state=state,
        **columns,
    )


def make_result(
    symbol: str = "minitorch_gpu::ops::relu", *, rule_id: str = "FT001", line: int = 10, **fields: Any
) -> Result:
    """Make a result whose fingerprint depends on its rule, its symbol and `form` alone."""
    crate = symbol.split("::", 1)[0].replace("_", "-")
    form = str(fields.pop("form", "match-arm"))
    result = Result(
        rule_id=rule_id,
        level=Level.ERROR,
        message=f"`{symbol}` computes on the host when the kernel can't be compiled",
        path=f"{crate}/src/{symbol.split('::')[1]}.rs" if "::" in symbol else "src/lib.rs",
        region=Region(line, 5, line + 3, 6),
        symbol=symbol,
        crate=crate,
        form=form,
        partial_fingerprints={"site/v1": hashlib.sha256(f"{rule_id} {symbol} {form}".encode()).hexdigest()},
        evidence=(),
        snippet="let kernel = match get_or_compile(ctx) {\n    Ok(kernel) => kernel,\n    Err(_) => {\n"
        "        return cpu::relu(&gpu_to_cpu(x)?);\n",
    )
    result = result._replace(**fields)
    if result.evidence:
        return result
    steps = (
        EvidenceStep("anchor", result.path, result.region, symbol, "the compile error is dropped here"),
        EvidenceStep(
            "effect", result.path, Region(line + 2, 9, line + 2, 30), symbol, "downloads the operand"
        ),
    )
    return result._replace(evidence=steps)


def make_report(
    results: Iterable[Result] = (),
    *,
    files: Sequence[str | ManifestEntry] = (),
    rules: Sequence[str | RuleRun] = ("FT001", "FT008"),
) -> ScanReport:
    """Make a report that scanned the results' files and `files`, with `rules`."""
    results = tuple(
        sorted(results, key=lambda result: (result.path, result.region.start_line, result.rule_id))
    )
    named = {entry.path: entry for entry in files if isinstance(entry, ManifestEntry)}
    paths = {result.path for result in results} | {path for path in files if isinstance(path, str)}
    scanned = {
        path: ManifestEntry(path, hashlib.sha256(path.encode()).hexdigest(), FileStatus.SCANNED, "", 900, 30)
        for path in paths
    }
    manifest = {**scanned, **named}
    crates = sorted({result.crate for result in results if result.crate})
    return ScanReport(
        scanner_version="1.0",
        profile_name="ferrotorch",
        profile_hash="0" * 64,
        ptxas_version="",
        source=SourceInfo(root="/srv/minitorch"),
        crates=tuple(CrateInfo(name, name, True) for name in crates),
        manifest=tuple(manifest[path] for path in sorted(manifest)),
        rule_runs=tuple(
            rule if isinstance(rule, RuleRun) else RuleRun(rule, RuleStatus.RAN) for rule in rules
        ),
        results=results,
        duration_seconds=1.25,
    )


def ingest(
    repository: Repository, report: ScanReport, *, is_told: bool = True, **columns: Any
) -> IngestSummary:
    """Store a report as the next scan of the repository's main branch, with all that follows.

    What is absent was removed, unless the report tells something else or it `is_told` nothing.
    """
    if is_told and not report.outcomes:
        removed = SiteOutcome(Outcome.REMOVED, "it is gone")
        report = replace(
            report, outcomes=dict.fromkeys(repository.sites.values_list("pk", flat=True), removed)
        )
    scan_run = make_scan_run(repository, **columns)
    lease_id = lease_claim(model=ScanRun, pk=scan_run.pk)
    assert lease_id is not None
    return scan_report_ingest(
        scan_run=scan_run, lease_id=lease_id, report=report, after_ingest=scan_run_follow_up
    )


def make_capability(operator: str = "aten::exp", *, state: State = State.KERNEL, **fields: Any) -> Cell:
    """Make a cell: by default of a case that PyTorch computes on the device."""
    symbol = fields.pop("symbol", "minitorch_gpu::ops::relu")
    crate, _, module = symbol.partition("::")
    place = Place(f"{crate.replace('_', '-')}/src/{module.split('::')[0]}.rs", fields.pop("line", 10), symbol)
    proof = Implementation(place, Layer.BACKEND, frozenset({Effect.LAUNCH}), note=fields.pop("note", ""))
    case = Case(
        operator,
        fields.pop("dtype", "float32"),
        fields.pop("device", "cuda"),
        fields.pop("direction", Direction.FORWARD),
    )
    support = fields.pop("support", Support(SupportState.KERNEL, f"{operator} has a CUDA kernel"))
    assert not fields
    return Cell(case, state, proof, (proof,), support)


def make_match(scan_run: ScanRun, name: str = "gpu_exp") -> OperationMatch:
    """Store an operation of a GPU crate and its match, as a scan of the default branch does."""
    operation = Operation(name, OperationKind.KERNEL, "minitorch_gpu::ops", "minitorch-gpu", "src/ops.rs", 7)
    matches_store(scan_run=scan_run, matches=[Matcher(newest()).match(operation)])
    return OperationMatch.objects.get(symbol=operation.symbol, repository=scan_run.repository)


def store_capabilities(
    scan_run: ScanRun, cells: Iterable[Cell], report: ScanReport | None = None, failure_reason: str = ""
) -> None:
    """Store cells as those of a scan of the default branch, with all that follows."""
    capabilities = Capabilities("2.11.0", tuple(cells), failure_reason=failure_reason)
    report = report or make_report()
    with transaction.atomic():
        capabilities_store(scan_run=scan_run, report=report, capabilities=capabilities)
        changes = capability_gaps_follow(scan_run=scan_run, report=report, capabilities=capabilities)
        gaps_follow_up(scan_run=scan_run, changes=changes)


def make_own_policy(repository: Repository, author: User) -> RepositoryPolicy:
    """Publish a clause of a repository's own, P1 on FT001, and level none for FT014."""
    parts = {
        "kind": "forbidden",
        "title": "No host body in the solver",
        "text": "The solver crate has no host body, gated or not.",
        "reason": "It runs where no host memory is left.",
        "pytorch": "torch.linalg has none on CUDA either.",
        "right": "pub fn solve() -> GpuResult<()> {\n    launch()\n}",
        "rules": ["FT001"],
        "forms": ["early-return"],
    }
    policy_clause_publish(
        repository=repository, clause_id="", parts=parts, reason="Agreed.", actor=author, based_on=0
    )
    return policy_levels_publish(
        repository=repository, levels={"FT014": "none"}, reason="Kept as prose.", actor=author, based_on=1
    )
