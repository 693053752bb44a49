"""Calls: where each one's arguments start, told by the text and compared with the tree."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Node

from audit.scanner.extract import extract
from audit.scanner.extract.syntax import parse

REPOSITORY = Path(__file__).parents[4]
SAMPLES = sorted(Path(REPOSITORY, "tests/samples").rglob("*.rs"))

BLANKS = ["", "", "", " ", "\n", "\r\n", " /* ( */ ", " // )(\n"]
HEADS = [
    *(
        "a",
        "a::b",
        "::c",
        "r#fn",
        "self.d",
        "Self::e",
        "größe",
        "f::<fn(A) -> B>",
        "<T as U>::g",
        "if_",
        "a.r#match",
    ),
    *(
        '"(".h',
        "')'.i",
        'b"\\"(".j',
        'r#"(""#.k',
        "1.max",
        "2.0.min",
        "x.0.1",
        "[0; 4]",
        "{ l }",
        "async { m }",
    ),
    *(
        "unsafe { n }",
        "vec![o(p)]",
        "q!(r)",
        "s! { (t) }",
        "return",
        "break",
        "matches!(x, Some(_))",
        "loop { break }",
    ),
]
LINKS = [
    "{}.a",
    "{}.await",
    "{}?",
    "{}[0]",
    "{}.b::<(C, D)>",
    "({})",
    "({} as fn(E))",
    "({}.f)",
    "{}.0",
    "{} .g",
    "{}. h",
]
AROUND = [
    *(
        "if {} {{ i }} else {{ j }}",
        "match {} {{ k(_) => l(m), _ => n }}",
        "while {} {{}}",
        "for A(_) in {} {{}}",
    ),
    *(
        "if let B(o) = {} {{ p }}",
        "|q| {}",
        "move || {{ {} }}",
        "async move {{ {} }}",
        "&{}",
        "-{}",
        "{} as r",
        "{} + s(t)",
    ),
    *(
        "..{}",
        "{}..u(v)",
        "if{}{{}}",
        "match{}{{}}",
        "return {}",
        "S {{ w: {} }}",
        "m!({})",
        "'x: loop {{ break 'x {} }}",
    ),
]


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    blank = st.sampled_from(BLANKS)
    return st.one_of(
        st.builds(str.format, st.sampled_from([*LINKS, *AROUND]), inner),
        st.builds("{}{}({}{})".format, inner, blank, blank, inner),
        st.builds("{}{}({})".format, inner, blank, blank),
        st.builds("{}{}.{}z({})".format, inner, blank, blank, inner),
    )


EXPRESSIONS = st.recursive(st.sampled_from(HEADS), _grown, max_leaves=8)


def _in_tree(source: bytes) -> set[tuple[int, int, int]]:
    found = set()
    left: list[Node] = [parse(source).root]
    while left:
        node = left.pop()
        left += node.children
        if node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            assert arguments is not None
            found.add((node.start_byte, arguments.start_byte, node.end_byte))
    return found


def _extracted(source: bytes) -> set[tuple[int, int, int]]:
    facts = extract(source)
    calls = [*facts.calls, *(call for function in facts.functions for call in function.calls)]
    return {(call.start, call.arguments_start, call.end) for call in calls}


def test_the_arguments_of_a_call_start_at_its_own_parenthesis() -> None:
    text = """
        fn f() {
            let x = if a.b(c) { d } else { e }.g(h);
            let y = match(i) { _ => j }.k(l)?.m(n);
            o(p)(q);
            r::<fn(S)>(t).u [0] .v::<(W, X)>(y);
            (z)(aa).bb . cc(dd) ? . ee(ff);
            gg!(hh).ii(jj);
            kk::ll /* (mm) */ (nn);
            let z = match ::oo(pp) { _ => qq }.rr(ss);
        }
    """
    found = {
        (call.name, text[call.arguments_start : call.end])
        for call in extract(text.encode()).functions[0].calls
    }
    assert found == {
        *(("b", "(c)"), ("g", "(h)"), ("k", "(l)"), ("m", "(n)"), ("o", "(p)"), ("", "(q)"), ("r", "(t)")),
        *(("v", "(y)"), ("", "(aa)"), ("cc", "(dd)"), ("ee", "(ff)"), ("gg", "(hh)"), ("ii", "(jj)")),
        *(("", "(nn)"), ("oo", "(pp)"), ("rr", "(ss)")),
    }


def test_a_call_that_is_not_closed_has_its_own_parenthesis_too() -> None:
    text = "fn f() { outer(inner(x) }"
    calls = extract(text.encode()).functions[0].calls
    assert [(call.name, call.arguments_start) for call in calls] == [("outer", 14), ("inner", 20)]


@given(st.lists(EXPRESSIONS, min_size=1, max_size=4))
def test_of_any_expressions_the_arguments_start_where_the_tree_says(expressions: list[str]) -> None:
    source = "fn f() {{ let x = {}; }}".format("; let y = ".join(expressions)).encode()
    assert _in_tree(source) <= _extracted(source)


@given(
    st.lists(
        st.one_of(EXPRESSIONS, st.sampled_from(["(", ")", "{", "}", ";", ".", "if ", "::", "a(", "!", '"'])),
        max_size=9,
    )
)
def test_of_broken_expressions_too(pieces: list[str]) -> None:
    source = "fn f() {{ {} }}".format("".join(pieces)).encode()
    assert _in_tree(source) <= _extracted(source)


def test_in_the_samples_the_arguments_start_where_the_tree_says() -> None:
    sources = [path.read_bytes() for path in SAMPLES]
    assert sum(len(_in_tree(source)) for source in sources) > 100
    for path, source in zip(SAMPLES, sources, strict=True):
        assert _in_tree(source) <= _extracted(source), path
