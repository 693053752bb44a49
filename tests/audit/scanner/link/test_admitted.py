"""Branches for element types that a bound admits, and for those that it does not."""

from __future__ import annotations

import pytest

from tests.audit.scanner.workspace_fixture import scanned

MANIFEST = '[package]\nname = "ferrotorch-gpu"\n'
BODY = """
    pub fn neg<T: GpuFloat>(x: &CudaBuffer<T>, d: &GpuDevice) -> GpuResult<CudaBuffer<T>> {{
        if {first} {{
            return gpu_neg(x, d);
        }}
        if TypeId::of::<T>() == TypeId::of::<f64>() {{
            return gpu_neg_f64(x, d);
        }}
        let host = gpu_to_cpu(x, d)?;
        cpu_to_gpu(&negated(&host), d)
    }}

    fn gpu_neg<T>(x: &CudaBuffer<T>, d: &GpuDevice) -> GpuResult<CudaBuffer<T>> {{
        d.stream().launch_builder(&kernel).arg(x).launch(cfg)
    }}

    fn gpu_neg_f64<T>(x: &CudaBuffer<T>, d: &GpuDevice) -> GpuResult<CudaBuffer<T>> {{
        d.stream().launch_builder(&kernel).arg(x).launch(cfg)
    }}
"""


def lines_of(first: str, types: tuple[str, ...]) -> list[int]:
    """Return the lines of what is reported of `neg`, where a trait has these implementors."""
    implementations = "".join(f"impl GpuFloat for {one} {{}}\n" for one in types)
    source = "pub trait GpuFloat {}\n" + implementations + BODY.format(first=first)
    report = scanned({"gpu/Cargo.toml": MANIFEST, "gpu/src/lib.rs": source})
    return [
        one.region.start_line
        for one in report.results
        if one.symbol.endswith("::neg") and one.rule_id != "FT009"
    ]


def test_the_rest_of_a_ladder_over_all_types_is_not_reported() -> None:
    assert lines_of("is_f32::<T>()", ("f32", "f64")) == []


@pytest.mark.parametrize(
    ("first", "types"),
    [
        ("is_f32::<T>()", ("f32", "f64", "bf16")),
        ("is_f32::<T>() && x.len() > 1", ("f32", "f64")),
        ("is_f32::<T>()", ("f32", "f64", "Custom")),
        ("is_f32::<T>()", ()),
    ],
    ids=["a type more", "a test that asks more", "a type of the user", "a trait from elsewhere"],
)
def test_a_rest_that_may_be_entered_is_reported(first: str, types: tuple[str, ...]) -> None:
    assert len(lines_of(first, types)) == 1
