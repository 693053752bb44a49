"""Extract: from the bytes of one Rust file to its facts."""

from __future__ import annotations

from audit.scanner.extract.bodies import collect_events
from audit.scanner.extract.facts import EXTRACTOR_VERSION, FileFacts
from audit.scanner.extract.items import (
    Attachments,
    collect_functions,
    collect_items,
    collect_macros,
    collect_scopes,
    collect_uses,
)
from audit.scanner.extract.macros import TokenTree
from audit.scanner.extract.syntax import grammar_version, parse, parse_token_trees

__all__ = ["EXTRACTOR_VERSION", "extract", "grammar_version"]


def extract(source: bytes) -> FileFacts:
    """Extract the facts of a file. A pure function: what can't be parsed is listed in `errors`."""
    main = parse(source)
    overlaid = parse_token_trees(source, main)
    wrapped: dict[int, TokenTree] = {}
    texts = [main]
    if overlaid is not None:
        texts.append(overlaid[0])
        wrapped = overlaid[1]
    attached = Attachments(source, texts)
    scopes = collect_scopes(source, texts, attached)
    events = collect_events(source, texts)
    functions = collect_functions(source, texts, attached, scopes, events, wrapped)
    outermost = [(function.start, function.end) for function in functions if function.outer < 0]
    return FileFacts(
        version=EXTRACTOR_VERSION,
        line_count=source.count(b"\n") + (not source.endswith(b"\n") and bool(source)),
        inner_attributes=tuple(
            source[node.start_byte : node.end_byte].decode("utf-8", "replace")
            for node in main.ordered("inner_attribute")
        ),
        scopes=tuple(scopes.all),
        functions=functions,
        items=collect_items(source, texts, attached, scopes),
        uses=collect_uses(source, main, scopes),
        macros=collect_macros(source, main, attached, scopes),
        calls=tuple(events.outside(outermost)),
        strings=tuple(main.spans("string")),
        comments=tuple(main.spans("comment")),
        errors=tuple(main.spans("error")),
    )
