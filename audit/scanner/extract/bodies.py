"""What happens inside function bodies: regions, calls, exits and lets, shared out to their functions."""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import itemgetter

from tree_sitter import Node

from audit.scanner.extract.facts import Call, CallKind, Exit, ExitKind, Let, Region, RegionKind
from audit.scanner.extract.syntax import Parsed

_GENERIC_CALLEE = re.compile(rb"(\w+)\s*::\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>$")
_BLANK = re.compile(rb"\s*")
_WHITE = frozenset({b" ", b"\n", b"\r", b"\t"})
_COMMENTS = frozenset({"line_comment", "block_comment"})


class Events:
    """All events of a file in source order, each kind in a list of its own with its start offsets."""

    __slots__ = ("_starts", "calls", "exits", "lets", "regions")

    def __init__(self, calls: list[Call], exits: list[Exit], lets: list[Let], regions: list[Region]) -> None:
        self.calls = sorted(calls, key=itemgetter(2, 5))
        self.exits = sorted(exits, key=itemgetter(1))
        self.lets = sorted(lets, key=itemgetter(0))
        # A region that encloses another comes first: by start, then by falling end.
        self.regions = sorted(regions, key=lambda region: (region.start, -region.end))
        self._starts = (
            [call.start for call in self.calls],
            [exit_.start for exit_ in self.exits],
            [let.start for let in self.lets],
            [region.start for region in self.regions],
        )

    def within(
        self, start: int, end: int, holes: list[tuple[int, int]]
    ) -> tuple[list[Call], list[Exit], list[Let], list[Region]]:
        """Return the events in a span, without those in its holes (functions nested in it)."""
        calls, exits, lets, regions = self.calls, self.exits, self.lets, self.regions
        of_call, of_exit, of_let, of_region = self._starts
        calls = calls[bisect_left(of_call, start) : bisect_left(of_call, end)]
        exits = exits[bisect_left(of_exit, start) : bisect_left(of_exit, end)]
        lets = lets[bisect_left(of_let, start) : bisect_left(of_let, end)]
        regions = regions[bisect_left(of_region, start) : bisect_left(of_region, end)]
        if holes:
            calls = [call for call in calls if not _in_holes(call.start, holes)]
            exits = [exit_ for exit_ in exits if not _in_holes(exit_.start, holes)]
            lets = [let for let in lets if not _in_holes(let.start, holes)]
            regions = [region for region in regions if not _in_holes(region.start, holes)]
        return calls, exits, lets, regions

    def outside(self, spans: list[tuple[int, int]]) -> list[Call]:
        """Return the calls in none of the sorted, disjoint spans."""
        found = []
        index = 0
        for call in self.calls:
            while index < len(spans) and spans[index][1] <= call.start:
                index += 1
            if index == len(spans) or call.start < spans[index][0]:
                found.append(call)
        return found


def _in_holes(offset: int, holes: list[tuple[int, int]]) -> bool:
    return any(start <= offset < end for start, end in holes)


def collect_events(source: bytes, parsed: list[Parsed]) -> Events:
    """Collect the events of a file's text and of its overlaid macro bodies."""
    calls: list[Call] = []
    exits: list[Exit] = []
    lets: list[Let] = []
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
                _add_loop_or_closure(node, regions)
    return Events(calls, exits, lets, regions)


def tail_of(body: Node | None) -> tuple[int, int]:
    """Return the span of the value of a block or expression; empty when a block ends in a statement."""
    if body is None:
        return (0, 0)
    if body.type != "block":
        return (body.start_byte, body.end_byte)
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
        return (last.start_byte, last.end_byte)
    return (0, 0)


def place(
    body: tuple[int, int, int, int],
    calls: list[Call],
    exits: list[Exit],
    lets: list[Let],
    regions: list[Region],
) -> tuple[tuple[Region, ...], tuple[Call, ...], tuple[Exit, ...], tuple[Let, ...]]:
    """Nest a function's regions and give each event the innermost one. `body` is its span and its tail's."""
    root = Region(RegionKind.BODY, 0, body[0], body[1], 0, 0, 0, 0, 0, 0, body[2], body[3])
    if not regions:
        return (root,), tuple(calls), tuple(exits), tuple(lets)
    nested = [root]
    stack = [0]
    for region in regions:
        while len(stack) > 1 and nested[stack[-1]].end <= region.start:
            stack.pop()
        nested.append(region._replace(parent=stack[-1]))
        stack.append(len(nested) - 1)
    return (
        tuple(nested),
        tuple(
            call._replace(region=region) if region else call
            for call, region in zip(calls, _innermost(nested, calls, 2), strict=True)
        ),
        tuple(
            exit_._replace(region=region) if region else exit_
            for exit_, region in zip(exits, _innermost(nested, exits, 1), strict=True)
        ),
        tuple(
            let._replace(region=region) for let, region in zip(lets, _innermost(nested, lets, 0), strict=True)
        ),
    )


def _innermost(
    regions: list[Region], events: list[Call] | list[Exit] | list[Let], start_field: int
) -> list[int]:
    """For events in source order, find the index of the innermost region each starts in."""
    found = []
    stack = [0]
    following = 1
    for event in events:
        offset: int = event[start_field]  # type: ignore[assignment]
        while following < len(regions) and regions[following].start <= offset:
            while len(stack) > 1 and regions[stack[-1]].end <= regions[following].start:
                stack.pop()
            stack.append(following)
            following += 1
        while len(stack) > 1 and regions[stack[-1]].end <= offset:
            stack.pop()
        found.append(stack[-1])
    return found


def _calls(source: bytes, text: Parsed) -> list[Call]:
    # An argument list ends where its call ends, and no two calls end at the same byte.
    arguments = {node.end_byte: node.start_byte for node in text.nodes("arguments")}
    names: dict[bytes, str] = {}
    altered = text.text
    found = []
    for node in text.nodes("call"):
        start, end = node.start_byte, node.end_byte
        opening = arguments[end]
        callee = altered[start:opening]
        dot, colon = callee.rfind(b"."), callee.rfind(b":")
        name = callee[max(dot, colon) + 1 :]
        known = names.get(name)
        if known is None:
            if not _is_identifier(name):
                found.append(_irregular_call(source, altered, (start, end, opening)))
                continue
            known = names[name] = name.decode("utf-8", "replace")
        is_plain = dot < 0 and colon < 0
        kind = CallKind.PLAIN if is_plain else CallKind.METHOD if dot > colon else CallKind.PATH
        following = source[end : end + 1]
        is_tried = following == b"?" or (following in _WHITE and _tried(source, end))
        found.append(Call(kind, known, start, end, opening - len(name), opening, 0, is_tried))
    return found


def _irregular_call(source: bytes, altered: bytes, span: tuple[int, int, int]) -> Call:
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
            return Call(CallKind.OTHER, "", start, end, start, opening, 0, is_tried)
        name = generic[1]
        name_start = start + generic.start(1)
    if source[callee_end : callee_end + 1] == b"!":
        kind = CallKind.MACRO
    elif name_start == start:
        kind = CallKind.PLAIN
    else:
        before = altered[start:name_start].rstrip()[-1:]
        kind = CallKind.METHOD if before == b"." else CallKind.PATH
    return Call(kind, name.decode("utf-8", "replace"), start, end, name_start, opening, 0, is_tried)


def _kept_macros(source: bytes, text: Parsed) -> list[Call]:
    """Return the macro invocations whose arguments are no expressions, as calls."""
    found = []
    for node in text.nodes("macro_invocation"):
        macro = node.child_by_field_name("macro")
        tree = node.child(node.child_count - 1)
        if macro is None:
            continue
        name = source[macro.start_byte : macro.end_byte].rpartition(b":")[2]
        start, end = node.start_byte, node.end_byte
        found.append(
            Call(
                CallKind.MACRO,
                name.decode("utf-8", "replace"),
                start,
                end,
                macro.end_byte - len(name),
                tree.start_byte,
                0,
                _tried(source, end),
            )
        )
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


def _exits(text: Parsed) -> list[Exit]:
    return [
        Exit(kind, node.start_byte, node.end_byte, 0)
        for kind in (ExitKind.RETURN, ExitKind.BREAK, ExitKind.CONTINUE)
        for node in text.nodes(kind)
    ]


def _span(node: Node | None) -> tuple[int, int]:
    return (0, 0) if node is None else (node.start_byte, node.end_byte)


def _region(
    kind: str,
    body: Node,
    condition: tuple[int, int],
    pattern: tuple[int, int],
    group: tuple[int, int],
) -> Region:
    return Region(kind, 0, body.start_byte, body.end_byte, *condition, *pattern, *group, *tail_of(body))


def _add_let(node: Node, lets: list[Let], regions: list[Region]) -> None:
    pattern = _span(node.child_by_field_name("pattern"))
    value = _span(node.child_by_field_name("value"))
    start, end = node.start_byte, node.end_byte
    lets.append(Let(start, end, *pattern, *value, 0))
    alternative = node.child_by_field_name("alternative")
    if alternative is not None:
        regions.append(_region(RegionKind.LET_ELSE, alternative, value, pattern, (start, end)))


def _add_if(node: Node, regions: list[Region]) -> None:
    condition = _span(node.child_by_field_name("condition"))
    group = (node.start_byte, node.end_byte)
    then = node.child_by_field_name("consequence")
    if then is not None:
        regions.append(_region(RegionKind.THEN, then, condition, (0, 0), group))
    alternative = node.child_by_field_name("alternative")
    body = alternative.named_child(alternative.named_child_count - 1) if alternative is not None else None
    if body is not None:
        regions.append(_region(RegionKind.ELSE, body, condition, (0, 0), group))


def _add_match(node: Node, regions: list[Region]) -> None:
    condition = _span(node.child_by_field_name("value"))
    group = (node.start_byte, node.end_byte)
    block = node.child_by_field_name("body")
    for arm in block.named_children if block is not None else []:
        value = arm.child_by_field_name("value") if arm.type == "match_arm" else None
        if value is not None:
            pattern = _span(arm.child_by_field_name("pattern"))
            regions.append(_region(RegionKind.ARM, value, condition, pattern, group))


def _add_loop_or_closure(node: Node, regions: list[Region]) -> None:
    body = node.child_by_field_name("body")
    if body is None:
        return
    if node.type == "closure_expression":
        kind, condition = RegionKind.CLOSURE, (0, 0)
        pattern = _span(node.child_by_field_name("parameters"))
    else:
        kind = RegionKind.LOOP
        condition = _span(node.child_by_field_name("condition") or node.child_by_field_name("value"))
        pattern = _span(node.child_by_field_name("pattern"))
    regions.append(_region(kind, body, condition, pattern, (node.start_byte, node.end_byte)))
