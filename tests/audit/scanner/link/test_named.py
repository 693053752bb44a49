"""The functions of one name."""

from __future__ import annotations

from audit.scanner.link.named import Named
from tests.audit.scanner.workspace_fixture import linked


def test_methods_are_found_by_their_type_and_by_their_trait() -> None:
    workspace = linked(
        {
            "src/a.rs": """
                trait Module { fn step(&self); }
                impl Module for Layer { fn step(&self) {} }
                impl Model { fn step(&self, size: usize) {} }
                fn step() {}
            """
        }
    )
    named = Named("step", workspace.by_name["step"])
    assert [one.self_type for one in named.methods] == ["Module", "Layer", "Model"]
    assert [one.self_type for one in named.of_type["Module"]] == ["Module", "Layer"]
    assert [one.self_type for one in named.own["Module"]] == ["Module"]
    assert [one.self_type for one in named.taking(1)] == ["Model"]
    assert [one.self_type for one in named.taking(0)] == ["Layer"]
    assert len(named.free) == 1


def test_the_functions_that_a_macro_names_come_in_the_order_of_the_tree() -> None:
    workspace = linked(
        {
            "src/a.rs": "macro_rules! make { ($name:ident) => { fn $name(x: u8) {} }; }\nmake!(step);",
            "src/b.rs": "fn step() {}",
        }
    )
    assert [one.unit.path for one in workspace.by_name["step"]] == ["src/b.rs", "src/a.rs"]
    assert [one.unit.path for one in Named("step", workspace.by_name["step"]).free] == [
        "src/a.rs",
        "src/b.rs",
    ]
