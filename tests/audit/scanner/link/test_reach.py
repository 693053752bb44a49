"""Reach: which functions the tests that open a device run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from audit.scanner.extract import extract
from audit.scanner.link.cargo import parse_packages
from audit.scanner.link.reach import Reach
from audit.scanner.link.resolve import Resolver
from audit.scanner.link.summaries import Summaries
from audit.scanner.link.unit import Unit
from audit.scanner.link.workspace import Workspace
from audit.scanner.profile import load_profile

OPEN = 'let d = GpuDevice::new(0).expect("a device");'


def _reach(files: Mapping[str, str]) -> Reach:
    crates = {path.split("/")[0] for path in files}
    manifests = {f"{name}/Cargo.toml": _manifest(name, crates - {name}) for name in crates}
    packages, bad = parse_packages(manifests)
    assert bad == {}
    units = [Unit(path, path, text.encode(), extract(text.encode())) for path, text in files.items()]
    workspace = Workspace(units, packages)
    return Reach(Summaries(workspace, Resolver(workspace), load_profile()))


def _manifest(name: str, others: set[str]) -> bytes:
    dependencies = "".join(f'{other} = {{ path = "../{other}" }}\n' for other in sorted(others))
    return f'[package]\nname = "{name}"\n[dependencies]\n{dependencies}'.encode()


def _tested(files: Mapping[str, str]) -> set[str]:
    reach = _reach(files)
    functions = reach.functions
    return {functions[index].symbol for index in reach.tested if not functions[index].is_test}


def test_a_test_that_opens_no_device_reaches_nothing() -> None:
    assert _tested({"a/src/lib.rs": "fn f() {}\n#[test] fn t() { f(); }"}) == set()


def test_a_device_that_a_helper_opens_counts_as_the_tests_own() -> None:
    source = f"fn f() {{}}\nfn setup() {{ {OPEN} }}\n#[test] fn t() {{ setup(); f(); }}"
    assert _tested({"a/src/lib.rs": source}) == {"a::f", "a::setup"}


@pytest.mark.parametrize("attribute", ["#[ignore]", '#[ignore = "slow"]', '#[cfg(feature = "no-such")]'])
def test_a_test_that_does_not_run_by_itself_reaches_nothing(attribute: str) -> None:
    source = f"fn f() {{}}\n#[test]\n{attribute}\nfn t() {{ {OPEN} f(); }}"
    assert _tested({"a/src/lib.rs": source}) == set()


def test_a_method_is_found_by_the_return_type_of_what_made_its_receiver() -> None:
    source = f"""
    struct A; struct B;
    impl A {{ fn run(&self) {{}} }}
    impl B {{ fn run(&self) {{}} }}
    fn make() -> Result<B, Error> {{ todo() }}
    #[test] fn t() {{ {OPEN} let b = make().unwrap(); b.run(); }}
    """
    assert _tested({"a/src/lib.rs": source}) == {"a::make", "a::B::run"}


def test_a_method_that_several_types_have_is_not_followed_on_a_receiver_of_unknown_type() -> None:
    source = f"""
    struct A; struct B;
    impl A {{ fn run(&self) {{}} }}
    impl B {{ fn run(&self) {{}} }}
    #[test] fn t() {{ {OPEN} elsewhere::make().run(); }}
    """
    assert _tested({"a/src/lib.rs": source}) == set()


def test_a_backward_pass_is_reached_only_where_its_node_is_built_and_gradients_are_asked_for() -> None:
    library = """
    pub struct SinBackward; pub struct CosBackward;
    impl GradFn<f32> for SinBackward { fn backward(&self, g: &Tensor) {} }
    impl GradFn<f32> for CosBackward { fn backward(&self, g: &Tensor) {} }
    pub fn sin(x: &Tensor) -> Tensor { node(SinBackward) }
    pub fn cos(x: &Tensor) -> Tensor { node(CosBackward) }
    """
    tests = f"""
    use a::{{sin, cos}};
    #[test] fn s() {{ {OPEN} sin(&x).backward(); }}
    #[test] fn c() {{ {OPEN} cos(&x); }}
    """
    assert _tested({"a/src/lib.rs": library, "a/tests/t.rs": tests}) == {
        "a::sin",
        "a::cos",
        "a::SinBackward::backward",
    }


@pytest.mark.parametrize(("condition", "is_reached"), [("!=", False), ("==", True)])
def test_a_branch_for_operands_of_different_shapes_is_not_reached(condition: str, is_reached: bool) -> None:
    source = f"""
    fn special() {{}}
    fn add(a: &Tensor, b: &Tensor) {{ if a.shape() {condition} b.shape() {{ special(); }} }}
    #[test] fn t() {{ {OPEN} add(&x, &x); }}
    """
    assert ("a::special" in _tested({"a/src/lib.rs": source})) == is_reached


def test_a_crate_that_offers_another_one_under_its_own_name_is_looked_through() -> None:
    files = {
        "inner/src/lib.rs": "pub mod ops;",
        "inner/src/ops.rs": "pub fn relu() {}",
        "facade/src/lib.rs": "pub use inner as c;",
        "facade/tests/t.rs": f"use facade::c::ops;\n#[test] fn t() {{ {OPEN} ops::relu(); }}",
    }
    assert _tested(files) == {"inner::ops::relu"}


def test_functions_made_by_macros_are_reached_by_the_name_they_get() -> None:
    source = f"""
    macro_rules! made {{ ($name:ident, $run:path) => {{ pub fn $name() {{ $run(); }} }}; }}
    fn run_exp() {{}}
    fn run_log() {{}}
    made!(exp, run_exp);
    made!(log, run_log);
    #[test] fn t() {{ {OPEN} exp(); }}
    """
    reach = _reach({"a/src/lib.rs": source})
    assert reach.tested_made == {"exp"}
    names = {reach.functions[index].name for index in reach.tested}
    assert "run_exp" in names
    assert "run_log" not in names
