"""Exports: which functions code outside their crate may name."""

from __future__ import annotations

import pytest

from audit.scanner.link.exports import Exports
from tests.audit.scanner.workspace_fixture import function_named, linked

MANIFEST = '[package]\nname = "kernels"\n'


def may_be_named(library: str, **others: str) -> bool:
    """Say whether other crates may name the function `launch`."""
    files = {"Cargo.toml": MANIFEST, "src/lib.rs": library}
    files |= {f"src/{path.replace('__', '/')}.rs": text for path, text in others.items()}
    workspace = linked(files)
    return Exports(workspace).may_be_named(function_named(workspace, "launch"))


@pytest.mark.parametrize(
    "library",
    [
        "pub fn launch() {}",
        "pub mod a { pub mod b { pub fn launch() {} } }",
        "mod a { pub fn launch() {} } pub use a::launch;",
        "mod a { pub fn launch() {} } pub use a::{other, launch as start};",
        "mod a { pub mod b { pub fn launch() {} } } pub use a::*;",
        "mod a { pub mod b { pub fn launch() {} } } pub use a::b;",
        "mod a { pub fn launch() {} } mod c { pub use super::a::*; } pub use c::*;",
        "mod a { pub fn launch() {} } cfg_if::cfg_if! { if #[cfg(unix)] { pub use a::launch; } }",
        "mod a { pub struct K; impl K { pub fn launch(&self) {} } } pub type Kernel = a::K;",
        '#[no_mangle] extern "C" fn launch() {}',
        "impl Run for (u8, u8) { fn launch(&self) {} }",
        "mod a { pub fn launch() {} } pub mod b { pub use super::a::launch; }",
        "pub struct Kernel; impl Kernel { pub fn launch(&self) {} }",
        "pub struct Kernel; impl Run for Kernel { fn launch(&self) {} }",
        "impl Run for other::Kernel { fn launch(&self) {} }",
        "pub trait Run { fn launch(&self) {} }",
        "mod a { pub struct Kernel; impl Kernel { pub fn launch(&self) {} } } pub use a::Kernel;",
        "macro_rules! kernel { () => { fn launch() {} } }",
    ],
)
def test_what_stands_open_or_is_handed_on_may_be_named(library: str) -> None:
    assert may_be_named(library)


@pytest.mark.parametrize(
    "library",
    [
        "fn launch() {}",
        "pub(crate) fn launch() {}",
        "mod a { pub fn launch() {} }",
        "pub mod a { pub(crate) mod b { pub fn launch() {} } }",
        "mod a { pub fn launch() {} } use a::launch;",
        "mod a { pub fn launch() {} } pub(crate) use a::launch;",
        "mod a { pub mod b { pub fn launch() {} } } pub use c::*;",
        "mod a { pub fn launch() {} } mod b { pub use super::a::launch; }",
        "pub fn other() { fn launch() {} }",
        "struct Kernel; impl Kernel { pub fn launch(&self) {} }",
        "pub struct Kernel; impl Kernel { fn launch(&self) {} }",
        "pub(crate) struct Kernel; impl Run for Kernel { fn launch(&self) {} }",
        "mod a { pub struct Kernel; impl Run for Kernel { fn launch(&self) {} } }",
    ],
)
def test_what_is_private_on_its_way_may_not_be_named(library: str) -> None:
    assert not may_be_named(library)


def test_modules_in_files_are_as_open_as_they_are_declared() -> None:
    launch = "pub fn launch() {}"
    assert may_be_named("pub mod a;", a__mod="pub mod b;", a__b=launch)
    assert not may_be_named("mod a;", a__mod="pub mod b;", a__b=launch)
    assert not may_be_named("pub mod a;", a__mod="mod b;", a__b=launch)
    assert may_be_named("pub mod a;", a__mod="mod b; pub use b::launch;", a__b=launch)
    assert not may_be_named("mod a;", a__mod="mod b; pub use b::launch;", a__b=launch)


def test_a_module_that_nothing_declares_is_taken_for_open() -> None:
    assert may_be_named("", lost="pub fn launch() {}")


def test_of_a_program_nothing_may_be_named() -> None:
    workspace = linked({"Cargo.toml": MANIFEST, "src/main.rs": "pub fn launch() {} fn main() {}"})
    assert not Exports(workspace).may_be_named(function_named(workspace, "launch"))


def test_a_file_of_no_package_may_be_named() -> None:
    workspace = linked({"kernel.rs": "fn launch() {}"})
    assert Exports(workspace).may_be_named(function_named(workspace, "launch"))
