"""Saying what a scan by today's scanner would change on a branch, without changing it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from audit.errors import AuditError
from audit.models import Branch
from audit.rules import RULES
from audit.scanner.cache import DirectoryCache
from audit.scanner.matching import KnownSite, MatchPass, match_results
from audit.scanner.pipeline import scan, scanner_version
from audit.scanner.profile_choice import profile_for
from audit.scanner.ptx.assembler import find_assembler
from audit.scanner.report import ScanReport
from audit.scanner.source.opening import open_source
from audit.selectors.sites import sites_of_their_own
from audit.services.coverage import Coverage
from audit.services.driver_answers import driver_answers_until, driver_label
from audit.services.git_repository import git_dir_of
from audit.services.recognition import codes_of, known_site, with_items_gone
from audit.services.site_states import KnownState, states_asked, states_known


@dataclass(frozen=True, slots=True)
class RescanPreview:
    """What would change on a branch. The counts are by rule; `respelled` is by the old and the new one."""

    commit: str
    old_version: str
    new_version: str
    kept: int
    passes: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    reopened: Counter[str] = field(default_factory=Counter)
    closed: Counter[str] = field(default_factory=Counter)
    closed_outcomes: Counter[str] = field(default_factory=Counter)
    respelled: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def changes_nothing(self) -> bool:
        """Whether every site stays as it is."""
        return not (self.new or self.reopened or self.closed or self.respelled)


def rescan_preview(*, branch: Branch) -> RescanPreview:
    """Scan the newest scanned commit of a branch with today's scanner, and hold it against what is known."""
    last = branch.last_scan
    if last is None:
        raise AuditError(f"`{branch.name}` has no scan yet: there is nothing that could change.")
    repository = branch.repository
    if last.commit.is_snapshot:
        source = open_source(repository.location)
    else:
        source = open_source(git_dir_of(repository), last.commit.object_id)
    cache = Path(settings.SCAN_CACHE_DIR)
    report = scan(
        source,
        profile=profile_for(source, repository.profile).profile,
        rules=RULES,
        jobs=settings.SCAN_JOBS,
        cache=DirectoryCache(cache),
        assembler=find_assembler(cache=cache, jobs=settings.SCAN_JOBS),
        driver=driver_answers_until(repository=repository, label=driver_label(repository=repository)),
        earlier=states_asked(branch=branch),
    )
    return _compare(branch, last.commit.short_id, last.scanner_version, report)


def _compare(branch: Branch, commit: str, old_version: str, report: ScanReport) -> RescanPreview:
    states = states_known(branch=branch)
    coverage = Coverage.of(report)
    sites = _known_sites(branch, states, coverage)
    matches = match_results(with_items_gone(sites.values(), report), report.results, codes_of)
    new: Counter[str] = Counter()
    reopened: Counter[str] = Counter()
    respelled: Counter[tuple[str, str]] = Counter()
    for match, result in zip(matches, report.results, strict=True):
        if match.site_id is None or match.site_id not in states:
            new[result.rule_id] += 1
        elif not states[match.site_id].is_open:
            reopened[result.rule_id] += 1
        elif states[match.site_id].rule_id != result.rule_id:
            respelled[states[match.site_id].rule_id, result.rule_id] += 1
    seen = {match.site_id for match in matches}
    gone = [
        site_id
        for site_id, state in states.items()
        if state.is_open
        and site_id not in seen
        and coverage.could_see(rule_id=state.rule_id, path=state.path)
    ]
    known = {match.site_id for match in matches if match.site_id is not None}
    told = {site_id: report.outcomes.get(site_id) for site_id in gone}
    return RescanPreview(
        commit=commit,
        old_version=old_version,
        new_version=scanner_version(),
        kept=sum(site_id in states and states[site_id].is_open for site_id in known),
        passes=Counter(match.match_pass.value for match in matches if match.match_pass is not MatchPass.NEW),
        new=new,
        reopened=reopened,
        closed=Counter(states[site_id].rule_id for site_id in gone),
        closed_outcomes=Counter(one.outcome.value if one else "none" for one in told.values()),
        respelled=respelled,
    )


def _known_sites(branch: Branch, states: dict[int, KnownState], coverage: Coverage) -> dict[int, KnownSite]:
    columns = ("id", "rule_id", "symbol", "path", "partial_fingerprints")
    found = {}
    sites = sites_of_their_own(repository_id=branch.repository_id)
    for row in sites.values_list(*columns):
        state = states.get(row[0])
        found[row[0]] = known_site(row, state, coverage, was_open=state is None or state.is_open)
    return found
