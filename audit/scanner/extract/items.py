"""Items of a file: scopes, functions, structs, constants, uses, with their attributes and docs."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from audit.scanner.extract.bodies import Events, tail_of
from audit.scanner.extract.facts import Function, Item, MacroDefinition, Parameter, Scope, ScopeKind, Use
from audit.scanner.extract.macros import TokenTree
from audit.scanner.extract.syntax import Parsed

if TYPE_CHECKING:
    from tree_sitter import Node

_BLANK = re.compile(rb"\s*")
_NO_MARK = (1 << 62, 0, False)
_SPACES = re.compile(r"\s+")
# Strings are one token each, so that what they hold splits nothing; `->` and `=>` close no bracket.
_LIST_TOKEN = re.compile(r'r(#*)".*?"\1|"(?:\\.|[^"\\])*"|[-=]>|[(\[{<>}\]),]', re.DOTALL)


class Attachments:
    """Attributes and doc comments, by the offset of the item that they belong to."""

    def __init__(self, source: bytes, parsed: list[Parsed]) -> None:
        marks = sorted(
            [
                (start, end, is_attribute)
                for text in parsed
                for name, is_attribute in (("attribute", True), ("comment", False))
                for start, end in text.spans(name)
            ]
        )
        self._by_item: dict[int, tuple[tuple[str, ...], int]] = {}
        attributes: list[str] = []
        first = -1
        for (start, end, is_attribute), (following, _, _) in zip(marks, [*marks[1:], _NO_MARK], strict=False):
            if first < 0:
                first = start
            if is_attribute:
                attributes.append(_flat(source[start:end]))
            # What comes next carries it on if but blanks lie between; overlaid texts say comments twice.
            between = source[end:following]
            if following < end or (between and not between.isspace()):
                blank = _BLANK.match(source, end)
                self._by_item[blank.end() if blank is not None else end] = (tuple(attributes), first)
                attributes, first = [], -1

    def attributes(self, start: int) -> tuple[str, ...]:
        """Return the attributes of the item that starts here, as written."""
        return self._by_item.get(start, ((), -1))[0]

    def doc_start(self, start: int) -> int:
        """Return where the comments and attributes before the item begin, or the item's own start."""
        first = self._by_item.get(start, ((), -1))[1]
        return start if first < 0 else first


class Scopes:
    """The modules, impls and traits of a file, sorted by start, and what lies in which."""

    def __init__(self, scopes: list[Scope]) -> None:
        ordered = sorted(scopes, key=attrgetter("start"))
        self._starts = [scope.start for scope in ordered]
        self.all: list[Scope] = []
        for scope in ordered:
            self.all.append(scope._replace(parent=self.index_at(scope.start, before=True)))

    def index_at(self, offset: int, *, before: bool = False) -> int:
        """Return the innermost scope whose body holds the offset, or -1."""
        index = bisect_right(self._starts, offset) - 1
        if before:
            index = min(index, len(self.all)) - (1 if index >= len(self.all) else 0)
        while index >= 0 and not self.all[index].body_start <= offset < self.all[index].body_end:
            index = self.all[index].parent
        return index


def collect_scopes(source: bytes, parsed: list[Parsed], attached: Attachments) -> Scopes:
    """Collect the modules, impl blocks and traits."""
    found = []
    for text in parsed:
        for kind in (ScopeKind.MODULE, ScopeKind.IMPL, ScopeKind.TRAIT):
            for node in text.nodes(kind):
                body = node.child_by_field_name("body")
                name = node.child_by_field_name("type" if kind == ScopeKind.IMPL else "name")
                end = node.end_byte if body is None else body.start_byte
                found.append(
                    Scope(
                        kind,
                        _text(source, name),
                        _text(source, node.child_by_field_name("trait")),
                        _flat(source[node.start_byte : end]),
                        -1,
                        node.start_byte,
                        node.end_byte,
                        body.start_byte if body is not None else 0,
                        body.end_byte if body is not None else 0,
                        attached.attributes(node.start_byte),
                        _visibility(source, node),
                    )
                )
    return Scopes(found)


def collect_functions(
    source: bytes,
    parsed: list[Parsed],
    attached: Attachments,
    scopes: Scopes,
    events: Events,
    wrapped: dict[int, TokenTree],
) -> tuple[Function, ...]:
    """Collect the functions with their bodies; bodies of expression macros count as functions."""
    nodes: list[tuple[Node, str, bool]] = []
    for text in parsed:
        for node in text.nodes("function"):
            body = node.child_by_field_name("body")
            tree = wrapped.get(body.start_byte) if body is not None and text is not parsed[0] else None
            if tree is None:
                nodes.append((node, "", False))
            elif tree.is_definition:
                nodes.append((node, tree.macro, True))
    nodes.sort(key=lambda entry: (entry[0].start_byte, -entry[0].end_byte))
    definitions = sorted(
        (tree.start, tree.end, tree.macro) for tree in wrapped.values() if tree.is_definition
    )
    outers, holes = _nesting(nodes)
    functions = []
    for index, (node, macro, is_wrapper) in enumerate(nodes):
        macro = macro or _macro_at(definitions, node.start_byte)
        functions.append(
            _function(source, node, macro, is_wrapper, outers[index], holes[index], attached, scopes, events)
        )
    return tuple(functions)


def collect_items(
    source: bytes, parsed: list[Parsed], attached: Attachments, scopes: Scopes
) -> tuple[Item, ...]:
    """Collect the structs, enums, constants and statics."""
    found = []
    for text in parsed:
        for kind in ("struct", "enum", "const", "static"):
            for node in text.nodes(kind):
                value = node.child_by_field_name("value")
                found.append(
                    Item(
                        kind,
                        _text(source, node.child_by_field_name("name")),
                        node.start_byte,
                        node.end_byte,
                        value.start_byte if value is not None else node.end_byte,
                        scopes.index_at(node.start_byte),
                        _visibility(source, node),
                        attached.attributes(node.start_byte),
                    )
                )
    return tuple(sorted(found, key=attrgetter("start")))


def collect_uses(source: bytes, parsed: Parsed, scopes: Scopes) -> tuple[Use, ...]:
    """Collect the use declarations."""
    return tuple(
        Use(
            _text(source, node.child_by_field_name("argument")),
            node.start_byte,
            node.end_byte,
            scopes.index_at(node.start_byte),
            _visibility(source, node),
        )
        for node in parsed.ordered("use")
    )


def collect_macros(
    source: bytes, parsed: Parsed, attached: Attachments, scopes: Scopes
) -> tuple[MacroDefinition, ...]:
    """Collect the macro_rules definitions."""
    return tuple(
        MacroDefinition(
            _text(source, node.child_by_field_name("name")),
            node.start_byte,
            node.end_byte,
            scopes.index_at(node.start_byte),
            attached.attributes(node.start_byte),
        )
        for node in parsed.ordered("macro_definition")
    )


def split_list(text: str) -> list[str]:
    """Split at the commas that are in no bracket and in no string."""
    parts = []
    depth = 0
    start = 0
    for token in _LIST_TOKEN.finditer(text):
        char = token[0]
        if char in "([{<":
            depth += 1
        elif char in (")", "]", "}", ">"):
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start : token.start()].strip())
            start = token.end()
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _function(
    source: bytes,
    node: Node,
    macro: str,
    is_wrapper: bool,
    outer: int,
    holes: list[tuple[int, int]],
    attached: Attachments,
    scopes: Scopes,
    events: Events,
) -> Function:
    start = node.start_byte
    name = node.child_by_field_name("name")
    parameters = node.child_by_field_name("parameters")
    body = node.child_by_field_name("body")
    name_start, name_end = name.byte_range if name is not None else (start, start)
    end = node.end_byte
    span = body.byte_range if body is not None else (0, 0)
    # Most functions have no generics, and many no answer: a child that can't be there is not asked for.
    first, last = parameters.byte_range if parameters is not None else (end, start)
    has_generics = source.find(b"<", name_end, first) >= 0
    has_answer = source.find(b"->", last, span[0] or end) >= 0
    regions, calls, exits, lets = events.within(span, tail_of(body), holes)
    prefix = source[start:name_start].decode("utf-8", "replace")
    return Function(
        macro if is_wrapper else _text(source, name),
        start,
        end,
        name_start,
        *span,
        scopes.index_at(start),
        outer,
        _visibility(source, node),
        "" if is_wrapper else _qualifiers(prefix),
        _text(source, node.child_by_field_name("type_parameters")) if has_generics else "",
        () if is_wrapper else _parameters(_text(source, parameters)),
        _text(source, node.child_by_field_name("return_type")) if has_answer else "",
        attached.attributes(start),
        attached.doc_start(start),
        macro,
        bool(macro) and (is_wrapper or source[name_start - 1 : name_start] == b"$"),
        regions,
        calls,
        exits,
        lets,
    )


def _nesting(nodes: list[tuple[Node, str, bool]]) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """For functions sorted by start, find which is nested in which."""
    outers: list[int] = []
    holes: list[list[tuple[int, int]]] = [[] for _ in nodes]
    stack: list[tuple[int, int]] = []
    for index, (node, _, _) in enumerate(nodes):
        start, end = node.start_byte, node.end_byte
        while stack and stack[-1][1] <= start:
            stack.pop()
        outers.append(stack[-1][0] if stack else -1)
        if stack:
            holes[stack[-1][0]].append((start, end))
        stack.append((index, end))
    return outers, holes


def _macro_at(definitions: list[tuple[int, int, str]], offset: int) -> str:
    for start, end, macro in definitions:
        if start <= offset < end:
            return macro
    return ""


@lru_cache(maxsize=4096)
def _parameters(text: str) -> tuple[Parameter, ...]:
    inner = text[1:-1].strip()
    if not inner:
        return ()
    found = []
    for part in split_list(inner):
        bare = re.sub(r"^(?:#\[[^\]]*\]\s*)+", "", part) if part.startswith("#") else part
        name, colon, type_ = bare.partition(":")
        if colon and not type_.startswith(":"):
            found.append(Parameter(name.strip().removeprefix("mut ").strip(), type_.strip()))
        else:
            found.append(Parameter("self" if bare.endswith("self") else bare, bare))
    return tuple(found)


@lru_cache(maxsize=4096)
def _qualifiers(prefix: str) -> str:
    return " ".join(word for word in re.findall(r"\b(?:const|async|unsafe|extern)\b", prefix))


def _visibility(source: bytes, node: Node) -> str:
    if source[node.start_byte : node.start_byte + 3] != b"pub":
        return ""
    first = node.named_child(0)
    return _text(source, first) if node.named_child_count and first.type == "visibility_modifier" else "pub"


def _text(source: bytes, node: Node | None) -> str:
    return "" if node is None else _flat(source[node.start_byte : node.end_byte])


def _flat(text: bytes) -> str:
    decoded = text.decode("utf-8", "replace")
    return _SPACES.sub(" ", decoded) if "\n" in decoded else decoded
