"""What loops and patterns bind: the elements of a list, the content of an option."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.scanner.extract.facts import RegionKind
from audit.scanner.extract.items import split_list
from audit.scanner.link.unit import Fn

_LIST = re.compile(r"\b(?:Vec|VecDeque)\s*<(.*)>|\[(.*)\]", re.DOTALL)
_WALKED = re.compile(
    r"^&?\s*(?:mut\s+)?([\w.]+?)((?:\s*\.\s*(?:iter|iter_mut|into_iter|enumerate|rev|skip|take)\([^()]*\))*)$"
)
_OPENED = re.compile(r"^&?\s*(?:mut\s+)?([\w.]+?)(?:\s*\.\s*(?:as_ref|as_mut|as_deref|as_deref_mut)\(\))?$")
_ELEMENT = re.compile(r"^&?\s*(?:mut\s+)?([a-z_]\w*)$")
_NUMBERED = re.compile(r"^\(\s*\w+\s*,\s*&?\s*(?:mut\s+)?([a-z_]\w*)\s*\)$")
_CONTENT = re.compile(r"^Some\(\s*&?\s*(?:ref\s+)?(?:mut\s+)?([a-z_]\w*)\s*\)$")


def element_type(list_type: str) -> str:
    """Return the type of the elements of a list as it is declared, empty when it is none."""
    found = _LIST.search(list_type)
    if found is None:
        return ""
    inner = found[1] if found[1] is not None else found[2].partition(";")[0]
    return next(iter(split_list(inner)), "").strip()


def walked_lists(function: Fn) -> Iterator[tuple[str, str]]:
    """Yield the locals that loops bind to the elements of a list, each with the list as written."""
    for region in function.facts.regions:
        if region.kind != RegionKind.LOOP:
            continue
        walked = _WALKED.match(function.text(region.condition_start, region.condition_end).strip())
        if walked is not None:
            binds = _NUMBERED if "enumerate" in walked[2] else _ELEMENT
            name = binds.match(function.text(region.pattern_start, region.pattern_end).strip())
            if name is not None:
                yield name[1], walked[1]


def opened_options(function: Fn) -> Iterator[tuple[str, str]]:
    """Yield the locals that patterns bind to the content of an option, each with the option as written."""
    for pattern, subject in _matched(function):
        name = _CONTENT.match(pattern.strip())
        opened = _OPENED.match(subject.strip()) if name is not None else None
        if name is not None and opened is not None:
            yield name[1], opened[1]


def _matched(function: Fn) -> Iterator[tuple[str, str]]:
    """Yield the patterns of a function that may be of an option's content, each with what is matched."""
    data, text = function.unit.data, function.text
    for region in function.facts.regions:
        start, end = region.condition_start, region.condition_end
        if region.kind == RegionKind.THEN:
            if data.startswith(b"let ", start, end):
                pattern, _, subject = text(start + 4, end).partition("=")
                yield pattern, subject
        elif region.kind in (RegionKind.ARM, RegionKind.LET_ELSE):
            pattern = text(region.pattern_start, region.pattern_end)
            if "Some" in pattern:
                yield pattern, text(start, end)
