//! The operators. What each does wrong, if it does, is said above it.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::driver::{Buffer, Gpu, Kernel, Result};
use crate::error::GpuError;
use crate::kernels;

/// The variable by which a user asks for the host's slow path.
pub const FALLBACK_VARIABLE: &str = "GPUPROOF_ENABLE_GPU_FALLBACK";

fn elementwise(gpu: &Gpu, kernel: Kernel, x: &Buffer<'_>, stream: *mut c_void) -> Result<()> {
    let (mut pointer, mut n) = (x.pointer, x.len as u32);
    let mut arguments = [(&raw mut pointer).cast(), (&raw mut n).cast()];
    gpu.launch(kernel, x.len, &mut arguments, stream)
}

fn with_second(gpu: &Gpu, kernel: Kernel, x: &Buffer<'_>, second: &Buffer<'_>) -> Result<()> {
    let (mut pointer, mut n, mut other) = (x.pointer, x.len as u32, second.pointer);
    let mut arguments = [(&raw mut pointer).cast(), (&raw mut n).cast(), (&raw mut other).cast()];
    gpu.launch(kernel, x.len, &mut arguments, null_mut())
}

/// Adds one to each value, on the device.
pub fn add_one(gpu: &Gpu, x: &Buffer<'_>) -> Result<()> {
    elementwise(gpu, gpu.kernel(kernels::ADD_ONE, "add_one")?, x, null_mut())
}

/// Adds one to each value through a graph: captured once, launched once.
pub fn add_one_as_graph(gpu: &Gpu, x: &Buffer<'_>) -> Result<()> {
    let kernel = gpu.kernel(kernels::ADD_ONE, "add_one")?;
    gpu.run_as_graph(|stream| elementwise(gpu, kernel, x, stream))
}

/// Launches `add_one` again and again.
pub fn add_one_times(gpu: &Gpu, x: &Buffer<'_>, times: usize) -> Result<()> {
    let kernel = gpu.kernel(kernels::ADD_ONE, "add_one")?;
    (0..times).try_for_each(|_| elementwise(gpu, kernel, x, null_mut()))
}

/// Adds one to each value of managed memory.
pub fn add_one_managed(gpu: &Gpu, x: &mut [f32]) -> Result<()> {
    let kernel = gpu.kernel(kernels::ADD_ONE, "add_one")?;
    let (mut pointer, mut n) = (x.as_mut_ptr() as u64, x.len() as u32);
    let mut arguments = [(&raw mut pointer).cast(), (&raw mut n).cast()];
    gpu.launch(kernel, x.len(), &mut arguments, null_mut())?;
    gpu.synchronize()
}

/// Broken: clears the negative values on the host, and launches the kernel on what is left to do: nothing.
pub fn relu_through_host<'g>(gpu: &'g Gpu, x: &Buffer<'g>) -> Result<Buffer<'g>> {
    let values: Vec<f32> = x.download()?.into_iter().map(|v| v.max(0.0)).collect();
    let again = gpu.upload(&values)?;
    elementwise(gpu, gpu.kernel(kernels::RELU, "relu")?, &again, null_mut())?;
    Ok(again)
}

/// Broken: downloads, computes on the host and uploads.
pub fn gpu_scale<'g>(gpu: &'g Gpu, x: &Buffer<'g>, factor: f32) -> Result<Buffer<'g>> {
    let values: Vec<f32> = x.download()?.into_iter().map(|v| v * factor).collect();
    gpu.upload(&values)
}

/// Broken: named as GPU code, and the whole body is on the host.
pub fn gpu_exp(x: &[f32]) -> Vec<f32> {
    x.iter().map(|v| v.exp()).collect()
}

/// Has no kernel for `f64` yet, and says so.
pub fn erfinv_f64(_gpu: &Gpu, _x: &Buffer<'_>) -> Result<()> {
    Err(GpuError::Unsupported { op: "erfinv", dtype: "f64" })
}

/// Broken: computes on the host, and refuses afterwards.
pub fn erfinv_f64_after_readback(_gpu: &Gpu, x: &Buffer<'_>) -> Result<()> {
    let total: f32 = x.download()?.iter().sum();
    debug_assert!(total.is_finite());
    Err(GpuError::Unsupported { op: "erfinv", dtype: "f64" })
}

/// Its kernel does not assemble: an error, or the host's slow path where the user asked for it.
pub fn softplus<'g>(gpu: &'g Gpu, x: &Buffer<'g>) -> Result<Buffer<'g>> {
    match gpu.kernel(kernels::SOFTPLUS, "softplus") {
        Ok(kernel) => {
            elementwise(gpu, kernel, x, null_mut())?;
            gpu.upload(&x.download()?)
        }
        Err(error) => {
            if std::env::var_os(FALLBACK_VARIABLE).is_none() {
                return Err(error);
            }
            eprintln!("WARN kernel `softplus` failed ({error}); on the host until {FALLBACK_VARIABLE} is unset");
            softplus_on_host(gpu, x)
        }
    }
}

/// Broken: where the kernel does not assemble it computes on the host, and nobody is told.
pub fn softplus_or_host<'g>(gpu: &'g Gpu, x: &Buffer<'g>) -> Result<Buffer<'g>> {
    match gpu.kernel(kernels::SOFTPLUS, "softplus") {
        Ok(kernel) => {
            elementwise(gpu, kernel, x, null_mut())?;
            gpu.upload(&x.download()?)
        }
        Err(_) => softplus_on_host(gpu, x),
    }
}

/// Broken: the host's slow path is asked for, and does not say that it runs.
pub fn softplus_unannounced<'g>(gpu: &'g Gpu, x: &Buffer<'g>) -> Result<Buffer<'g>> {
    match gpu.kernel(kernels::SOFTPLUS, "softplus") {
        Err(error) if std::env::var_os(FALLBACK_VARIABLE).is_none() => Err(error),
        _ => softplus_on_host(gpu, x),
    }
}

fn softplus_on_host<'g>(gpu: &'g Gpu, x: &Buffer<'g>) -> Result<Buffer<'g>> {
    let values: Vec<f32> = x.download()?.into_iter().map(|v| v.exp().ln_1p()).collect();
    gpu.upload(&values)
}

/// Squares each value unless they add up to nothing; the sum alone comes back. Answers the sum.
pub fn square_unless_empty(gpu: &Gpu, x: &Buffer<'_>) -> Result<f32> {
    let total = gpu.upload(&[0.0])?;
    with_second(gpu, gpu.kernel(kernels::SUM, "sum")?, x, &total)?;
    let sum = total.download()?[0];
    if sum != 0.0 {
        elementwise(gpu, gpu.kernel(kernels::SQUARE, "square")?, x, null_mut())?;
    }
    Ok(sum)
}

/// The variance, made of other operators' kernels; one value comes back.
pub fn variance(gpu: &Gpu, x: &Buffer<'_>) -> Result<f32> {
    let sum = gpu.kernel(kernels::SUM, "sum")?;
    let (total, squares) = (gpu.upload(&[0.0])?, gpu.upload(&[0.0])?);
    with_second(gpu, sum, x, &total)?;
    with_second(gpu, gpu.kernel(kernels::SUB_MEAN, "sub_mean")?, x, &total)?;
    elementwise(gpu, gpu.kernel(kernels::SQUARE, "square")?, x, null_mut())?;
    with_second(gpu, sum, x, &squares)?;
    Ok(squares.download()?[0] / x.len as f32)
}
