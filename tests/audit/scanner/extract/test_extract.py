"""Facts of a file: what they hold, and that they never fail."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.extract import extract
from audit.scanner.extract.facts import CallKind, ExitKind, FileFacts, Function, RegionKind
from audit.scanner.extract.serial import dump_facts, load_facts

RUST = textwrap.dedent(
    """
    #![cfg(feature = "cuda")]
    use std::sync::{Arc, Mutex as Lock};

    /// Adds.
    #[cfg(feature = "cuda")]
    #[inline]
    pub fn add<T: Float>(a: &Tensor<T>, mut b: Vec<(u8, T)>) -> Result<Tensor<T>, Error> {
        let Some(backend) = gpu_backend() else { return Err(Error::Missing) };
        if a.is_cuda() && b.len() > 3 {
            return backend.add_f32(a.handle()?, &b);
        } else if a.is_meta() {
            todo!("later")
        }
        for x in b.iter() { if done(x) { break; } }
        match compile::<T>(a) {
            Ok(kernel) => kernel.launch(),
            Err(_) => crate::host::add(a).map(|t| t.clone()),
        }
    }

    impl<T> Backend for Cuda<T> {
        fn name(&self) -> &str { "cuda" }
    }

    const KERNEL: &str = ".version 7.0";
    """
)


def facts_of(text: str) -> FileFacts:
    return extract(textwrap.dedent(text).encode())


def only_function(text: str) -> Function:
    functions = facts_of(text).functions
    assert len(functions) == 1
    return functions[0]


def test_a_function_has_its_signature_attributes_and_doc() -> None:
    function = extract(RUST.encode()).functions[0]
    assert function.name == "add"
    assert [(one.name, one.type) for one in function.parameters] == [
        ("a", "&Tensor<T>"),
        ("b", "Vec<(u8, T)>"),
    ]
    assert function.return_type == "Result<Tensor<T>, Error>"
    assert function.attributes == ('#[cfg(feature = "cuda")]', "#[inline]")
    assert RUST[function.doc_start :].startswith("/// Adds.")
    assert function.visibility == "pub"


def test_branches_know_their_condition_pattern_and_parent() -> None:
    function = extract(RUST.encode()).functions[0]
    seen = [
        (region.kind, RUST[region.condition_start : region.condition_end], region.parent)
        for region in function.regions
    ]
    assert seen[1] == (RegionKind.LET_ELSE, "gpu_backend()", 0)
    assert seen[2] == (RegionKind.THEN, "a.is_cuda() && b.len() > 3", 0)
    assert (RegionKind.THEN, "a.is_meta()", 3) in seen
    arms = [region for region in function.regions if region.kind == RegionKind.ARM]
    assert [RUST[arm.pattern_start : arm.pattern_end] for arm in arms] == ["Ok(kernel)", "Err(_)"]
    assert [RUST[arm.tail_start : arm.tail_end] for arm in arms] == [
        "kernel.launch()",
        "crate::host::add(a).map(|t| t.clone())",
    ]


def test_calls_have_kind_name_region_and_question_mark() -> None:
    function = extract(RUST.encode()).functions[0]
    calls = {(call.kind, call.name): call for call in function.calls}
    assert calls[CallKind.METHOD, "handle"].is_tried
    assert not calls[CallKind.METHOD, "add_f32"].is_tried
    assert (CallKind.PLAIN, "compile") in calls
    assert (CallKind.MACRO, "todo") in calls
    assert RUST[calls[CallKind.PATH, "add"].start : calls[CallKind.PATH, "add"].name_start] == "crate::host::"
    assert function.regions[calls[CallKind.METHOD, "clone"].region].kind == RegionKind.CLOSURE


def test_exits_stand_in_their_regions() -> None:
    function = extract(RUST.encode()).functions[0]
    kinds = [(exit_.kind, function.regions[exit_.region].kind) for exit_ in function.exits]
    assert kinds == [
        (ExitKind.RETURN, RegionKind.LET_ELSE),
        (ExitKind.RETURN, RegionKind.THEN),
        (ExitKind.BREAK, RegionKind.THEN),
    ]


def test_a_file_has_scopes_uses_items_and_inner_attributes() -> None:
    facts = extract(RUST.encode())
    assert facts.inner_attributes == ('#![cfg(feature = "cuda")]',)
    assert [use.argument for use in facts.uses] == ["std::sync::{Arc, Mutex as Lock}"]
    assert [(scope.name, scope.trait) for scope in facts.scopes] == [("Cuda<T>", "Backend")]
    assert [item.name for item in facts.items] == ["KERNEL"]
    assert facts.functions[1].scope == 0


def test_calls_in_macro_arguments_are_calls() -> None:
    function = only_function(
        """
        fn f(x: &T) {
            assert_eq!(x.cpu()?.len(), 3, "read {}", host(x));
            let v = vec![x.data_vec()?, other()];
            println!("{x:?}");
        }
        """
    )
    names = {call.name for call in function.calls}
    assert {"cpu", "len", "host", "data_vec", "other", "assert_eq", "println"} <= names


def test_arguments_that_are_no_expressions_keep_the_macro_and_what_can_be_read() -> None:
    function = only_function(
        """
        fn f(x: Device) {
            if matches!(x.device(), Device::Cuda(_) | Device::Xpu(_)) { launch(); }
            tracing::warn!(%error, "slow");
        }
        """
    )
    names = {call.name for call in function.calls}
    assert {"matches", "device", "launch", "warn"} <= names


def test_a_macro_body_is_read_at_its_own_offsets() -> None:
    text = """
    macro_rules! unary {
        ($name:ident, $op:path) => {
            pub fn $name(x: &Tensor) -> Result<Tensor> {
                let data = x.data_vec()?;
                $op(data, $(extra),*)
            }
        };
    }
    """
    facts = facts_of(text)
    source = textwrap.dedent(text)
    function = next(one for one in facts.functions if one.has_spliced_name and one.calls)
    assert function.macro == "unary"
    call = next(call for call in function.calls if call.name == "data_vec")
    assert source[call.start : call.end] == "x.data_vec()"


def test_a_nested_function_keeps_its_events_to_itself() -> None:
    facts = facts_of("fn outer() { fn inner() { a(); } b(); }")
    by_name = {function.name: [call.name for call in function.calls] for function in facts.functions}
    assert by_name == {"outer": ["b"], "inner": ["a"]}


def test_what_parses_beside_an_error_is_read_and_the_error_is_named() -> None:
    facts = facts_of("fn good() { a(); }\nfn bad( { ]\nfn also() { b(); }\n")
    assert facts.errors
    assert "good" in {function.name for function in facts.functions}


def test_comments_and_strings_come_in_order() -> None:
    facts = facts_of('// a\nfn f() { "one"; /* b */ "two"; }\n/// c\nfn g() {}\n')
    assert list(facts.comments) == sorted(facts.comments)
    assert len(facts.comments) == 3
    assert list(facts.strings) == sorted(facts.strings)


def test_facts_survive_being_written() -> None:
    facts = extract(RUST.encode())
    assert load_facts(dump_facts(facts)) == facts


def test_deep_nesting_ends() -> None:
    facts = extract(b"fn f() { " + b"(" * 10_000 + b")" * 10_000 + b" }")
    assert facts.line_count == 1


@given(st.binary(max_size=400))
def test_any_bytes_have_facts(data: bytes) -> None:
    facts = extract(data)
    assert load_facts(dump_facts(facts)) == facts


PIECES = [
    "fn f(",
    ") {",
    "}",
    "x.cpu()?",
    "match a {",
    "Err(_) =>",
    "vec![",
    "m!(",
    "]",
    ")",
    ";",
    "$(",
    '"',
    "//",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_broken_rust_has_facts_inside_the_file(pieces: list[str]) -> None:
    data = " ".join(pieces).encode()
    for function in extract(data).functions:
        for call in function.calls:
            assert 0 <= call.start <= call.name_start <= call.arguments_start < call.end <= len(data)
            assert call.region < len(function.regions)
