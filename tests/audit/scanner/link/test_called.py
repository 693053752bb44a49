"""The calls of a workspace by the names that they are of."""

from __future__ import annotations

from collections.abc import Mapping

from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.profile import load_profile
from tests.audit.scanner.workspace_fixture import linked, summarised


def called(files: Mapping[str, str], name: str) -> list[tuple[str, str]]:
    pairs = summarised(files).graph.calls_by_name.get(name)
    return [(function.name, call.name) for function, call in pairs]


def test_calls_come_in_the_order_of_the_tree() -> None:
    files = {
        "src/b.rs": "fn third() { work(); }",
        "src/a.rs": "fn first() { work(); }\nfn second() { other(); work(); }",
    }
    assert called(files, "work") == [("first", "work"), ("second", "work"), ("third", "work")]
    assert called(files, "nothing") == []


def test_a_renamed_import_is_called_by_its_real_name_too() -> None:
    files = {
        "src/a.rs": "use crate::b::work as job;\nfn first() { job(); work(); }",
        "src/b.rs": "pub fn work() {}\nfn second() { job(); }",
    }
    assert called(files, "work") == [("first", "job"), ("first", "work"), ("second", "job")]
    assert called(files, "job") == [("first", "job"), ("second", "job")]


def test_a_macro_calls_the_functions_whose_paths_it_is_given() -> None:
    files = {
        "src/a.rs": """
            macro_rules! each { ($one:path, $x:expr) => { $one($x) }; }
            fn first() { each!(ops::work, 1); }
            fn second() { println!("{}", ops::work); }
        """
    }
    assert called(files, "work") == [("first", "each")]


def test_a_call_is_of_the_functions_that_it_is_given() -> None:
    files = {"src/a.rs": "fn first(x: X) { x.map(ops::work); }", "src/ops.rs": "pub fn work() {}"}
    assert called(files, "work") == [("first", "map")]


def test_what_another_file_renames_is_told_anew_of_a_file_that_stands() -> None:
    files = {"src/a.rs": "fn first() { job(); }", "src/b.rs": "pub fn work() {}"}
    before = Summaries(first := linked(files), Resolver(first), load_profile())
    assert list(before.graph.calls_by_name.get("work")) == []
    files["src/b.rs"] = "pub fn work() {}\nuse crate::b::work as job;"
    after = linked(files)
    after.units["src/a.rs"].told |= first.units["src/a.rs"].told
    pairs = Summaries(after, Resolver(after), load_profile()).graph.calls_by_name.get("work")
    assert [call.name for _, call in pairs] == ["job"]
