"""Whether what was claimed is what a scan of the same commit measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from audit.claims.finding import Claim, last_part
from audit.claims.kinds import ClaimKind
from audit.scanner.report import Outcome


class Bearing(StrEnum):
    """How a claim stands beside the measurement."""

    BORNE_OUT = "borne-out"
    NOT_BORNE_OUT = "not-borne-out"
    NOT_TOLD = "not-told"


BEARING_LABELS = {
    Bearing.BORNE_OUT: "The scan agrees",
    Bearing.NOT_BORNE_OUT: "The scan does not bear it out",
    Bearing.NOT_TOLD: "The scan says nothing of it",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A result or site, as far as a claim is held against it; `outcome` is of one that is gone."""

    rule_id: str
    path: str
    line: int
    symbol: str
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a scan of the commit saw: what ended, what is new, and what stands, the new ones too."""

    ended: Sequence[Place]
    new: Sequence[Place]
    standing: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Held:
    """A claim held against the measurement, with what was measured in a sentence."""

    claim: Claim
    bearing: Bearing
    text: str


# Rules whose results say that something for the device is computed, or goes, through the host.
FALLBACK_RULES = frozenset(f"FT{number:03}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 11, 13))
_ON_DEVICE = frozenset({Outcome.DEVICE_KERNEL.value, Outcome.COMPOSITE.value})
_REFUSED = frozenset({Outcome.STRUCTURED_ERROR.value, Outcome.OPT_IN_FALLBACK.value})
_TOO_SHORT = 4


def hold_claims(claims: Sequence[Claim], measured: Measured, *, claimed_beside: int = 0) -> tuple[Held, ...]:
    """Hold each claim against what was measured; `claimed_beside` is what others counted of the same."""
    return tuple(
        _counted(claim, measured, claimed_beside)
        if claim.kind is ClaimKind.COUNTED
        else _HOLD[claim.kind](claim, measured)
        for claim in claims
    )


def _counted(claim: Claim, measured: Measured, beside: int) -> Held:
    said = claim.count or 0
    known = [place for place in measured.ended if place.outcome]
    ended = f"{_sites(len(known))} ended with a known outcome{_by_outcome(known)}"
    others = f", and {beside} by the other commits" if beside else ""
    bearing = Bearing.BORNE_OUT if len(known) >= said + beside else Bearing.NOT_BORNE_OUT
    return Held(claim, bearing, f"{said} claimed{others}; {ended}.")


def _on_device(claim: Claim, measured: Measured) -> Held:
    return _against_places(claim, measured, _ON_DEVICE, "on the device")


def _refused(claim: Claim, measured: Measured) -> Held:
    return _against_places(claim, measured, _REFUSED, "with an error or an opt-in")


def _no_fallback(claim: Claim, measured: Measured) -> Held:
    new = _of_names(claim, _fallbacks(measured.new))
    if new:
        return Held(claim, Bearing.NOT_BORNE_OUT, f"The commit brought {_listed(new)}.")
    outcomes = frozenset(outcome.value for outcome in Outcome)
    return _against_places(claim, measured, outcomes, "with a known outcome")


def _coverage(claim: Claim, measured: Measured) -> Held:
    standing = _fallbacks(measured.standing)
    if not standing:
        return Held(claim, Bearing.BORNE_OUT, "No fallback is open at this commit.")
    named = _of_names(claim, standing)
    if named:
        return Held(claim, Bearing.NOT_BORNE_OUT, f"Still open at this commit: {_listed(named)}.")
    text = f"Open at this commit: {_listed(standing)}. Whether that is meant, the sentence does not tell."
    return Held(claim, Bearing.NOT_TOLD, text)


def _against_places(claim: Claim, measured: Measured, outcomes: frozenset[str], how: str) -> Held:
    """Hold a claim against the sites of the code that it names; what still stands there speaks first."""
    standing = _of_names(claim, _fallbacks(measured.standing))
    if standing:
        return Held(claim, Bearing.NOT_BORNE_OUT, f"Still open at this commit: {_listed(standing)}.")
    ended = [place for place in measured.ended if place.outcome in outcomes]
    named = _of_names(claim, ended)
    if named:
        return Held(claim, Bearing.BORNE_OUT, f"{_sites(len(named))} of what is named ended {how}.")
    if not claim.names:
        text = f"It names no code; {_sites(len(ended))} ended {how}, which need not be those meant."
        return Held(claim, Bearing.NOT_TOLD, text)
    return Held(claim, Bearing.NOT_TOLD, "No site of what is named was open before, or is now.")


_HOLD: Mapping[ClaimKind, Callable[[Claim, Measured], Held]] = {
    ClaimKind.ON_DEVICE: _on_device,
    ClaimKind.NO_FALLBACK: _no_fallback,
    ClaimKind.AUTO_ROUTED: _on_device,
    ClaimKind.REFUSED: _refused,
    ClaimKind.COVERAGE: _coverage,
}


def _fallbacks(places: Sequence[Place]) -> list[Place]:
    return [place for place in places if place.rule_id in FALLBACK_RULES]


def _of_names(claim: Claim, places: Sequence[Place]) -> list[Place]:
    """Choose the places in the functions and types that a claim names; a module holds too much else."""
    wanted = {part for name in claim.names if len(part := last_part(name)) >= _TOO_SHORT}
    return [place for place in places if wanted & _names_of(place)]


def _names_of(place: Place) -> set[str]:
    *above, function = place.symbol.split("::")
    return {last_part(function)} | {last_part(part) for part in above if part[:1].isupper()}


def _sites(count: int) -> str:
    return f"{count} site{'s' * (count != 1)}"


def _by_outcome(places: Sequence[Place]) -> str:
    counts = Counter(place.outcome for place in places)
    return (
        f" ({', '.join(f'{count} {outcome}' for outcome, count in counts.most_common())})" if counts else ""
    )


def _listed(places: Sequence[Place]) -> str:
    first = places[0]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{first.rule_id} in `{first.symbol}` at {first.path}:{first.line}{more}"
