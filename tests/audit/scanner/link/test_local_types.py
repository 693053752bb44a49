"""The types of locals, parameters, fields and elements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scanner.link.resolve import Resolver
from tests.audit.scanner.workspace_fixture import function_named, linked

_BEFORE = st.from_regex(r"[&*]{0,2}(mut )?[( ]{0,3}", fullmatch=True)
_NAME = st.from_regex(r"[a-z]{2}[a-z0-9_]{0,6}", fullmatch=True)


def types_in(body: str, parameters: str = "") -> dict[str, str]:
    workspace = linked({"src/a.rs": f"fn f({parameters}) {{ {body} }}"})
    return Resolver(workspace).types(function_named(workspace, "f"))


@pytest.mark.parametrize(
    "body",
    [
        "let x: Tensor = make();",
        "let x:Tensor=make();",
        "let mut x: Option<Arc<Tensor>> = make();",
        "let x = Tensor::new(1);",
        "let x = core::Tensor { size: 1 };",
        "if let Some(x) = given { }",
        "if let Some(ref x) = given.as_ref() { }",
        "match given { Some(x) => work(x), None => {} }",
        "let Some(x) = given else { return; };",
        "for x in &all { work(x); }",
        "for (i, x) in all.iter().enumerate() { work(x); }",
    ],
)
def test_the_type_of_a_local_is_told_by_what_it_is_bound_to(body: str) -> None:
    assert types_in(body, "given: Option<Tensor>, all: Vec<Tensor>")["x"] == "Tensor"


@pytest.mark.parametrize(
    "body",
    [
        "let x = make();",
        "let x = Some(Tensor);",
        "let x = Some(Tensor::new(1));",
        "let (x, y) = Tensor::pair();",
        f"let x = make({'1, ' * 60}Tensor {{ size: 1 }});",
        "if given.is_some() { }",
        "while let Some(x) = all.pop() { }",
    ],
)
def test_the_type_of_a_local_is_not_guessed(body: str) -> None:
    assert "x" not in types_in(body, "given: Option<Tensor>, all: Vec<Tensor>")


@given(name=_NAME, before=_BEFORE, after=st.text(alphabet=" ()", max_size=3))
def test_what_stands_around_a_receiver_does_not_hide_its_type(name: str, before: str, after: str) -> None:
    workspace = linked({"src/a.rs": "fn f(left: Tensor) {}"})
    resolver, function = Resolver(workspace), function_named(workspace, "f")
    assert resolver.type_of(function, f"{before}left{after}") == "Tensor"
    assert resolver.type_of(function, f"{before}{name}{after}") == ("Tensor" if name == "left" else "")


def test_a_field_and_an_element_have_the_types_that_are_declared() -> None:
    workspace = linked(
        {
            "src/a.rs": """
                struct Layer { weight: Option<Tensor>, parts: Vec<Layer> }
                impl Layer { fn f(&self, other: Layer, all: &[Tensor]) {} }
            """
        }
    )
    resolver, function = Resolver(workspace), function_named(workspace, "f")
    assert resolver.type_of(function, "self") == "Layer"
    assert resolver.type_of(function, "self.weight") == "Tensor"
    assert resolver.type_of(function, "other\n    .weight") == "Tensor"
    assert resolver.type_of(function, "self.parts[0]") == "Layer"
    assert resolver.type_of(function, "&all[i + 1]") == "Tensor"
    assert resolver.type_of(function, "self.parts[0].weight") == ""
