"""What happens inside function bodies: regions, calls, exits and lets, shared out to their functions."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from audit.scanner.extract.facts import Call, CallKind, Exit, ExitKind, Let, Region, RegionKind
from audit.scanner.extract.syntax import Parsed

if TYPE_CHECKING:
    from tree_sitter import Node

_GENERIC_CALLEE = re.compile(rb"(\w+)\s*::\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>$")
_BLANK = re.compile(rb"\s*")
_WHITE = frozenset(b" \n\r\t")
_QUESTION = ord("?")
_BANG = ord("!")
# A path or fields, link by link: it holds no parenthesis but the one behind it. `if ::f() {..}.g()` is none.
_SIMPLE = re.compile(rb"(?!\s*(?:if|match|while|for)\b)[\w\s.:?]+")
_TWO_WORDS = re.compile(rb"\w\s+\w")
_COMMENTS = frozenset({"line_comment", "block_comment"})
_FAR = 1 << 62


# Before its region is known: start, start of the arguments, kind, name, end, start of the name, is it tried.
RawCall = tuple[int, int, str, str, int, int, bool]
# Start, end, kind.
RawExit = tuple[int, int, str]
# The fields of a let but the region.
RawLet = tuple[int, int, int, int, int, int]
_Spans = list[tuple[int, int]]
# Kind, name and how far before the parenthesis it begins: no kind where more is to be looked at, no distance
# where the parenthesis that was found may be another one.
_Callee = tuple[str, str, int]
Event = TypeVar("Event", RawCall, RawExit, RawLet)

# What named tuples make themselves of, without the detour through their constructors.
_new = tuple.__new__


class _Starts(NamedTuple):
    """The offsets at which the events of each kind begin."""

    calls: list[int]
    exits: list[int]
    lets: list[int]
    regions: list[int]


class Events:
    """All events of a file in source order, each kind in a list of its own.

    Most of what a file says is events: they are plain tuples that begin with their offset until they are
    shared out, so that each is made into a fact once.
    """

    __slots__ = ("calls", "exits", "lets", "regions", "starts")

    def __init__(
        self, calls: list[RawCall], exits: list[RawExit], lets: list[RawLet], regions: list[Region]
    ) -> None:
        self.calls = sorted(calls)
        self.exits = sorted(exits)
        self.lets = sorted(lets)
        # A region that encloses another comes first: by start, then by falling end.
        self.regions = sorted(regions, key=lambda region: (region.start, -region.end))
        # Offsets alone are searched several times as fast as what begins with them.
        self.starts = _Starts(
            [raw[0] for raw in self.calls],
            [raw[0] for raw in self.exits],
            [raw[0] for raw in self.lets],
            [region.start for region in self.regions],
        )

    def within(
        self, body: tuple[int, int], tail: tuple[int, int], holes: _Spans
    ) -> tuple[tuple[Region, ...], tuple[Call, ...], tuple[Exit, ...], tuple[Let, ...]]:
        """Return the events of a body, without those in its holes (functions nested in it).

        Regions are nested, and each event is given the innermost one. `tail` is the span of the body's value.
        """
        calls = _between(self.calls, self.starts.calls, body, holes)
        exits = _between(self.exits, self.starts.exits, body, holes)
        lets = _between(self.lets, self.starts.lets, body, holes)
        regions = _regions_between(self.regions, self.starts.regions, body, holes)
        root = Region(RegionKind.BODY, 0, *body, 0, 0, 0, 0, 0, 0, *tail)
        if not regions:
            return (
                (root,),
                _made_calls(calls, repeat(0)),
                tuple([_new(Exit, (kind, start, end, 0)) for start, end, kind in exits]),
                tuple([_new(Let, (*raw, 0)) for raw in lets]),
            )
        nested, offsets, innermost = _nested(root, regions)
        return (
            tuple(nested),
            _made_calls(calls, [innermost[bisect_right(offsets, raw[0]) - 1] for raw in calls]),
            tuple(
                [
                    _new(Exit, (kind, start, end, innermost[bisect_right(offsets, start) - 1]))
                    for start, end, kind in exits
                ]
            ),
            tuple([_new(Let, (*raw, innermost[bisect_right(offsets, raw[0]) - 1])) for raw in lets]),
        )

    def outside(self, spans: _Spans) -> list[Call]:
        """Return the calls in none of the sorted, disjoint spans."""
        found: list[Call] = []
        starts = self.starts.calls
        following = 0
        for start, end in (*spans, (_FAR, _FAR)):
            stop = bisect_left(starts, start, following)
            if stop > following:
                found += _made_calls(self.calls[following:stop], repeat(0))
            following = bisect_left(starts, end, stop)
        return found


def _made_calls(calls: list[RawCall], regions: Iterable[int]) -> tuple[Call, ...]:
    return tuple(
        [
            _new(Call, (kind, name, start, end, name_start, arguments_start, region, is_tried))
            for (start, arguments_start, kind, name, end, name_start, is_tried), region in zip(
                calls, regions, strict=False
            )
        ]
    )


def _between(events: list[Event], starts: list[int], body: tuple[int, int], holes: _Spans) -> list[Event]:
    first = bisect_left(starts, body[0])
    found = events[first : bisect_left(starts, body[1], first)]
    return [event for event in found if not _in_holes(event[0], holes)] if holes else found


def _regions_between(
    regions: list[Region], starts: list[int], body: tuple[int, int], holes: _Spans
) -> list[Region]:
    first = bisect_left(starts, body[0])
    found = regions[first : bisect_left(starts, body[1], first)]
    return [region for region in found if not _in_holes(region.start, holes)] if holes else found


def _in_holes(offset: int, holes: _Spans) -> bool:
    return any(start <= offset < end for start, end in holes)


def _nested(root: Region, regions: list[Region]) -> tuple[list[Region], list[int], list[int]]:
    """Give regions, sorted by start, their parents.

    Returns them, and the offsets at which the innermost region changes, with the index of what it is then.
    """
    nested = [root]
    offsets, innermost = [root.start], [0]
    stack = [0]
    for region in regions:
        while len(stack) > 1 and nested[stack[-1]].end <= region.start:
            offsets.append(nested[stack.pop()].end)
            innermost.append(stack[-1])
        offsets.append(region.start)
        innermost.append(len(nested))
        parent = stack[-1]
        stack.append(len(nested))
        nested.append(_new(Region, (region.kind, parent, *region[2:])))
    while len(stack) > 1:
        offsets.append(nested[stack.pop()].end)
        innermost.append(stack[-1])
    return nested, offsets, innermost


def collect_events(source: bytes, parsed: list[Parsed]) -> Events:
    """Collect the events of a file's text and of its overlaid macro bodies."""
    calls: list[RawCall] = []
    exits: list[RawExit] = []
    lets: list[RawLet] = []
    regions: list[Region] = []
    for text in parsed:
        calls += _calls(source, text)
        calls += _kept_macros(source, text)
        exits += _exits(text)
        for node in text.nodes("let"):
            _add_let(node, lets, regions)
        for node in text.nodes("if"):
            _add_if(node, regions)
        for node in text.nodes("match"):
            _add_match(node, regions)
        for name in ("for", "while", "loop", "closure"):
            for node in text.nodes(name):
                _add_loop_or_closure(node, regions, is_closure=name == "closure")
    return Events(calls, exits, lets, regions)


def tail_of(body: Node | None) -> tuple[int, int]:
    """Return the span of the value of a block or expression; empty when a block ends in a statement."""
    if body is None:
        return (0, 0)
    if body.type != "block":
        return body.byte_range
    index = body.named_child_count - 1
    while index >= 0:
        last = body.named_child(index)
        if last.type in _COMMENTS:
            index -= 1
            continue
        if last.type == "let_declaration" or last.type.endswith("_item"):
            return (0, 0)
        if last.type == "expression_statement":
            final = last.child(last.child_count - 1)
            if final.type == ";":
                return (0, 0)
        return last.byte_range
    return (0, 0)


def _calls(source: bytes, text: Parsed) -> list[RawCall]:
    """Return the calls, in order: those that are chained begin alike, each behind the one before it."""
    nodes = {node.byte_range: node for node in text.nodes("call")}
    # What is written before a parenthesis, where a call begins with it and where a chain goes on with it.
    leading: dict[bytes, _Callee] = {}
    chained: dict[bytes, _Callee] = {}
    altered = text.text
    find = altered.find
    # What the parser passed over may hold parentheses that are no call's.
    is_broken = text.root.has_error
    found: list[RawCall] = []
    add = found.append
    padded = source + b" "
    previous = previous_end = -1
    for span in sorted(nodes):
        start, end = span
        known_callees, callee_start = (chained, previous_end) if start == previous else (leading, start)
        opening = _opening(nodes[span]) if is_broken else find(b"(", callee_start, end)
        callee = altered[callee_start:opening]
        known = known_callees.get(callee)
        if known is None:
            known = known_callees[callee] = _callee(callee, is_leading=known_callees is leading)
        previous, previous_end = span
        kind, name, length = known
        if not kind:
            if name and source[opening - 1] == _BANG:
                kind = CallKind.MACRO
            else:
                if not length:
                    opening = _opening(nodes[span])
                add(_irregular_call(source, altered, (start, end, opening)))
                continue
        following = padded[end]
        is_tried = following == _QUESTION or (following in _WHITE and _tried(source, end))
        add((start, opening, kind, name, end, opening - length, is_tried))
    return found


@lru_cache(maxsize=65_536)
def _callee(text: bytes, *, is_leading: bool) -> _Callee:
    """Tell what is written between the start of a call, or of a chain's next link, and a parenthesis."""
    if not _SIMPLE.fullmatch(text) or _TWO_WORDS.search(text):
        return ("", "", 0)
    dot, colon = text.rfind(b"."), text.rfind(b":")
    name = text[max(dot, colon) + 1 :]
    if name.endswith(b" ") and is_leading and _is_identifier(name[:-1]):
        # A macro, if the blank stands where its mark was.
        return ("", name[:-1].decode("utf-8", "replace"), len(name))
    if not _is_identifier(name) or (max(dot, colon) < 0 and not is_leading):
        return ("", "", len(text))
    kind = CallKind.METHOD if dot > colon else CallKind.PATH if colon >= 0 else CallKind.PLAIN
    return (kind, name.decode("utf-8", "replace"), len(name))


def _opening(call: Node) -> int:
    """Return where the arguments of a call start."""
    arguments = call.child_by_field_name("arguments")
    return call.end_byte - 1 if arguments is None else arguments.start_byte


def _irregular_call(source: bytes, altered: bytes, span: tuple[int, int, int]) -> RawCall:
    """Make a call whose callee does not end in its name: macro, white space, generics, closure."""
    start, end, opening = span
    callee = altered[start:opening].rstrip()
    name = callee.rpartition(b".")[2].rpartition(b":")[2].lstrip()
    callee_end = start + len(callee)
    name_start = callee_end - len(name)
    is_tried = _tried(source, end)
    if not _is_identifier(name):
        generic = _GENERIC_CALLEE.search(callee)
        if generic is None:
            return (start, opening, CallKind.OTHER, "", end, start, is_tried)
        name = generic[1]
        name_start = start + generic.start(1)
    kind: str
    if source[callee_end : callee_end + 1] == b"!":
        kind = CallKind.MACRO
    elif name_start == start:
        kind = CallKind.PLAIN
    else:
        before = altered[start:name_start].rstrip()[-1:]
        kind = CallKind.METHOD if before == b"." else CallKind.PATH
    return (start, opening, kind, name.decode("utf-8", "replace"), end, name_start, is_tried)


def _kept_macros(source: bytes, text: Parsed) -> list[RawCall]:
    """Return the macro invocations whose arguments are no expressions, as calls."""
    found: list[RawCall] = []
    for node in text.nodes("macro_invocation"):
        macro = node.child_by_field_name("macro")
        tree = node.child(node.child_count - 1)
        if macro is None or tree is None:
            continue
        name = source[macro.start_byte : macro.end_byte].rpartition(b":")[2]
        start, end = node.byte_range
        shown = name.decode("utf-8", "replace")
        name_start = macro.end_byte - len(name)
        found.append((start, tree.start_byte, CallKind.MACRO, shown, end, name_start, _tried(source, end)))
    return found


def _is_identifier(name: bytes) -> bool:
    return bool(name) and name.replace(b"_", b"a").isalnum() and not name[:1].isdigit()


def _tried(source: bytes, end: int) -> bool:
    following = source[end : end + 1]
    if following == b"?":
        return True
    if following and not following.isspace():
        return False
    blank = _BLANK.match(source, end)
    return blank is not None and source[blank.end() : blank.end() + 1] == b"?"


def _exits(text: Parsed) -> list[RawExit]:
    return [
        (*node.byte_range, kind)
        for kind in (ExitKind.RETURN, ExitKind.BREAK, ExitKind.CONTINUE)
        for node in text.nodes(kind)
    ]


def _span(node: Node | None) -> tuple[int, int]:
    return (0, 0) if node is None else node.byte_range


def _region(
    kind: str,
    body: Node,
    condition: tuple[int, int],
    pattern: tuple[int, int],
    group: tuple[int, int],
) -> Region:
    return _new(Region, (kind, 0, *body.byte_range, *condition, *pattern, *group, *tail_of(body)))


def _add_let(node: Node, lets: list[RawLet], regions: list[Region]) -> None:
    pattern = _span(node.child_by_field_name("pattern"))
    value = _span(node.child_by_field_name("value"))
    span = node.byte_range
    lets.append((*span, *pattern, *value))
    # An alternative stands behind the value; without one the value is last but for the semicolon.
    alternative = node.child_by_field_name("alternative") if value[1] + 1 < span[1] else None
    if alternative is not None:
        regions.append(_region(RegionKind.LET_ELSE, alternative, value, pattern, span))


def _add_if(node: Node, regions: list[Region]) -> None:
    condition = _span(node.child_by_field_name("condition"))
    group = node.byte_range
    then = node.child_by_field_name("consequence")
    if then is not None:
        regions.append(_region(RegionKind.THEN, then, condition, (0, 0), group))
    alternative = node.child_by_field_name("alternative")
    body = alternative.named_child(alternative.named_child_count - 1) if alternative is not None else None
    if body is not None:
        regions.append(_region(RegionKind.ELSE, body, condition, (0, 0), group))


def _add_match(node: Node, regions: list[Region]) -> None:
    condition = _span(node.child_by_field_name("value"))
    group = node.byte_range
    block = node.child_by_field_name("body")
    for arm in block.named_children if block is not None else []:
        value = arm.child_by_field_name("value") if arm.type == "match_arm" else None
        if value is not None:
            pattern = _span(arm.child_by_field_name("pattern"))
            regions.append(_region(RegionKind.ARM, value, condition, pattern, group))


def _add_loop_or_closure(node: Node, regions: list[Region], *, is_closure: bool) -> None:
    body = node.child_by_field_name("body")
    if body is None:
        return
    if is_closure:
        kind, condition = RegionKind.CLOSURE, (0, 0)
        pattern = _span(node.child_by_field_name("parameters"))
    else:
        kind = RegionKind.LOOP
        condition = _span(node.child_by_field_name("condition") or node.child_by_field_name("value"))
        pattern = _span(node.child_by_field_name("pattern"))
    regions.append(_region(kind, body, condition, pattern, node.byte_range))
