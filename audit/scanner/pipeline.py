"""The pipeline: read, extract, link, judge."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from audit.rules.base import Rule
from audit.scanner.cache import DirectoryCache, FactsCache
from audit.scanner.carried import Carried, CarriedFacts
from audit.scanner.checking import Checking
from audit.scanner.extract import extract
from audit.scanner.extract.facts import NO_FACTS, FileFacts
from audit.scanner.extract.serial import dump_facts, load_facts
from audit.scanner.fingerprint import strict_fingerprints
from audit.scanner.judge import Judgement, judge
from audit.scanner.kept import KeptReports, report_key
from audit.scanner.link.cargo import parse_packages
from audit.scanner.link.recall import Recalled
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Unit
from audit.scanner.link.workspace import Workspace
from audit.scanner.processes import ExtractingProcess, ForkedCopy
from audit.scanner.profile import Profile
from audit.scanner.ptx.driver import DriverAnswers, judged_by
from audit.scanner.ptx.kernels import Kernels
from audit.scanner.ptx.texts import PtxTexts
from audit.scanner.remembered import KeptWorkspaces, workspace_key
from audit.scanner.report import (
    CrateInfo,
    EarlierResult,
    FileStatus,
    ManifestEntry,
    Progress,
    Result,
    ScanReport,
    SiteOutcome,
)
from audit.scanner.source.base import Content, ReadFailure, Source, SourceFile
from audit.scanner.source.selection import DOCUMENT_SUFFIX
from audit.version import VERSION

if TYPE_CHECKING:
    from audit.scanner.ptx.assembler import Assembler

# A process takes longer to start than to parse so much.
_WORTH_A_PROCESS_BYTES = 400_000
_WORTH_A_COPY_BYTES = 60_000
_PTX_SUFFIX = ".ptx"

ProgressCallback = Callable[[Progress], None]
Observer = Callable[[Judgement], None]


class _Read(NamedTuple):
    """What came of a file of the tree."""

    file: SourceFile
    content: Content | ReadFailure


def scan(
    source: Source,
    *,
    profile: Profile,
    rules: Sequence[Rule],
    jobs: int = 1,
    cache: FactsCache | None = None,
    assembler: Assembler | None = None,
    driver: DriverAnswers | None = None,
    progress: ProgressCallback | None = None,
    observe: Observer | None = None,
    earlier: Sequence[EarlierResult] = (),
    reports: KeptReports | None = None,
    carried: Carried | None = None,
    workspaces: KeptWorkspaces | None = None,
) -> ScanReport:
    """Scan a tree. Files that can't be read or parsed are in the manifest; the scan goes on without them.

    A report in `reports` of the same tree by the same judge is returned as it is, unless somebody wants to
    look at the workspace or asks for `earlier` results. Rules that need the assembler report themselves as
    not run when none is given, unless a `driver` answered to every text. Of the `earlier` results that are
    not among those of this scan, the report says what became of them. `observe` is shown the linked
    workspace once the rules have judged it; it must keep nothing of it. What is `carried` from the last scan
    is used, and replaced by what this one leaves; where nothing is, what the last scan of the same tree left
    in `workspaces`.
    """
    started = time.monotonic()
    report = progress or _ignore
    # The workspace is gone when `_examine` returns: a collection behind it finds nothing to walk.
    with _without_collections():
        reads = _read_all(source, report, carried.contents if carried is not None else {})
        ptx_judge = judged_by(
            assembler.version if assembler is not None else "", driver.label if driver is not None else ""
        )
        is_kept = reports is not None and observe is None and not earlier
        key = report_key(map(_told, reads), profile, rules, ptx_judge) if is_kept else ""
        examined = reports.get(key, source.info) if reports is not None and key else None
        if examined is None:
            examined = _examine(
                reads,
                source,
                profile,
                rules,
                jobs,
                cache,
                assembler,
                driver,
                report,
                observe,
                earlier,
                carried,
                workspaces if carried is None else None,
            )
            if reports is not None and key:
                reports.put(key, examined)
    return replace(examined, duration_seconds=time.monotonic() - started)


def _told(read: _Read) -> tuple[str, ...]:
    """Tell of a file what the report may depend on."""
    file, content = read.file, read.content
    if isinstance(content, Content):
        return file.path, content.blob_id
    return file.path, file.blob_id, str(file.size_bytes), content.reason, str(content.is_missing)


def _examine(
    reads: Sequence[_Read],
    source: Source,
    profile: Profile,
    rules: Sequence[Rule],
    jobs: int,
    cache: FactsCache | None,
    assembler: Assembler | None,
    driver: DriverAnswers | None,
    report: ProgressCallback,
    observe: Observer | None,
    earlier: Sequence[EarlierResult],
    carried: Carried | None,
    workspaces: KeptWorkspaces | None,
) -> ScanReport:
    rust = {
        read.file.path: read.content
        for read in reads
        if read.file.path.endswith(".rs") and isinstance(read.content, Content)
    }
    facts = _extract_all(rust, jobs, cache if carried is None else CarriedFacts(carried, cache), report)
    report(Progress("link", 0, 1))
    before = carried.taken() if carried is not None else None
    workspace, bad_manifests = _link(reads, rust, facts, before.workspace if before is not None else None)
    key = workspace_key(source.info.root, profile) if workspaces is not None else ""
    documents = _documents(reads)
    recalled = Recalled(workspace, workspaces.get(key), documents) if workspaces is not None else None
    resolver = Resolver(workspace, before.resolver if before is not None else None, recalled)
    texts = PtxTexts(workspace, resolver, _included(reads))
    kernels = Kernels(texts, assembler, profile.ptx_targets, driver)
    summaries = Summaries(workspace, resolver, profile, before)
    judgement = Judgement(workspace, summaries, profile, kernels, documents)
    # What a copy of this process finds out is lost to the next scan: that would cost more than it gains.
    with Checking(judgement, rules, 1 if before is not None else jobs, recalled) as checking:
        checking.settle()
        report(Progress("link", 1, 1))
        report(Progress("judge", 0, len(rules)))
        results, runs = judge(judgement, rules, checking.candidates())
    report(Progress("judge", len(rules), len(rules)))
    if observe is not None:
        observe(judgement)
    unread = [
        read.file.path
        for read in reads
        if isinstance(read.content, ReadFailure) and not read.file.skip_reason
    ]
    outcomes = _outcomes(judgement, results, earlier, unread)
    if workspaces is not None and recalled is not None:
        workspaces.put(key, recalled.memory())
    if carried is not None:
        carried.leave(
            {one.content.blob_id: one.content for one in reads if isinstance(one.content, Content)},
            {rust[path].blob_id: one for path, one in facts.items()},
            summaries,
        )
    return ScanReport(
        scanner_version=scanner_version(),
        profile_name=profile.name,
        profile_hash=profile.digest,
        ptxas_version=kernels.judge if any(rule.needs_assembler for rule in rules) else "",
        source=source.info,
        crates=tuple(
            CrateInfo(package.name, package.folder, package.is_workspace_member)
            for package in workspace.packages
        ),
        manifest=_manifest(reads, facts, workspace, bad_manifests),
        rule_runs=runs,
        results=results,
        duration_seconds=0.0,
        outcomes=outcomes,
    )


def _outcomes(
    judgement: Judgement, results: Sequence[Result], earlier: Sequence[EarlierResult], unread: Sequence[str]
) -> Mapping[int, SiteOutcome]:
    if not earlier:
        return {}
    # Most scans are not asked.
    from audit.scanner.outcome.deciding import Outcomes

    standing = {item for result in results for item in result.partial_fingerprints.items()}
    # Of twins of which one is gone, the fingerprint of a place that stands may be another one's now.
    left = Counter((one.rule_id, one.symbol) for one in earlier)
    left.subtract((one.rule_id, one.symbol) for one in results)
    gone = [
        one
        for one in earlier
        if standing.isdisjoint(strict_fingerprints(one.partial_fingerprints))
        or left[one.rule_id, one.symbol] > 0
    ]
    return Outcomes(judgement, results, earlier, unread).all_of(gone) if gone else {}


def scanner_version() -> str:
    """Return the version of the scanner: that of the package."""
    return VERSION


def _ignore(progress: Progress) -> None:
    del progress


@contextmanager
def _without_collections() -> Iterator[None]:
    """Facts are millions of tuples without cycles: walking them again and again is a third of a scan."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_all(source: Source, report: ProgressCallback, known: Mapping[str, Content]) -> list[_Read]:
    # What is skipped may be a folder (a submodule, a link, no permission): all below it was not seen.
    suffixes = (".rs", "Cargo.toml", _PTX_SUFFIX, DOCUMENT_SUFFIX)
    entries = [entry for entry in source.entries() if entry.skip_reason or entry.path.endswith(suffixes)]
    found = [_Read(entry, ReadFailure(entry.skip_reason)) for entry in entries if entry.skip_reason]
    readable = [entry for entry in entries if not entry.skip_reason]
    found += [_Read(entry, known[entry.blob_id]) for entry in readable if entry.blob_id in known]
    wanted = [entry for entry in readable if entry.blob_id not in known]
    for number, (file, content) in enumerate(source.read(wanted), 1):
        found.append(_Read(file, content))
        if number % 50 == 0 or number == len(wanted):
            report(Progress("read", number, len(wanted)))
    return sorted(found, key=lambda read: read.file.path)


def _extract_all(
    contents: Mapping[str, Content], jobs: int, cache: FactsCache | None, report: ProgressCallback
) -> dict[str, FileFacts]:
    """Return facts by path."""
    facts: dict[str, FileFacts] = {}
    pending: list[str] = []
    absent = _absent(contents, jobs, cache)
    # What little is not known is extracted by a copy of this process, while this one loads the rest.
    with ForkedCopy(lambda _: _extracts(absent, contents)) if absent else nullcontext() as copy:
        for path, content in contents.items():
            known = cache.get(content.blob_id) if cache is not None and path not in absent else None
            if known is not None:
                facts[path] = known
            else:
                pending.append(path)
        for path, one in zip(absent, _loaded(copy), strict=False):
            pending.remove(path)
            facts[path] = one
            if cache is not None:
                cache.put(contents[path].blob_id, one)
    # Big files first: dealt out in turns they make shares of about the same size.
    pending.sort(key=lambda path: -len(contents[path].data))
    for path, one in _extracted(pending, contents, jobs):
        facts[path] = one
        if cache is not None:
            cache.put(contents[path].blob_id, one)
        if len(facts) % 25 == 0 or len(facts) == len(contents):
            report(Progress("extract", len(facts), len(contents)))
    return facts


def _absent(contents: Mapping[str, Content], jobs: int, cache: FactsCache | None) -> list[str]:
    """Return the files whose facts a folder does not keep, if it keeps most, and they are worth a process."""
    if jobs < 2 or not isinstance(cache, DirectoryCache):
        return []
    found = [path for path, content in contents.items() if not cache.has(content.blob_id)]
    is_worth = sum(len(contents[path].data) for path in found) >= _WORTH_A_COPY_BYTES
    return found if is_worth and len(found) * 4 < len(contents) else []


def _extracts(paths: Sequence[str], contents: Mapping[str, Content]) -> Iterator[bytes]:
    return (dump_facts(extract(contents[path].data)) for path in paths)


def _loaded(copy: ForkedCopy | None) -> Iterator[FileFacts]:
    while copy is not None and (part := copy.answer()) is not None:
        yield load_facts(part)


def _extracted(
    paths: Sequence[str], contents: Mapping[str, Content], jobs: int
) -> Iterator[tuple[str, FileFacts]]:
    # Processes, not threads: the parser holds the interpreter's lock.
    count = min(
        jobs,
        max(1, len(paths)),
        1 + sum(len(contents[path].data) for path in paths) // _WORTH_A_PROCESS_BYTES,
    )
    own, *others = (paths[first::count] for first in range(count))
    with ExitStack() as running:
        processes = [
            running.enter_context(ExtractingProcess([contents[path].data for path in share]))
            for share in others
        ]
        for path in own:
            yield path, extract(contents[path].data)
        for share, process in zip(others, processes, strict=True):
            found = process.facts()
            yield from zip(share, found, strict=False)
            for path in share[len(found) :]:
                yield path, extract(contents[path].data)


def _link(
    reads: Sequence[_Read],
    contents: Mapping[str, Content],
    facts: Mapping[str, FileFacts],
    before: Workspace | None,
) -> tuple[Workspace, dict[str, str]]:
    manifests = {
        read.file.path: read.content.data
        for read in reads
        if read.file.path.endswith("Cargo.toml") and isinstance(read.content, Content)
    }
    packages, bad = parse_packages(manifests)
    units = [Unit(path, contents[path].blob_id, contents[path].data, one) for path, one in facts.items()]
    return Workspace(units, packages, before), bad


def _included(reads: Sequence[_Read]) -> dict[str, str]:
    """Return the texts of kernel files, which Rust code may include, by path."""
    return {
        read.file.path: read.content.data.decode("utf-8", "replace")
        for read in reads
        if read.file.path.endswith(_PTX_SUFFIX) and isinstance(read.content, Content)
    }


def _documents(reads: Sequence[_Read]) -> list[Unit]:
    """Return the Markdown files of the tree: files without facts."""
    return [
        Unit(read.file.path, read.content.blob_id, read.content.data, NO_FACTS)
        for read in reads
        if read.file.path.endswith(DOCUMENT_SUFFIX) and isinstance(read.content, Content)
    ]


def _manifest(
    reads: Sequence[_Read],
    facts: Mapping[str, FileFacts],
    workspace: Workspace,
    bad_manifests: Mapping[str, str],
) -> tuple[ManifestEntry, ...]:
    return tuple(_entry(read, facts, workspace, bad_manifests) for read in reads)


def _entry(
    read: _Read,
    facts: Mapping[str, FileFacts],
    workspace: Workspace,
    bad_manifests: Mapping[str, str],
) -> ManifestEntry:
    path, content = read.file.path, read.content
    if isinstance(content, ReadFailure):
        if read.file.skip_reason:
            status = FileStatus.SKIPPED
        else:
            status = FileStatus.MISSING if content.is_missing else FileStatus.FAILED
        return ManifestEntry(path, read.file.blob_id, status, content.reason, read.file.size_bytes)
    size = len(content.data)
    if path in bad_manifests:
        return ManifestEntry(path, content.blob_id, FileStatus.FAILED, bad_manifests[path], size)
    one = facts.get(path)
    if one is None:
        return ManifestEntry(path, content.blob_id, FileStatus.SCANNED, "", size, content.data.count(b"\n"))
    if one.errors:
        unit = workspace.units[path]
        lines = sorted({unit.line(start) for start, _ in one.errors})
        shown = ", ".join(map(str, lines[:5]))
        return ManifestEntry(
            path, content.blob_id, FileStatus.PARTIAL, f"does not parse at line {shown}", size, one.line_count
        )
    return ManifestEntry(path, content.blob_id, FileStatus.SCANNED, "", size, one.line_count)
