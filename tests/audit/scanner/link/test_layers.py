"""Hardware abstraction layers, as the prover risc0 has one, under the profile of its words."""

from __future__ import annotations

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.source.memory import MemorySource

MANIFEST = '[package]\nname = "risc0-zkp"\n[features]\ncuda = []\nmetal = []\n'
LAYER = """
pub trait Hal {
    fn scatter(&self, into: &Self::Buffer<Self::Elem>, values: &[Elem]);
    fn divide(&self, combos: &Self::Buffer<Self::Elem>, cycles: usize);
}
"""
METAL = """
impl Hal for MetalHal {
    fn scatter(&self, into: &Self::Buffer<Self::Elem>, values: &[Elem]) {
        into.view_mut(|into| {
            for (index, value) in values.iter().enumerate() {
                into[index] += *value;
            }
        });
    }

    fn divide(&self, combos: &Self::Buffer<Self::Elem>, cycles: usize) {
        let args = &[combos.as_arg(), KernelArg::Integer(cycles as u32)];
        self.dispatch_by_name("divide", args, cycles as u64);
    }
}
"""


def _found(**files: str) -> list[tuple[str, str, str]]:
    tree = {"Cargo.toml": MANIFEST, "src/hal/mod.rs": LAYER}
    tree |= {f"src/{name.replace('__', '/')}.rs": text for name, text in files.items()}
    tree.setdefault("src/lib.rs", "pub mod hal;\npub mod prove;\npub mod sums;\n")
    names = "".join(f"pub mod {name.removeprefix('hal__')};\n" for name in files if name.startswith("hal__"))
    tree["src/hal/mod.rs"] = names + tree["src/hal/mod.rs"]
    report = scan(
        MemorySource({path: text.encode() for path, text in tree.items()}),
        profile=load_profile("risc0"),
        rules=[rule for rule in RULES if rule.name != "missing-gpu-test"],
    )
    rules = {rule.id: rule.name for rule in RULES}
    return [(rules[one.rule_id], one.path, one.symbol.rpartition("::")[2]) for one in report.results]


def test_a_layer_of_the_device_that_works_on_a_view_is_no_device_work() -> None:
    assert _found(hal__metal=METAL) == [("fake-gpu-function", "src/hal/metal.rs", "scatter")]


def test_the_layer_of_the_host_may_work_on_views() -> None:
    assert _found(hal__cpu=METAL.replace("MetalHal", "CpuHal")) == []


def test_a_default_of_the_layer_that_works_on_a_view_sends_the_device_to_the_host() -> None:
    with_default = LAYER.replace(
        "fn divide(&self, combos: &Self::Buffer<Self::Elem>, cycles: usize);",
        """fn divide(&self, combos: &Self::Buffer<Self::Elem>, cycles: usize) {
        combos.view_mut(|combos| combos.iter_mut().for_each(|one| *one = one.divided(cycles)));
    }""",
    )
    assert _found(hal__mod=with_default) == [("dispatch-only-dispatch", "src/hal/mod.rs", "divide")]


def test_what_a_proof_is_made_of_is_read_and_so_is_what_a_layer_compares() -> None:
    prove = """
    pub fn finalize<H: Hal>(hal: &H, check: &H::Buffer<H::Elem>) -> H::Buffer<H::Elem> {
        let mut sums = vec![];
        check.view(|check| sums = check.chunks(4).map(|one| one.iter().sum()).collect());
        hal.copy_from_elem("sums", &sums)
    }
    """
    dual = """
    impl Hal for DualHal {
        fn divide(&self, combos: &DualBuffer<Buffer>, cycles: usize) {
            combos.left.view(|left| combos.right.view(|right| assert_eq!(left, right)));
        }
    }
    """
    assert _found(prove=prove, hal__dual=dual) == []
    assert _found(sums=prove.replace("finalize", "normalized")) == [
        ("reference-punt", "src/sums.rs", "normalized")
    ]
