"""The way from a scan's row to the scanner, which knows neither Django nor the database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.conf import settings

from audit.errors import AuditError
from audit.models import Commit, Repository, ScanRun
from audit.rules import RULES
from audit.rules.base import Rule
from audit.scanner.errors import ScanError
from audit.scanner.inventory import Inventory, inventory_of
from audit.scanner.judge import Judgement
from audit.scanner.levels import with_levels
from audit.scanner.pipeline import scan, scanner_version
from audit.scanner.profile import Profile, load_profile
from audit.scanner.profile_choice import ChosenProfile, profile_for
from audit.scanner.ptx.assembler import Assembler, find_assembler
from audit.scanner.ptx.driver import DriverAnswers, judged_by, parts_of
from audit.scanner.report import EarlierResult, Progress, ScanReport
from audit.scanner.source.base import Content, Source
from audit.scanner.source.opening import open_source
from audit.selectors.repository_policies import levels_of, version_in_force
from audit.services.capabilities import Capabilities, capabilities_derive
from audit.services.driver_answers import driver_answers_until, driver_label
from audit.services.extraction import TellWorkers, extraction_share
from audit.services.facts_cache import shared_cache
from audit.services.git_repository import git_dir_of
from audit.services.matches import rulings_in_force
from audit.services.site_states import states_asked

SNAPSHOT = "snapshot:"


@dataclass(frozen=True, slots=True)
class Judge:
    """Who says what a commit holds; another judge's scan of the same commit is another scan.

    `ptxas_version` names who judges PTX texts: the assembler, and up to which answer drivers were heard.
    """

    scanner_version: str
    profile_name: str
    profile_hash: str
    ptxas_version: str
    policy_version: str = ""


def judge_current(*, repository: Repository, commit: Commit) -> Judge:
    """Name the judge that this installation scans a commit with."""
    loaded = _profile(repository, commit)
    version = judged_by(_assembler_version(), driver_label(repository=repository))
    policy = str(version_in_force(repository=repository))
    return Judge(scanner_version(), loaded.name, loaded.digest, version, policy)


def is_judged_by(*, scan_run: ScanRun, judge: Judge) -> bool:
    """Whether a judge can do the scan that was asked for.

    What drivers answered since, it leaves unheard, and every version of the policy is still there.
    """
    asked = (scan_run.scanner_version, scan_run.profile_hash, parts_of(scan_run.ptxas_version)[0])
    return asked == (judge.scanner_version, judge.profile_hash, parts_of(judge.ptxas_version)[0])


@dataclass(frozen=True, slots=True)
class Scanned:
    """What the scan of a commit gave."""

    report: ScanReport
    capabilities: Capabilities
    inventory: Inventory


def commit_scan(
    *, scan_run: ScanRun, progress: Callable[[Progress], None], tell: TellWorkers | None = None
) -> Scanned:
    """Scan the commit of a scan's row, and ask what became of the sites that are open on its branch.

    With `tell`, other workers are told of parts of a large commit that they may parse.
    """
    source = files_of(scan_run)
    if tell is not None:
        extraction_share(scan_run=scan_run, source=source, tell=tell, note=progress)
    chosen = _chosen(scan_run.repository, source)
    earlier = states_asked(branch=scan_run.branch) if scan_run.branch else ()
    return _scanned(scan_run, source, chosen, RULES, progress, earlier)


def outcomes_of(*, scan_run: ScanRun, earlier: Sequence[EarlierResult]) -> ScanReport:
    """Scan the commit of a stored scan again to say what became there of results of another commit."""
    source = files_of(scan_run)
    chosen = _chosen(scan_run.repository, source)
    return _scanned(scan_run, source, chosen, RULES, lambda _: None, earlier).report


def files_of(scan_run: ScanRun) -> Source:
    """Open the files of a scan's commit."""
    return _source(scan_run.repository, scan_run.commit)


def commit_derive(*, scan_run: ScanRun) -> Scanned:
    """Derive the capabilities of a scan's commit again, without judging it."""
    source = _source(scan_run.repository, scan_run.commit)
    chosen = _chosen(scan_run.repository, source)
    return _scanned(scan_run, source, chosen, (), lambda _: None, ())


def _scanned(
    scan_run: ScanRun,
    source: Source,
    chosen: ChosenProfile,
    rules: Sequence[Rule],
    progress: Callable[[Progress], None],
    earlier: Sequence[EarlierResult],
) -> Scanned:
    rulings = rulings_in_force(repository=scan_run.repository)
    derived: list[tuple[Capabilities, Inventory]] = []

    def observe(judgement: Judgement) -> None:
        capabilities = capabilities_derive(
            summaries=judgement.summaries,
            kernels=judgement.kernels,
            rulings=rulings,
            tested=judgement.reach.tested,
        )
        derived.append((capabilities, inventory_of(judgement)))

    with shared_cache(folder=Path(settings.SCAN_CACHE_DIR)) as cache:
        report = scan(
            source,
            profile=chosen.profile,
            rules=rules,
            jobs=settings.SCAN_JOBS,
            cache=cache,
            assembler=_assembler(),
            driver=_heard(scan_run),
            progress=progress,
            observe=observe,
            earlier=earlier,
        )
    levels = levels_of(repository=scan_run.repository, version=scan_run.policy_version)
    report = with_levels(replace(report, profile_reason=chosen.reason), levels)
    return Scanned(report, *derived[0])


def commit_observe(*, repository: Repository, commit: Commit, observe: Callable[[Judgement], None]) -> None:
    """Show `observe` the linked code of a commit, unjudged; it must keep nothing of it."""
    source = _source(repository, commit)
    with shared_cache(folder=Path(settings.SCAN_CACHE_DIR)) as cache:
        scan(
            source,
            profile=_chosen(repository, source).profile,
            rules=(),
            jobs=settings.SCAN_JOBS,
            cache=cache,
            observe=observe,
        )


def source_of(*, repository: Repository, commit: Commit) -> tuple[Source, Profile]:
    """Open the code of a commit, with the profile that it is read by."""
    source = _source(repository, commit)
    return source, _chosen(repository, source).profile


def snapshot_id(*, folder: Path) -> str:
    """Name the state of a plain folder by its files."""
    source: Source = open_source(folder)
    digest = hashlib.sha256()
    for file, content in source.read(source.entries()):
        state = content.blob_id if isinstance(content, Content) else content.reason
        digest.update(f"{file.path}\0{state}\n".encode(errors="surrogateescape"))
    return SNAPSHOT + digest.hexdigest()


def snapshot_check(*, scan_run: ScanRun) -> None:
    """Raise unless a plain folder is still as it was when the scan was asked for."""
    if snapshot_id(folder=Path(scan_run.repository.location)) != scan_run.commit.object_id:
        raise AuditError(
            f"The files in `{scan_run.repository.location}` changed after the scan was asked for. Ask again."
        )


def _assembler() -> Assembler | None:
    return find_assembler(cache=Path(settings.SCAN_CACHE_DIR), jobs=settings.SCAN_JOBS)


def _assembler_version() -> str:
    assembler = _assembler()
    return assembler.version if assembler is not None else ""


def _heard(scan_run: ScanRun) -> DriverAnswers:
    """Give the drivers' answers that the scan was asked with."""
    _, label = parts_of(scan_run.ptxas_version)
    return driver_answers_until(repository=scan_run.repository, label=label)


def _profile(repository: Repository, commit: Commit) -> Profile:
    if repository.profile:
        return load_profile(repository.profile)
    try:
        return _chosen(repository, _source(repository, commit)).profile
    except ScanError:
        # A tree that can't be read fails its scan, which says why; whoever asks for it needs a judge first.
        return load_profile()


def _source(repository: Repository, commit: Commit) -> Source:
    return open_source(_place(repository), "" if commit.is_snapshot else commit.object_id)


def _chosen(repository: Repository, source: Source) -> ChosenProfile:
    return profile_for(source, repository.profile)


def _place(repository: Repository) -> Path:
    return git_dir_of(repository) if repository.has_revisions else Path(repository.location)
