"""Parse a file and run the queries: the only place that touches tree-sitter.

It is loaded when something is parsed: a scan that knows all facts has no use for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from audit.scanner.extract.macros import TokenTree, open_arguments, overlay

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Point, Query, Range

    Captures = dict[str, list[Node]]


@cache
def grammar_version() -> str:
    """Return the version of the grammar that facts come from."""
    spec = find_spec("tree_sitter_rust")
    package = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    installed = [path.name for path in package.parent.glob(f"{package.name}-*.dist-info")]
    if len(installed) == 1:
        return installed[0].removeprefix(f"{package.name}-").removesuffix(".dist-info")
    # Whoever knows all ways to install takes longer to load than most files take to parse.
    from importlib import metadata

    return metadata.version("tree-sitter-rust")


@cache
def _language() -> Language:
    import tree_sitter_rust
    from tree_sitter import Language

    return Language(tree_sitter_rust.language())


@cache
def _parser() -> Parser:
    from tree_sitter import Parser

    return Parser(_language())


@cache
def _query() -> Query:
    from tree_sitter import Query

    return Query(_language(), Path(__file__).with_name("facts.scm").read_text("utf-8"))


class Parsed:
    """One text with its captures: the binding gives the nodes of a name in no particular order."""

    __slots__ = ("_spans", "captures", "root", "text")

    def __init__(self, text: bytes, ranges: list[Range] | None = None) -> None:
        from tree_sitter import Parser, QueryCursor

        self.text = text
        parser = _parser() if ranges is None else Parser(_language(), included_ranges=ranges)
        self.root = parser.parse(text).root_node
        self.captures: Captures = QueryCursor(_query()).captures(self.root)
        self._spans: dict[str, list[tuple[int, int]]] = {}

    def nodes(self, name: str) -> list[Node]:
        """Return the nodes captured under a name."""
        return self.captures.get(name, [])

    def ordered(self, name: str) -> list[Node]:
        """Return the nodes captured under a name in document order."""
        return sorted(self.nodes(name), key=lambda node: node.start_byte)

    def spans(self, name: str) -> list[tuple[int, int]]:
        """Return the spans captured under a name, in document order."""
        found = self._spans.get(name)
        if found is None:
            found = self._spans[name] = sorted([node.byte_range for node in self.nodes(name)])
        return found


def parse(source: bytes) -> Parsed:
    """Parse a file with macro arguments opened wherever they are expressions."""
    parsed = Parsed(open_arguments(source))
    if not parsed.root.has_error:
        return parsed
    kept = [
        (source.rfind(b"\n", 0, start) + 1, _line_end(source, end))
        for start, end in parsed.spans("error") or [(0, 0)]
    ]
    second = Parsed(open_arguments(source, kept))
    if not second.root.has_error:
        return second
    return min((second, Parsed(source)), key=lambda candidate: len(candidate.nodes("error")))


def parse_token_trees(source: bytes, parsed: Parsed) -> tuple[Parsed, dict[int, TokenTree]] | None:
    """Parse the macro bodies and arguments that are still token trees, at their own offsets."""
    trees = [*_definitions(source, parsed), *_invocations(source, parsed)]
    if not trees:
        return None
    text, wrapped = overlay(parsed.text, trees)
    return Parsed(text, _ranges(text, wrapped.values())), wrapped


def _ranges(text: bytes, trees: Iterable[TokenTree]) -> list[Range]:
    """Return where the overlaid text is not blank: the parser is slow on blanks."""
    from tree_sitter import Range

    spans: list[tuple[int, int]] = []
    for start, end in sorted((tree.wrapper_start, tree.end) for tree in trees):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return [Range(*points, *span) for span, points in zip(spans, _points(text, spans), strict=True)]


def _points(text: bytes, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[Point, Point]]:
    """Yield where sorted spans start and end, by row and column."""
    from tree_sitter import Point

    row = line_start = previous = 0
    for span in spans:
        points = []
        for offset in span:
            row += text.count(b"\n", previous, offset)
            line_start = text.rfind(b"\n", previous, offset) + 1 or line_start
            previous = offset
            points.append(Point(row, offset - line_start))
        yield points[0], points[1]


def _line_end(source: bytes, offset: int) -> int:
    end = source.find(b"\n", offset)
    return len(source) if end < 0 else end


def _definitions(source: bytes, parsed: Parsed) -> list[TokenTree]:
    trees = []
    for node in parsed.ordered("macro_definition"):
        name = node.child_by_field_name("name")
        if name is None:
            continue
        macro = source[name.start_byte : name.end_byte].decode("utf-8", "replace")
        room = name.end_byte
        for rule in node.named_children:
            right = rule.child_by_field_name("right") if rule.type == "macro_rule" else None
            if right is not None:
                trees.append(TokenTree(right.start_byte, right.end_byte, room, macro, True))
                room = right.end_byte
    return trees


def _invocations(source: bytes, parsed: Parsed) -> list[TokenTree]:
    trees = []
    end = 0
    for node in parsed.ordered("macro_invocation"):
        if node.start_byte < end:
            continue
        end = node.end_byte
        tree = node.named_children[-1] if node.named_child_count else None
        if tree is not None and tree.type == "token_tree":
            macro = source[node.start_byte : tree.start_byte].decode("utf-8", "replace").rstrip(" !\n\t")
            trees.append(TokenTree(tree.start_byte, tree.end_byte, node.start_byte, macro, False))
    return trees
