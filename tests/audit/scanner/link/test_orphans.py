"""Orphans: files that no module declares are scanned, and what is found there says so."""

from __future__ import annotations

import pytest

from audit.scanner.report import Result
from tests.audit.scanner.workspace_fixture import scanned

OPERATOR = """
pub fn gpu_relu(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    todo!()
}
"""


def found(library: str, path: str = "src/lost.rs") -> Result:
    """Return what is found in a file beside a library."""
    files = {"Cargo.toml": '[package]\nname = "ferrotorch-gpu"\n', "src/lib.rs": library, path: OPERATOR}
    (result,) = (one for one in scanned(files).results if one.rule_id == "FT003")
    assert result.path == path
    return result


@pytest.mark.parametrize(
    "library", ["", "// mod lost;", "/* pub mod lost; */", "/// `mod lost;` was here.\npub mod other {}"]
)
def test_a_result_in_a_file_that_nothing_declares_says_so(library: str) -> None:
    result = found(library)
    assert result.message == "puts off the work of a reachable GPU path; no module declares the file"
    assert result.properties["outsideModules"] == "no module declares the file"


@pytest.mark.parametrize(
    "library",
    [
        "mod lost;",
        "// mod other;\npub mod lost;",
        '#[path = "lost.rs"]\nmod found;',
        'include!("lost.rs");',
        "make_modules! { mod lost; }",
    ],
)
def test_a_file_that_something_declares_is_compiled(library: str) -> None:
    result = found(library)
    assert result.message == "puts off the work of a reachable GPU path"
    assert "outsideModules" not in result.properties


def test_a_file_that_cargo_finds_by_itself_is_compiled() -> None:
    assert "outsideModules" not in found("", "src/bin/tool.rs").properties


def test_a_file_of_no_package_is_not_called_an_orphan() -> None:
    (result,) = (one for one in scanned({"gpu/kernel.rs": OPERATOR}).results if one.rule_id == "FT003")
    assert "outsideModules" not in result.properties
