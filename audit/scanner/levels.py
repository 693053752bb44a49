"""Levels that a project gives to rules in place of their own. Nothing else of a result changes with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from audit.rules.base import Rule
from audit.scanner.profile import ProfileError
from audit.scanner.report import Level, ScanReport


def levels_by_rule(levels: Iterable[tuple[str, Level]], rules: Sequence[Rule]) -> dict[str, Level]:
    """Return levels by the ids of rules, which a profile names by id or by name."""
    known = {key: rule.id for rule in rules for key in (rule.id, rule.name)}
    found: dict[str, Level] = {}
    for word, level in levels:
        if word not in known:
            raise ProfileError(f"`levels.{word}`: there is no rule of this id or name")
        if known[word] in found:
            raise ProfileError(f"`levels.{word}`: the level of {known[word]} is set twice")
        found[known[word]] = level
    return found


def with_levels(report: ScanReport, levels: Mapping[str, Level]) -> ScanReport:
    """Return a report whose results have the levels that a project gave to their rules.

    A level that a rule chose for one of its results gives way too: a project speaks of the rule as a whole.
    """
    if not levels:
        return report
    results = tuple(
        result._replace(level=levels[result.rule_id]) if result.rule_id in levels else result
        for result in report.results
    )
    return replace(report, results=results, level_overrides=dict(sorted(levels.items())))
