"""What makes a candidate the same in another commit, worked out once as long as its file stands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from audit.scanner.fingerprint import Identity, body_print, tokens
from audit.scanner.link.unit import Fn, Unit

if TYPE_CHECKING:
    # Every rule imports the judge, which imports this module: whoever comes first must not get half of it.
    from audit.rules.base import Rule
    from audit.scanner.judge import Candidate

# No names: what is told of a file under these is long, and not kept for another process.
_IDENTITIES: Final = object()
_BODIES: Final = object()


def identity_of(rule: Rule, candidate: Candidate) -> Identity:
    """Return what makes a result the same in another commit."""
    known, key = _known(candidate.unit), _key(rule, candidate)
    found = known.get(key)
    if found is None:
        found = known[key] = _worked_out(rule, candidate)
    return found


def take_identities(rule: Rule, candidates: Iterable[Candidate], identities: Iterable[Identity]) -> None:
    """Take what another process has worked out for candidates of the same files."""
    for candidate, identity in zip(candidates, identities, strict=True):
        _known(candidate.unit)[_key(rule, candidate)] = identity


def _known(unit: Unit) -> dict[tuple[object, ...], Identity]:
    known: dict[tuple[object, ...], Identity] = unit.told.setdefault(_IDENTITIES, {})
    return known


def _key(rule: Rule, candidate: Candidate) -> tuple[object, ...]:
    return rule.id, candidate.start, candidate.end, candidate.function, candidate.item, candidate.guard


def _worked_out(rule: Rule, candidate: Candidate) -> Identity:
    package, function = candidate.unit.package, candidate.function
    guard, anchor = tokens(candidate.guard), candidate.unit.text(candidate.start, candidate.end)
    cfg, body = "", ""
    if function is not None:
        cfg = " ".join(one for one in function.facts.attributes if one.startswith("#[cfg"))
        body = body_print(rule.id, guard, _nameless(candidate, function))
    return Identity(
        rule.id,
        package.name if package is not None else "",
        candidate.symbol,
        cfg,
        guard,
        tokens(anchor),
        body,
    )


def _nameless(candidate: Candidate, function: Fn) -> str:
    """Return the anchor and the function, without the function's name: an anchor may be its head."""
    first = function.facts.name_start
    last = first + len(function.name.encode())
    text = candidate.unit.text
    if candidate.start <= first and last <= candidate.end:
        anchor = text(candidate.start, first) + text(last, candidate.end)
    else:
        anchor = text(candidate.start, candidate.end)
    return f"{tokens(anchor)}\0{_body(function)}"


def _body(function: Fn) -> str:
    """Return a function without its name, comments and white space."""
    known: dict[Fn, str] = function.unit.told.setdefault(_BODIES, {})
    found = known.get(function)
    if found is None:
        facts, comments = function.facts, function.unit.facts.comments
        position = facts.name_start + len(facts.name.encode())
        parts = []
        for start, end in comments[bisect_left(comments, (position, 0)) :]:
            if start >= facts.body_end:
                break
            parts.append(function.text(position, start))
            position = end
        parts.append(function.text(position, facts.body_end))
        found = known[function] = "".join("".join(parts).split())
    return found
