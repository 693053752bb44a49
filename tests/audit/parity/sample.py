"""A small workspace with every kind of operation."""

from __future__ import annotations

from audit.parity.declarations import declarations
from audit.parity.operations import Operation, operations
from audit.parity.workspace import read_workspace
from audit.scanner.source.memory import MemorySource

ROOT = b'[workspace]\nmembers = ["ferrotorch-core", "ferrotorch-gpu", "ferrotorch-xpu", "ferrotorch-nn"]\n'

CORE = b"""
pub mod linalg;
pub struct Tensor<T> { data: Vec<T> }
pub trait GpuBackend {
    fn add_f32(&self, a: &GpuBufferHandle, b: &GpuBufferHandle) -> R<GpuBufferHandle>;
    fn layernorm_backward_f64(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle> {
        Err(E::InvalidArgument { message: "not implemented".into() })
    }
}
impl<T> Tensor<T> {
    pub fn relu(&self) -> R<Self> { todo!() }
    fn hidden(&self) -> R<Self> { todo!() }
}
pub fn cross_entropy(input: &Tensor<f32>) -> R<Tensor<f32>> { todo!() }
pub fn parse_name(text: &str) -> String { todo!() }
fn lgamma_t<T: Float>(x: T) -> T { T::from(lgamma_f64(x.to_f64())) }
fn lgamma_f64(mut x: f64) -> f64 { todo!() }
fn first_word(text: &str) -> f64 { todo!() }
pub struct SumDimBackward;
impl GradFn<f32> for SumDimBackward { fn backward(&self) {} }
pub struct Gamma;
impl Distribution<f32> for Gamma {
    fn log_prob(&self, value: &Tensor<f32>) -> R<Tensor<f32>> { todo!() }
}
#[cfg(test)]
mod tests {
    pub fn helper(a: &Tensor<f32>) -> Tensor<f32> { todo!() }
}
"""

LINALG = b"""
use crate::Tensor;
pub fn svd(a: &Tensor<f32>) -> R<Tensor<f32>> { todo!() }
"""

GPU = b"""
#[cfg(feature = "cuda")]
pub fn gpu_gelu_f64(a: &CudaBuffer<f64>) -> R<CudaBuffer<f64>> { todo!() }
#[cfg(not(feature = "cuda"))]
pub fn gpu_gelu_f64(_a: &CudaBuffer<f64>) -> R<CudaBuffer<f64>> { todo!() }
pub fn cpu_to_gpu(data: &[f32]) -> R<CudaBuffer<f32>> { todo!() }
pub fn gpu_svd_f32(a: &[f32]) -> R<Vec<f32>> { todo!() }
pub fn gpu_quantum_fold(a: &CudaBuffer<f32>) -> R<CudaBuffer<f32>> { todo!() }
"""

XPU = b"""
macro_rules! xpu_unary {
    ($name:ident, $inner:path) => {
        pub fn $name(x: &Tensor<f32>) -> R<Tensor<f32>> { $inner(x) }
    };
}
xpu_unary!(xpu_neg, cubecl::neg);
xpu_unary!(xpu_ln, cubecl::ln);
"""

NN = b"""
macro_rules! module {
    ($ty:ident) => {
        impl<T> Module<T> for $ty { fn forward(&self, x: &Tensor<T>) -> R<Tensor<T>> { todo!() } }
    };
}
pub struct HardSwish;
module!(HardSwish);
pub struct MSELoss;
impl MSELoss { pub fn forward(&self, x: &Tensor<f32>) -> R<Tensor<f32>> { todo!() } }
"""


def manifest(name: str) -> bytes:
    """Return a Cargo manifest."""
    return f'[package]\nname = "{name}"\nversion = "0.1.0"\n[features]\ncuda = []\n'.encode()


def sources() -> dict[str, bytes]:
    """Return the files of the sample."""
    crates = {"core": CORE, "gpu": GPU, "xpu": XPU, "nn": NN}
    files = {f"ferrotorch-{name}/src/lib.rs": text for name, text in crates.items()}
    files |= {f"ferrotorch-{name}/Cargo.toml": manifest(f"ferrotorch-{name}") for name in crates}
    return {"Cargo.toml": ROOT, "ferrotorch-core/src/linalg.rs": LINALG, **files}


def sample_operations() -> tuple[Operation, ...]:
    """Return the operations of the sample."""
    return operations(declarations(read_workspace(MemorySource(sources()))))
