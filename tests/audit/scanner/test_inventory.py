from __future__ import annotations

from audit.rules import RULES
from audit.scanner.inventory import Inventory, enum_variants, inventory_of
from audit.scanner.judge import Judgement
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.ptx.kernels import text_digest
from audit.scanner.source.memory import MemorySource

MANIFEST = '[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n{needs}\n'
GPU = """
#[derive(Debug)]
pub enum GpuError {
    #[error("no kernel for {op} // {dtype}")]
    Unsupported { op: &'static str, dtype: Vec<u8> },
    /* Gone, it was */
    Driver(DriverError), // Old,
    #[cfg(not(feature = "cuda"))]
    NoCudaFeature,
}
pub enum Mode { Fast, Slow }
pub fn check(name: &str) -> Result<(), GpuError> {
    if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_err() {
        return Err(GpuError::Unsupported { op: "x", dtype: vec![] });
    }
    Ok(())
}
pub fn one() -> Result<(), GpuError> { check("one") }
pub fn two() -> Result<(), GpuError> { check("two") }
#[test]
fn proves() { check("test").unwrap(); }
"""


def inventory(files: dict[str, str]) -> Inventory:
    taken: list[Inventory] = []

    def observe(judgement: Judgement) -> None:
        taken.append(inventory_of(judgement))

    source = MemorySource({path: text.encode() for path, text in files.items()})
    scan(source, profile=load_profile(), rules=RULES, observe=observe)
    return taken[0]


def sample() -> Inventory:
    return inventory(
        {
            "demo-gpu/Cargo.toml": MANIFEST.format(name="demo-gpu", needs='core = { package = "demo-core" }'),
            "demo-gpu/src/lib.rs": GPU,
            "demo-core/Cargo.toml": MANIFEST.format(name="demo-core", needs=""),
            "demo-core/src/lib.rs": "pub fn nothing() {}\n",
        }
    )


def test_variants_are_read_past_attributes_comments_and_fields() -> None:
    text = GPU[GPU.index("pub enum") : GPU.index("pub enum Mode")]
    assert list(enum_variants(text)) == ["Unsupported", "Driver", "NoCudaFeature"]


def test_an_enum_without_variants_has_none() -> None:
    assert list(enum_variants("enum NeverError {}")) == []


def test_the_variants_of_error_enums_are_known_and_no_others() -> None:
    assert sample().error_variants == {
        "GpuError::Unsupported",
        "GpuError::Driver",
        "GpuError::NoCudaFeature",
    }


def test_what_a_package_needs_is_known_by_its_real_name() -> None:
    assert sample().dependencies == {"demo-gpu": frozenset({"demo-core"}), "demo-core": frozenset()}


def test_gpu_crates_and_gate_helpers_are_known() -> None:
    assert sample().gpu_crates == {"demo-gpu"}
    assert sample().gate_helpers == {"check"}


def test_callers_are_counted_without_tests() -> None:
    assert sample().callers == {"demo_gpu::check": 2}


def test_the_ptx_that_a_function_names_is_known_by_its_text() -> None:
    text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nop() { ret; }\n"
    other = text.replace("nop", "fill")
    code = f"""
        pub const NOP_PTX: &str = "{text}";
        pub fn gpu_nop(d: &Device) -> Result<Kernel, Error> {{ compile(d, NOP_PTX) }}
        pub fn gpu_fill(d: &Device) -> Result<Kernel, Error> {{ compile(d, "{other}") }}
        pub fn host(x: &[f32]) -> f32 {{ x[0] }}
    """
    found = inventory(
        {"demo-gpu/Cargo.toml": MANIFEST.format(name="demo-gpu", needs=""), "demo-gpu/src/lib.rs": code}
    )
    nop, fill = text_digest(text), text_digest(other)
    assert found.kernels == {
        "demo_gpu::NOP_PTX": (nop,),
        "demo_gpu::gpu_nop": (nop,),
        "demo_gpu::gpu_fill": (fill,),
    }
    assert not found.rejected_kernels
