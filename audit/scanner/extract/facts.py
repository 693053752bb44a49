"""What one Rust file says, free of any vocabulary: spans and structure, never opinions.

Facts are a pure function of the bytes of a file. They hold byte offsets into these bytes, so the text of
anything is sliced when it is asked for. Everything is a named tuple: immutable, small, made in C, and written
by the JSON encoder as it is. Kinds are plain strings.
"""

from __future__ import annotations

from typing import Final, NamedTuple

EXTRACTOR_VERSION = 4


class CallKind:
    """How a callee is written."""

    METHOD: Final = "m"
    PATH: Final = "p"
    PLAIN: Final = "n"
    MACRO: Final = "x"
    OTHER: Final = "o"


class RegionKind:
    """What a part of a function body runs under."""

    BODY: Final = "body"
    THEN: Final = "then"
    ELSE: Final = "else"
    ARM: Final = "arm"
    LET_ELSE: Final = "let-else"
    LOOP: Final = "loop"
    CLOSURE: Final = "closure"


class ExitKind:
    """How control leaves a region."""

    RETURN: Final = "return"
    BREAK: Final = "break"
    CONTINUE: Final = "continue"


class ScopeKind:
    """What encloses an item."""

    MODULE: Final = "mod"
    IMPL: Final = "impl"
    TRAIT: Final = "trait"


class Region(NamedTuple):
    """A part of a function body that runs under a condition, repeatedly or later.

    `parent` indexes the function's regions (the body is 0, its own parent). `condition` is the if's
    condition, the match's or let-else's value, what a loop runs over; `pattern` the arm's, let's or loop's
    pattern, or a closure's parameters. `group` is the span of the whole if, match or let. `tail` is the
    value expression of the region, empty when it ends in a statement.
    """

    kind: str
    parent: int
    start: int
    end: int
    condition_start: int
    condition_end: int
    pattern_start: int
    pattern_end: int
    group_start: int
    group_end: int
    tail_start: int
    tail_end: int


class Call(NamedTuple):
    """A call of a function, method or macro. Its receiver or path is `start:name_start`."""

    kind: str
    name: str
    start: int
    end: int
    name_start: int
    arguments_start: int
    region: int
    is_tried: bool


class Exit(NamedTuple):
    """A `return`, `break` or `continue`, with the span of the whole expression."""

    kind: str
    start: int
    end: int
    region: int


class Let(NamedTuple):
    """A `let`; the value's span is empty when there is none."""

    start: int
    end: int
    pattern_start: int
    pattern_end: int
    value_start: int
    value_end: int
    region: int


class Parameter(NamedTuple):
    """A parameter: pattern and type as written; `self` has the type as written or none."""

    name: str
    type: str


class Scope(NamedTuple):
    """A module, impl block or trait. `name` is the module's, the type's or the trait's.

    `trait` is the implemented trait, `attributes` those of the item, `parent` an index of the file's scopes
    or -1. A module without a body has an empty body span.
    """

    kind: str
    name: str
    trait: str
    header: str
    parent: int
    start: int
    end: int
    body_start: int
    body_end: int
    attributes: tuple[str, ...]
    visibility: str


class Function(NamedTuple):
    """A function, with everything that happens in its body in source order.

    `scope` indexes the file's scopes, or is -1; `outer` is the function that it is nested in, or -1. `macro`
    names the macro whose definition holds it; `has_spliced_name` then tells that its name is a fragment.
    """

    name: str
    start: int
    end: int
    name_start: int
    body_start: int
    body_end: int
    scope: int
    outer: int
    visibility: str
    qualifiers: str
    generics: str
    parameters: tuple[Parameter, ...]
    return_type: str
    attributes: tuple[str, ...]
    doc_start: int
    macro: str
    has_spliced_name: bool
    regions: tuple[Region, ...]
    calls: tuple[Call, ...]
    exits: tuple[Exit, ...]
    lets: tuple[Let, ...]


class Item(NamedTuple):
    """A struct, enum, const or static. For const and static the value's span is `value_start:end`."""

    kind: str
    name: str
    start: int
    end: int
    value_start: int
    scope: int
    visibility: str
    attributes: tuple[str, ...]


class Use(NamedTuple):
    """A `use` declaration: its argument as written, without line breaks."""

    argument: str
    start: int
    end: int
    scope: int
    visibility: str


class MacroDefinition(NamedTuple):
    """A `macro_rules!` definition."""

    name: str
    start: int
    end: int
    scope: int
    attributes: tuple[str, ...]


class FileFacts(NamedTuple):
    """Everything extracted from one file.

    `calls` are those outside any function (macro invocations at item level, initialisers). `inner_attributes`
    are the file's `#![..]`. `errors` are the spans the grammar could not parse.
    """

    version: int
    line_count: int
    inner_attributes: tuple[str, ...]
    scopes: tuple[Scope, ...]
    functions: tuple[Function, ...]
    items: tuple[Item, ...]
    uses: tuple[Use, ...]
    macros: tuple[MacroDefinition, ...]
    calls: tuple[Call, ...]
    strings: tuple[tuple[int, int], ...]
    comments: tuple[tuple[int, int], ...]
    errors: tuple[tuple[int, int], ...]


NO_FACTS: Final = FileFacts(EXTRACTOR_VERSION, 0, (), (), (), (), (), (), (), (), (), ())
