"""All that is known of one site: the four truths, its evidence and its history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from django.db.models import Exists, F, OuterRef

from audit.models import (
    Branch,
    BranchScan,
    Capability,
    FallbackSite,
    Result,
    SiteState,
)
from audit.parity.capability import Place
from audit.parity.rationale import Rationale
from audit.policy.clauses import Clause
from audit.selectors.policy import clauses_of_outcome, clauses_of_rule
from audit.selectors.repository_policies import OwnPolicySaid, own_policy_at, own_policy_said, said_of_rule
from audit.selectors.rules import RulePage, rule_get
from audit.selectors.source import source_texts
from migrations_tracker.models import SiteMigration, Suppression, SuppressionStatus, Transition
from migrations_tracker.selectors.capability_detail import said_of_symbol, site_rationales
from migrations_tracker.selectors.migration_choices import Choice, choices_of, is_suppressible
from migrations_tracker.selectors.site_knowledge import SiteKnowledge, site_knowledge
from migrations_tracker.selectors.suppressions import suppression_newest
from migrations_tracker.source_frames import SourceFrame, frame_of_snippet, frame_of_source
from workers.models import PtxLoad
from workers.selectors.verifications import Proof, proofs_of, ptx_loads_of

#: Its sites are texts and not functions: what proves or refutes them is the driver.
BROKEN_PTX = "FT017"
MISSING_GPU_TEST = "FT009"
# What they ask for is a test, not an answer to what PyTorch computes.
TEST_RULES = frozenset({MISSING_GPU_TEST, "FT010"})
MAX_STEPS = 30
CONTEXT_LINES = 4
STEP_CONTEXT_LINES = 2
#: The scan that closed a state, where the scan before it was of the same commit.
_SAME_CODE = BranchScan.objects.filter(
    scan_run=OuterRef("closed_scan"),
    branch=OuterRef("branch"),
    previous__scan_run__commit=F("scan_run__commit"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the evidence, with the code it points at."""

    number: int
    role: str
    message: str
    symbol: str
    path: str
    line: int
    frame: SourceFrame | None


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """What is known of a site itself: the scanner's word, the people's, and why."""

    site: FallbackSite
    rule: RulePage
    clauses: Sequence[Clause]
    own_policy: OwnPolicySaid
    outcome_clauses: Sequence[Clause]
    rationales: Sequence[tuple[Capability | None, Rationale]]
    states: Sequence[SiteState]
    state: SiteState | None
    result: Result | None
    migration: SiteMigration | None
    choices: Sequence[Choice]
    suppression: Suppression | None
    transitions: Sequence[Transition]

    @property
    def branch(self) -> Branch | None:
        """The branch whose state is shown."""
        return self.state.branch if self.state is not None else None

    @property
    def other_states(self) -> Sequence[SiteState]:
        """Its states on other branches."""
        return [other for other in self.states if other is not self.state]

    @property
    def allowed_in_source(self) -> Sequence[str]:
        """Why comments in the source suppress it, as far as they say."""
        told = self.result.suppressions if self.result is not None else ()
        return [one["justification"] for one in told if one["status"] == SuppressionStatus.ACCEPTED]

    @property
    def is_gone_by_scanner(self) -> bool:
        """Whether the scan that no longer saw the site looked at the same commit as the scan before it."""
        return bool(getattr(self.state, "is_closed_in_same_code", False))

    @property
    def is_suppressible(self) -> bool:
        """Whether it may be suppressed now, or that be asked for."""
        return is_suppressible(self.choices)


@dataclass(frozen=True, slots=True)
class SitePageData(SiteRecord):
    """What the site's page shows."""

    frame: SourceFrame | None
    steps: Sequence[Step]
    proofs: Sequence[Proof]
    ptx_loads: Sequence[PtxLoad]
    knowledge: SiteKnowledge


def site_record(*, site: FallbackSite) -> SiteRecord:
    """Gather what is known of a site itself."""
    states = list(
        SiteState.objects.filter(site=site)
        .annotate(
            is_closed_in_same_code=Exists(_SAME_CODE),
            **said_of_symbol(repository_id=site.repository_id),
            **own_policy_said(repository_id=site.repository_id),
        )
        .select_related(
            "branch",
            "first_seen_scan__commit",
            "last_seen_scan__commit",
            "closed_scan__commit",
            "result__scan_run__repository",
            "result__scan_run__commit",
        )
    )
    for one in states:
        one.site = site
    main = next((s for s in states if s.branch.name == site.repository.default_branch), None)
    state = main or (states[0] if states else None)
    result = _newest_result(site, states)
    migration = getattr(site, "migration", None)
    return SiteRecord(
        site=site,
        rule=rule_get(rule_id=site.rule_id),
        clauses=clauses_of_rule(rule_id=site.rule_id),
        own_policy=_own_policy(site, states, state, result),
        outcome_clauses=clauses_of_outcome(outcome=state.outcome) if state else (),
        rationales=_rationales(state, result) if state else (),
        states=states,
        state=state,
        result=result,
        migration=migration,
        choices=choices_of(
            migration, is_seen=bool(main and main.is_open), outcome=main.outcome if main else ""
        ),
        suppression=suppression_newest(subject=site),
        transitions=list(
            Transition.objects.filter(site_migration__site=site)
            .select_related("actor", "scan_run__commit")
            .order_by("-id")
        ),
    )


def site_page(*, site: FallbackSite, seen: tuple[int, ...] | None) -> SitePageData:
    """Gather what the site's page shows to who sees these repositories, None for all."""
    record = site_record(site=site)
    state, result = record.state, record.result
    frame, steps = _frames(result) if result else (None, ())
    known: dict[str, Any] = {one.name: getattr(record, one.name) for one in fields(SiteRecord)}
    return SitePageData(
        **known,
        frame=frame,
        steps=steps,
        proofs=_proofs(site, record.states) if site.rule_id != BROKEN_PTX else (),
        ptx_loads=_ptx_loads(site, state, result) if site.rule_id == BROKEN_PTX else (),
        knowledge=site_knowledge(site=site, result=result, seen=seen),
    )


def proofs_of_site(*, site: FallbackSite) -> list[Proof]:
    """List what GPU runs said last of a site's function; a text of PTX is none."""
    states = SiteState.objects.filter(site=site).only("symbol")
    return _proofs(site, states) if site.rule_id != BROKEN_PTX else []


def _own_policy(
    site: FallbackSite, states: Sequence[SiteState], state: SiteState | None, result: Result | None
) -> OwnPolicySaid:
    """Return what the repository's own policy said when the result was judged, and what it says now."""
    number = result.scan_run.own_policy if result is not None else 0
    under = result.scan_run.policy_version if result is not None else ""
    judged = next((one for one in states if one.result == result), None) if number else None
    then = getattr(judged, "own_policy_then", None)
    if number and judged is None:
        then = own_policy_at(repository_id=site.repository_id, number=number)
    now = getattr(state, "own_policy_now", None)
    form = state.form if state is not None else ""
    return said_of_rule(then, now, judged_under=under, rule_id=site.rule_id, form=form)


def _newest_result(site: FallbackSite, states: Sequence[SiteState]) -> Result | None:
    """Take the newest result that a state has; a site without one may have results on no branch."""
    seen = [state.result for state in states if state.result is not None]
    if seen:
        return max(seen, key=lambda result: result.scan_run_id)
    return (
        Result.objects.filter(site=site)
        .select_related("scan_run__repository", "scan_run__commit")
        .order_by("-scan_run_id")
        .first()
    )


def _rationales(state: SiteState, result: Result | None) -> list[tuple[Capability | None, Rationale]]:
    steps = result.evidence if result is not None else []
    return site_rationales(
        scan_run_id=state.last_seen_scan_id,
        symbol=state.symbol,
        chain=list(dict.fromkeys(step["symbol"] for step in steps)),
        said=state.said_by_person or state.said_by_rule,  # type: ignore[attr-defined]
        place=Place(result.path, result.start_line, result.symbol) if result is not None else None,
        note=_what_is_seen(result) if result is not None else "",
        is_about_test=state.rule_id in TEST_RULES,
    )


def _what_is_seen(result: Result) -> str:
    """Return a result's message as a sentence: most rules say what the code or the test does."""
    if result.rule_id in (BROKEN_PTX, MISSING_GPU_TEST):
        return result.message
    return f"the {'test' if result.rule_id in TEST_RULES else 'code'} {result.message}"


def _ptx_loads(site: FallbackSite, state: SiteState | None, result: Result | None) -> list[PtxLoad]:
    symbol = state.symbol if state is not None else site.symbol
    sha256 = str(result.properties.get("textSha256", "")) if result is not None else ""
    return ptx_loads_of(repository=site.repository, symbol=symbol, sha256=sha256)


def _proofs(site: FallbackSite, states: Iterable[SiteState]) -> list[Proof]:
    symbols = {site.symbol, *(state.symbol for state in states)}
    return proofs_of(repository=site.repository, symbols=symbols)


def _frames(result: Result) -> tuple[SourceFrame, list[Step]]:
    evidence = result.evidence[:MAX_STEPS]
    texts = source_texts(scan_run=result.scan_run, paths={result.path, *(step["path"] for step in evidence)})
    text = texts.get(result.path)
    if text is None:
        frame = frame_of_snippet(result.snippet, first_line=result.start_line)
    else:
        frame = frame_of_source(text, flagged=(result.start_line, result.end_line), context=CONTEXT_LINES)
    steps = []
    for number, step in enumerate(evidence, 1):
        region = step["region"]
        text = texts.get(step["path"])
        steps.append(
            Step(
                number=number,
                role=step["role"],
                message=step["message"],
                symbol=step["symbol"],
                path=step["path"],
                line=region["start_line"],
                frame=_step_frame(result, step, text),
            )
        )
    return frame, steps


def _step_frame(result: Result, step: Mapping[str, Any], text: str | None) -> SourceFrame | None:
    """Show a step's code, unless it is the code of the site itself, which stands above."""
    lines = (step["region"]["start_line"], step["region"]["end_line"])
    if text is None or (step["path"], *lines) == (result.path, result.start_line, result.end_line):
        return None
    return frame_of_source(text, flagged=lines, context=STEP_CONTEXT_LINES)
