"""A small workspace in which every state of the capability matrix occurs."""

from __future__ import annotations

from tests.audit.parity.sample import manifest

ROOT = b'[workspace]\nmembers = ["ferrotorch-core", "ferrotorch-gpu", "ferrotorch-xpu"]\n'

XPU = b"""
macro_rules! xpu_unary {
    ($name:ident) => {
        pub fn $name(x: &Tensor<f32>) -> R<Tensor<f32>> {
            let data = x.data_vec()?;
            make_xpu_tensor(data.iter().map(|v| -v).collect(), x.shape())
        }
    };
}
xpu_unary!(xpu_neg);
pub fn twice(x: &Tensor<f32>) -> R<Tensor<f32>> { xpu_neg(&xpu_neg(x)?) }
"""

CORE = b"""
pub mod ops;
pub struct Tensor<T> { data: Vec<T> }
pub trait GpuBackend {
    fn exp_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle>;
    fn exp_f64(&self, _a: &GpuBufferHandle) -> R<GpuBufferHandle> {
        Err(FerrotorchError::InvalidArgument { message: "exp_f64 not implemented".into() })
    }
    fn sqrt_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle> {
        Err(FerrotorchError::NotImplementedOnCuda { op: "sqrt" })
    }
    fn relu_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle>;
    fn abs_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle>;
}
"""

OPS = b"""
use crate::{gpu_backend, GpuBackend, Tensor};

pub fn exp<T>(input: &Tensor<T>) -> R<Tensor<T>> {
    if input.is_cuda() {
        let backend = gpu_backend().unwrap();
        if is_f32::<T>() {
            return wrap(backend.exp_f32(input.gpu_handle()?)?);
        }
        return wrap(backend.exp_f64(input.gpu_handle()?)?);
    }
    host_exp(input)
}

pub fn lgamma<T>(input: &Tensor<T>) -> R<Tensor<T>> {
    let data = input.data_vec()?;
    Tensor::from_vec(data.iter().map(|x| x.ln_gamma()).collect(), input.shape())
}

pub fn digamma<T>(input: &Tensor<T>) -> R<Tensor<T>> {
    if input.is_cuda() {
        return Err(FerrotorchError::NotImplementedOnCuda { op: "digamma" });
    }
    host_digamma(input)
}

pub fn ravel<T>(input: &Tensor<T>) -> R<Tensor<T>> {
    input.view(&[input.numel()])
}

pub fn eye<T>(n: usize) -> R<Tensor<T>> {
    Tensor::from_vec(identity(n), &[n, n])
}

pub fn erf<T>(input: &Tensor<T>) -> R<Tensor<T>> {
    if input.is_cuda() {
        check_gpu_fallback_opt_in("erf")?;
    }
    let data = input.data_vec()?;
    Tensor::from_vec(data.iter().map(|x| x.erf()).collect(), input.shape())
}

pub fn erfinv<T>(input: &Tensor<T>) -> R<Tensor<T>> {
    let data = input.data_vec()?;
    Tensor::from_vec(data.iter().map(|x| erfinv_scalar(x)).collect(), input.shape())
}

fn erfinv_scalar<T: Float>(x: T) -> T { series(x) }

pub fn binomial<T>(n: usize) -> R<T> { Ok(lgamma_of(sinc_f64(1.0))) }

fn sinc_f64(x: f64) -> f64 { series(x) }

fn tanh_f64(x: f64) -> f64 { series(x) }

fn check_gpu_fallback_opt_in(op: &'static str) -> R<()> {
    if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_err() {
        return Err(FerrotorchError::NotImplementedOnCuda { op });
    }
    tracing::warn!(kernel = op, "on the host: unset FERROTORCH_ENABLE_GPU_FALLBACK to make this an error");
    Ok(())
}
"""

GPU = b"""
pub struct CudaBackendImpl;
impl GpuBackend for CudaBackendImpl {
    fn exp_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle> { gpu_exp(a) }
    fn relu_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle> { gpu_relu(a) }
    fn abs_f32(&self, a: &GpuBufferHandle) -> R<GpuBufferHandle> { gpu_abs(a) }
}
pub fn gpu_exp(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
    let f = get_or_compile("exp")?;
    stream.launch_builder(&f).launch(cfg)
}
pub fn gpu_relu(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
    let f = match get_or_compile("relu") {
        Ok(f) => f,
        Err(_) => {
            let host = gpu_to_cpu(a, device)?;
            let out: Vec<f32> = host.iter().map(|x| x.max(0.0)).collect();
            return cpu_to_gpu(&out, device);
        }
    };
    stream.launch_builder(&f).launch(cfg)
}
pub fn gpu_abs(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
    let f = get_or_compile("abs")?;
    stream.launch_builder(&f).launch(cfg)
}
pub fn gpu_tanh_f64(a: &CudaBuffer<f64>) -> GpuResult<CudaBuffer<f64>> {
    let f = get_or_compile("tanh")?;
    stream.launch_builder(&f).launch(cfg)
}
"""


def sources() -> dict[str, bytes]:
    """Return the files of the workspace."""
    return {
        "Cargo.toml": ROOT,
        "ferrotorch-core/Cargo.toml": manifest("ferrotorch-core"),
        "ferrotorch-core/src/lib.rs": CORE,
        "ferrotorch-core/src/ops.rs": OPS,
        "ferrotorch-xpu/Cargo.toml": manifest("ferrotorch-xpu"),
        "ferrotorch-xpu/src/lib.rs": XPU,
        "ferrotorch-gpu/Cargo.toml": manifest("ferrotorch-gpu"),
        "ferrotorch-gpu/src/lib.rs": GPU,
    }
