"""The legend of a chart over time: each count with the list that it counts."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from audit.models import Branch
from audit.selectors.history import Counts, Dimension
from audit.selectors.rules import rule_get
from migrations_tracker.charts import SERIES_SHOWN
from migrations_tracker.selectors.site_list import NOT_TOLD, Seen

_FILTERS = {Dimension.RULE: "rule", Dimension.CRATE: "crate", Dimension.OUTCOME: "outcome"}


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One series. What is drawn as one with others has the last number."""

    label: str
    count: int
    number: int
    url: str


def legend_of(
    counts: Counts, *, branch: Branch, by: Dimension, rule: str = "", crate: str = ""
) -> list[LegendEntry]:
    """Return the series with their newest counts, and the lists that show those sites one by one."""
    entries = []
    for number, series in enumerate(counts.series):
        if not series.counts[-1]:
            continue
        key = series.key or (NOT_TOLD if by is Dimension.OUTCOME else "")
        query = {
            "repository": branch.repository.slug,
            "branch": branch.name,
            "seen": (Seen.ABSENT if by is Dimension.OUTCOME else Seen.OPEN).value,
            "rule": rule,
            "crate": crate,
        } | {_FILTERS[by]: key}
        url = f"{reverse('site-list')}?{urlencode({name: value for name, value in query.items() if value})}"
        label = _label(by, key)
        entries.append(LegendEntry(label, series.counts[-1], min(number, SERIES_SHOWN), url))
    return entries


def _label(by: Dimension, key: str) -> str:
    if by is Dimension.RULE:
        return f"{key} {rule_get(rule_id=key).name}"
    if by is Dimension.OUTCOME:
        return key.replace("-", " ")
    return key or "no crate"
