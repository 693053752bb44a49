//! Softmax and its relatives.

use std::sync::OnceLock;

use minitorch_core::tracing;

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::elementwise::{gpu_exp, gpu_scale};
use crate::error::{GpuError, GpuResult};
use crate::launch::{cpu_fallback_unary, launch_rows, try_launch_unary};
use crate::ptx::rows::ROW_SUM_PTX;
use crate::ptx::unary::EXP_PTX;
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

static OPTED_IN: OnceLock<bool> = OnceLock::new();

fn opted_in() -> bool {
    *OPTED_IN.get_or_init(|| std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok())
}

fn fallback_enabled(kernel: &'static str) -> bool {
    let enabled = std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok();
    if enabled {
        tracing::warn!(target: "minitorch::gpu_fallback", kernel = kernel, "the host computes because FERROTORCH_ENABLE_GPU_FALLBACK is set");
    }
    enabled
}

/// `exp(x)` without normalisation; the gate is remembered from the first call.
pub fn gpu_exp_scores(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if let Some(out) = try_launch_unary(x, device, EXP_PTX, "exp_kernel")? {
        return Ok(out);
    }
    if opted_in() {
        tracing::warn!(target: "minitorch::gpu_fallback", kernel = "exp_kernel", "the host computes; unset FERROTORCH_ENABLE_GPU_FALLBACK");
        return cpu_fallback_unary(x, device, f32::exp); //~ FT013
    }
    Err(GpuError::PtxCompileFailed { kernel: "exp_kernel" })
}

/// The same behind a gate that is read on every call.
pub fn gpu_exp_gated(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if let Some(out) = try_launch_unary(x, device, EXP_PTX, "exp_kernel")? {
        return Ok(out);
    }
    if !fallback_enabled("exp_kernel") {
        return Err(GpuError::PtxCompileFailed { kernel: "exp_kernel" });
    }
    cpu_fallback_unary(x, device, f32::exp) //~ ok FT013: the gate dominates, is read per call and warns
}

/// Softmax over the whole buffer.
pub fn gpu_softmax(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let scores = gpu_exp(x, device)?;
    let total = match launch_rows(&scores, 1, device, ROW_SUM_PTX, "row_sum_kernel") {
        Ok(total) => total,
        Err(error) => {
            tracing::warn!(target: "minitorch::gpu", kernel = "row_sum_kernel", error = error, "row sum failed, summing on the host");
            let host = gpu_to_cpu(&scores, device)?; //~ FT013
            cpu_to_gpu(&[host.iter().sum::<f32>()], device)?
        }
    };
    let factor = crate::transfer::read_one(&total, device)?; //~ ok FT008: one word, an argument of the next launch
    gpu_scale(&scores, 1.0 / factor, device)
}

/// Log-sum-exp; warns and then refuses.
pub fn gpu_logsumexp(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let scores = gpu_exp(x, device)?;
    launch_rows(&scores, 1, device, ROW_SUM_PTX, "row_sum_kernel").map_err(|error| {
        tracing::warn!(target: "minitorch::gpu", kernel = "row_sum_kernel", error = error, "row sum failed, falling back is not allowed"); //~ ok FT013: warns, then returns the error
        GpuError::PtxCompileFailed { kernel: "row_sum_kernel" }
    })
}

/// Scores above a threshold, for sampling; the policy is CPU unless strict.
pub fn gpu_threshold_scores(x: &CudaBuffer<f32>, threshold: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if let Some(out) = try_launch_unary(x, device, EXP_PTX, "exp_kernel")? {
        return Ok(out);
    }
    if std::env::var("MINITORCH_STRICT_GPU").is_ok() {
        return Err(GpuError::PtxCompileFailed { kernel: "exp_kernel" });
    }
    tracing::warn!(target: "minitorch::gpu", kernel = "exp_kernel", "computing on the host; set MINITORCH_STRICT_GPU to forbid it");
    cpu_fallback_unary(x, device, |v| if v > threshold { v.exp() } else { 0.0 }) //~ FT013
}
