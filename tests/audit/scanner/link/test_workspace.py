"""Packages, modules and names of a linked workspace."""

from __future__ import annotations

from audit.scanner.link.cargo import parse_packages
from audit.scanner.link.cfg import parse_cfg
from audit.scanner.link.resolve import Resolver
from tests.audit.scanner.workspace_fixture import function_named, linked

ROOT = '[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/old"]\n'


def _package(name: str, rest: str = "") -> str:
    return f'[package]\nname = "{name}"\n{rest}'


def test_members_are_found_by_glob_and_exclusion() -> None:
    packages, bad = parse_packages(
        {
            "Cargo.toml": ROOT.encode(),
            "crates/a/Cargo.toml": _package("a").encode(),
            "crates/old/Cargo.toml": _package("old").encode(),
            "crates/a/deep/Cargo.toml": _package("deep").encode(),
            "broken/Cargo.toml": b"[package",
        }
    )
    assert {one.name: one.is_workspace_member for one in packages} == {"a": True, "old": False, "deep": False}
    assert list(bad) == ["broken/Cargo.toml"]


def test_features_include_optional_dependencies_and_the_default_closure() -> None:
    (package,), _ = parse_packages(
        {
            "Cargo.toml": _package(
                "a",
                '[features]\ndefault = ["cuda"]\ncuda = ["fast", "dep:x"]\nfast = []\n'
                "[dependencies]\nx = { optional = true }\ny = { optional = true }\n",
            ).encode()
        }
    )
    assert set(package.features) == {"default", "cuda", "fast", "y"}
    assert package.default_features == {"cuda", "fast"}


def test_modules_follow_paths_inline_modules_and_their_gates() -> None:
    workspace = linked(
        {
            "Cargo.toml": _package("my-core"),
            "src/lib.rs": """
                mod ops;
                #[cfg(feature = "cuda")]
                #[path = "odd.rs"]
                mod gpu;
                mod inline { mod deep; }
                """,
            "src/ops/mod.rs": "mod add;",
            "src/ops/add.rs": "impl Tensor { pub fn add(&self) {} }",
            "src/odd.rs": "pub fn launch_it() {}",
            "src/inline/deep.rs": "fn hidden() {}",
            "src/stray.rs": "fn stray() {}",
        }
    )
    assert function_named(workspace, "add").symbol == "my_core::ops::add::Tensor::add"
    assert function_named(workspace, "hidden").symbol == "my_core::inline::deep::hidden"
    gpu = function_named(workspace, "launch_it")
    assert gpu.symbol == "my_core::gpu::launch_it"
    assert [cfg.requires("feature", frozenset({"cuda"})) for cfg in gpu.cfgs] == [True]
    assert not workspace.units["src/stray.rs"].is_in_module_tree
    assert function_named(workspace, "stray").symbol == "my_core::stray::stray"


def test_tests_are_told_by_attribute_module_and_folder() -> None:
    workspace = linked(
        {
            "Cargo.toml": _package("a"),
            "src/lib.rs": "fn product() {} #[cfg(test)] mod tests { fn helper() {} #[test] fn checks() {} }",
            "tests/it.rs": "fn outside() {}",
            "examples/show.rs": "fn shown() {}",
        }
    )
    kinds = {
        name: function_named(workspace, name) for name in ("product", "helper", "checks", "outside", "shown")
    }
    assert [name for name, one in kinds.items() if one.is_test] == ["checks"]
    assert [name for name, one in kinds.items() if one.is_test_code] == ["helper", "checks", "outside"]
    assert [name for name, one in kinds.items() if one.is_product_code] == ["product"]


def test_a_file_outside_any_package_still_links() -> None:
    workspace = linked({"lone.rs": "fn alone() {}"})
    assert function_named(workspace, "alone").symbol == "lone::alone"


def test_calls_resolve_by_import_type_and_path() -> None:
    workspace = linked(
        {
            "Cargo.toml": '[workspace]\nmembers = ["core", "nn"]\n',
            "core/Cargo.toml": _package("my-core"),
            "core/src/lib.rs": "pub mod ops;\npub struct Tensor;\nimpl Tensor { pub fn shrink(&self) {} }",
            "core/src/ops.rs": "pub fn add() {}\npub fn gone() {}",
            "nn/Cargo.toml": _package("my-nn", "[dependencies]\nmy-core = { path = '../core' }\n"),
            "nn/src/lib.rs": """
                use my_core::ops::{self, add as plus};
                use my_core::Tensor;
                fn add() {}
                fn caller(t: &Tensor, other: &Layer) {
                    plus();
                    ops::gone();
                    t.shrink();
                    other.shrink();
                    add();
                }
                """,
        }
    )
    resolver = Resolver(workspace)
    caller = function_named(workspace, "caller")
    found = [[one.symbol for one in resolver.resolve(caller, call)] for call in caller.facts.calls]
    assert found == [
        ["my_core::ops::add"],
        ["my_core::ops::gone"],
        ["my_core::Tensor::shrink"],
        [],
        ["my_nn::add"],
    ]


def test_loops_and_patterns_bind_the_elements_of_lists_and_the_content_of_options() -> None:
    workspace = linked(
        {
            "Cargo.toml": _package("a"),
            "src/lib.rs": """
                pub struct Fast;
                impl Fast { pub fn run(&self) {} }
                pub struct Slow;
                impl Slow { pub fn run(&self) {} }
                pub struct Stage { pub steps: Vec<Slow> }
                pub struct Net { stages: Vec<Stage>, head: Option<Box<Fast>>, tails: [Fast; 2] }
                impl Net {
                    fn caller(&self, more: &[Fast]) {
                        for stage in &self.stages {
                            for (number, step) in stage.steps.iter().enumerate() { step.run(); }
                        }
                        if let Some(ref head) = self.head { head.run(); }
                        let Some(neck) = self.head.as_ref() else { return };
                        neck.run();
                        self.tails[0].run();
                        for one in more.iter().rev() { one.run(); }
                    }
                }
                """,
        }
    )
    resolver = Resolver(workspace)
    caller = function_named(workspace, "caller")
    found = [
        [one.symbol for one in resolver.resolve(caller, call)]
        for call in caller.facts.calls
        if call.name == "run"
    ]
    fast, slow = ["a::Fast::run"], ["a::Slow::run"]
    assert found == [slow, fast, fast, fast, fast]


def test_a_cfg_twin_that_needs_a_feature_off_is_not_called() -> None:
    workspace = linked(
        {
            "Cargo.toml": _package("a"),
            "src/lib.rs": """
                #[cfg(feature = "cuda")]
                fn run() { launch(); }
                #[cfg(not(feature = "cuda"))]
                fn run() {}
                fn caller() { run(); }
                """,
        }
    )
    caller = function_named(workspace, "caller")
    (found,) = Resolver(workspace).resolve(caller, caller.facts.calls[0])
    assert [call.name for call in found.facts.calls] == ["launch"]


def test_cfg_predicates_tell_what_they_need() -> None:
    gpu = frozenset({"cuda"})
    needed = {
        '#[cfg(feature = "cuda")]': (True, False),
        '#[cfg(all(test, feature = "cuda"))]': (True, False),
        '#[cfg(any(feature = "cuda", feature = "wgpu"))]': (False, False),
        '#[cfg(not(feature = "cuda"))]': (False, True),
        '#[cfg(not(any(feature = "cuda", feature = "wgpu")))]': (False, True),
        '#[cfg(not(all(test, feature = "cuda")))]': (False, False),
    }
    for attribute, expected in needed.items():
        cfg = parse_cfg(attribute)
        assert cfg is not None
        assert (cfg.requires("feature", gpu), cfg.excludes("feature", gpu)) == expected, attribute
