"""Holding a finding against the code at the commit it speaks of: which results are what it means."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from audit.claims.bearing import FALLBACK_RULES
from audit.imports.rows import Place, Row


class PlacedBy(StrEnum):
    """What made a result the one that a finding means, the surest first."""

    LINE = "line"
    EVIDENCE = "evidence"
    FUNCTION = "function"
    NAME = "name"
    FILE = "file"
    PERSON = "person"


PLACED_BY_LABELS: Mapping[str, str] = {
    PlacedBy.LINE.value: "its lines",
    PlacedBy.EVIDENCE.value: "a line of its evidence",
    PlacedBy.FUNCTION.value: "the function around the line",
    PlacedBy.NAME.value: "the function's name",
    PlacedBy.FILE.value: "the file and the subject",
    PlacedBy.PERSON.value: "a person",
}


class Said(StrEnum):
    """What the code says of a finding."""

    MATCHED = "matched"
    UNMATCHED = "unmatched"
    CONTRADICTED = "contradicted"
    NO_PLACE = "no-place"
    OTHER_SUBJECT = "other-subject"


@dataclass(frozen=True, slots=True)
class KnownResult:
    """A result of the scan of that commit. `spots` are the lines of its evidence."""

    site_id: int
    rule_id: str
    path: str
    start: int
    end: int
    symbol: str
    crate: str
    spots: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A function's lines."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Code:
    """The code at a commit. `files` are the Rust files with their line counts."""

    files: Mapping[str, int]
    crates: Mapping[str, str]
    results: Sequence[KnownResult]
    functions: Callable[[str], Sequence[Span]]
    text: Callable[[str], str]
    by_path: Mapping[str, list[KnownResult]] = field(init=False)

    def __post_init__(self) -> None:
        by_path: dict[str, list[KnownResult]] = {}
        for result in self.results:
            by_path.setdefault(result.path, []).append(result)
        object.__setattr__(self, "by_path", by_path)


@dataclass(frozen=True, slots=True)
class PlacedPlace:
    """A place with what the code says of it; `path` is the file it means, where one fits."""

    place: Place
    said: Said
    text: str
    path: str = ""
    found: Mapping[int, PlacedBy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding with what the code says of it."""

    said: Said
    places: tuple[PlacedPlace, ...]
    sites: Mapping[int, PlacedBy]


# Results that a finding about one may mean: a fallback by any rule is the same subject to people.
_TESTS = frozenset({"FT009", "FT010"})
_SURE = tuple(PlacedBy)
_FUNCTION_LIKE = re.compile(r"^[a-z][a-z0-9]*(?:_[a-z0-9*]+)+_?$")


def place_row(row: Row, code: Code) -> Placed:
    """Hold a finding against the code.

    What speaks of nothing that a rule looks for is matched with nothing; whether its places exist is told.
    """
    places = tuple(_place(row, place, code) for place in row.places)
    if not places and row.rule_ids:
        places = tuple(_by_name(row, code))
    said = _said(row, places)
    if said is not Said.MATCHED:
        return Placed(said, places, {})
    sites: dict[int, PlacedBy] = {}
    for one in places:
        for site_id, placed_by in one.found.items():
            if site_id not in sites or _SURE.index(placed_by) < _SURE.index(sites[site_id]):
                sites[site_id] = placed_by
    return Placed(said, places, sites)


def _said(row: Row, places: Sequence[PlacedPlace]) -> Said:
    said = {one.said for one in places}
    if said == {Said.CONTRADICTED}:
        return Said.CONTRADICTED
    if not row.rule_ids:
        return Said.OTHER_SUBJECT
    for one in (Said.MATCHED, Said.UNMATCHED, Said.CONTRADICTED):
        if one in said:
            return one
    return Said.NO_PLACE


def _place(row: Row, place: Place, code: Code) -> PlacedPlace:
    if not place.path.endswith(".rs"):
        return PlacedPlace(place, Said.UNMATCHED, "Not a Rust file: it was not looked at.")
    fitting = _files(row, place, code)
    if not fitting:
        return PlacedPlace(place, Said.CONTRADICTED, "The commit has no such file.")
    if len(fitting) > 1:
        text = f"{len(fitting)} files fit: {', '.join(fitting[:3])}{' …' if len(fitting) > 3 else ''}"
        return PlacedPlace(place, Said.UNMATCHED, text)
    path = fitting[0]
    if place.start > code.files[path]:
        return PlacedPlace(place, Said.CONTRADICTED, f"The file has {code.files[path]} lines.", path)
    missing = _missing_names(row, path, code)
    if missing:
        return PlacedPlace(place, Said.CONTRADICTED, f"The file has no `{'`, no `'.join(missing)}`.", path)
    if not row.rule_ids:
        return PlacedPlace(place, Said.UNMATCHED, "It speaks of nothing that a rule looks for.", path)
    return _in_file(row, place, path, code)


def _files(row: Row, place: Place, code: Code) -> list[str]:
    """List the files that a path may mean: whole, or the end of one, within the crate where it names one."""
    wanted = place.path.removeprefix("./")
    if wanted in code.files:
        return [wanted]
    fitting = [path for path in code.files if path.endswith(f"/{wanted}")]
    folder = code.crates.get(row.crate.replace("_", "-"))
    if row.crate and folder is not None:
        inside = [path for path in fitting if path.startswith(f"{folder}/" if folder else "")]
        direct = [path for path in inside if path in (f"{folder}/src/{wanted}", f"{folder}/{wanted}")]
        # A finding about one crate may point into another.
        fitting = direct or inside or fitting
    return sorted(fitting)


def _missing_names(row: Row, path: str, code: Code) -> list[str]:
    """Name the functions that a finding speaks of, if the file holds not one of all."""
    names = [name for name in row.names if _FUNCTION_LIKE.match(name) and "*" not in name]
    if not names or len(row.places) > 1:
        return []
    text = code.text(path)
    return [] if any(name in text for name in row.names) else names[:3]


def _in_file(row: Row, place: Place, path: str, code: Code) -> PlacedPlace:
    wanted = _rules(row)
    here = [result for result in code.by_path.get(path, ()) if result.rule_id in wanted]
    if not place.start:
        named = frozenset(row.rule_ids)
        return _whole_file(row, place, path, [one for one in here if one.rule_id in named])
    if place.end < min((span.start for span in code.functions(path)), default=0):
        # What stands above the first function speaks of the file.
        return _whole_file(row, place, path, here)
    functions = [span for span in code.functions(path) if span.start <= place.end and place.start <= span.end]
    attempts: tuple[tuple[PlacedBy, list[KnownResult]], ...] = (
        (PlacedBy.LINE, [one for one in here if one.start <= place.end and place.start <= one.end]),
        (PlacedBy.EVIDENCE, [one for one in here if _has_spot(one, path, place)]),
        (
            PlacedBy.FUNCTION,
            [one for one in here if any(s.start <= one.start <= s.end for s in functions)],
        ),
    )
    for placed_by, results in attempts:
        if results:
            text = f"{len(results)} result{'s' * (len(results) != 1)} by {PLACED_BY_LABELS[placed_by]}"
            found = {one.site_id: placed_by for one in results}
            return PlacedPlace(place, Said.MATCHED, text, path, found)
    where = f"in `{functions[-1].name}`" if functions else "there, outside of any function"
    others = [one for one in code.by_path.get(path, ()) if one.start <= place.end and place.start <= one.end]
    more = f", but {', '.join(sorted({one.rule_id for one in others}))}" if others else ""
    return PlacedPlace(place, Said.UNMATCHED, f"No rule reports it {where}{more}.", path)


def _whole_file(row: Row, place: Place, path: str, here: Sequence[KnownResult]) -> PlacedPlace:
    named = [one for one in here if _is_named(one, row.names)]
    results, placed_by = (named, PlacedBy.NAME) if named else (list(here), PlacedBy.FILE)
    if not results:
        return PlacedPlace(place, Said.UNMATCHED, "No rule reports this subject in the file.", path)
    text = f"{len(results)} result{'s' * (len(results) != 1)} by {PLACED_BY_LABELS[placed_by]}"
    return PlacedPlace(place, Said.MATCHED, text, path, {one.site_id: placed_by for one in results})


def _by_name(row: Row, code: Code) -> Iterable[PlacedPlace]:
    """Find what a finding without a path means by the functions and the crate it names."""
    wanted = _rules(row)
    crate = row.crate.replace("_", "-")
    names = [name for name in row.names if _FUNCTION_LIKE.match(name) or "*" in name]
    found = {
        one.site_id: PlacedBy.NAME
        for one in code.results
        if one.rule_id in wanted and (not crate or one.crate == crate) and _is_named(one, names)
    }
    if found:
        text = f"{len(found)} result{'s' * (len(found) != 1)} by {PLACED_BY_LABELS[PlacedBy.NAME]}"
        yield PlacedPlace(Place(crate or "(any crate)"), Said.MATCHED, text, "", found)


def _is_named(result: KnownResult, names: Sequence[str]) -> bool:
    last = result.symbol.rpartition("::")[2]
    parts = result.symbol.split("::")
    return any(
        name == last or (name[:1].isupper() and name in parts)
        or ("*" in name and len(name.strip("*_")) > 2 and fnmatch.fnmatchcase(last, name))
        for name in names
    )  # fmt: skip


def _has_spot(result: KnownResult, path: str, place: Place) -> bool:
    return any(
        file == path and start <= place.end and place.start <= end for file, start, end in result.spots
    )


def _rules(row: Row) -> frozenset[str]:
    """Widen the rules of a finding to those that people call by the same words."""
    named = frozenset(row.rule_ids)
    for family in (FALLBACK_RULES, _TESTS):
        if named & family:
            named |= family
    return named
