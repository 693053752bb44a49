//! Activations.

use minitorch_core::tracing;

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::launch::{cpu_fallback_unary, launch_cfg, same_length, try_launch_binary, try_launch_unary};
use crate::module_cache::get_or_compile;
use crate::ptx::binary::RELU_BACKWARD_PTX;
use crate::ptx::extra::{ELU_PTX, SOFTSIGN_PTX, STEP_PTX};
use crate::ptx::unary::{RELU_PTX, SIGMOID_PTX, TANH_PTX};
use crate::transfer::{alloc_zeros_f32, cpu_to_gpu, gpu_to_cpu};

type Buf = CudaBuffer<f32>;

/// `max(x, 0)`.
pub fn gpu_relu(x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    if let Some(out) = try_launch_unary(x, device, RELU_PTX, "relu_kernel")? {
        return Ok(out);
    }
    cpu_fallback_unary(x, device, |v| v.max(0.0)) //~ FT001
}

/// The gradient of relu.
pub fn gpu_relu_backward(grad: &Buf, x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    same_length(grad, x)?;
    if let Some(out) = try_launch_binary(grad, x, device, RELU_BACKWARD_PTX, "relu_backward_kernel")? {
        return Ok(out);
    }
    Err(GpuError::PtxCompileFailed { kernel: "relu_backward_kernel" }) //~ ok FT001: structured
}

/// The logistic function; on the host only for users who opted in.
pub fn gpu_sigmoid(x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    if let Some(out) = try_launch_unary(x, device, SIGMOID_PTX, "sigmoid_kernel")? {
        return Ok(out);
    }
    if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
        tracing::warn!(
            target: "minitorch::gpu_fallback",
            kernel = "sigmoid_kernel",
            "kernel did not compile, the host computes; unset FERROTORCH_ENABLE_GPU_FALLBACK to make this an error",
        );
        return cpu_fallback_unary(x, device, |v| 1.0 / (1.0 + (-v).exp())); //~ ok FT001: opted in on this very call, and it warns //~ ok FT013: gated per call
    }
    Err(GpuError::PtxCompileFailed { kernel: "sigmoid_kernel" })
}

/// The hyperbolic tangent.
pub fn gpu_tanh(x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    if let Ok(f) = get_or_compile(device.context(), TANH_PTX, "tanh_kernel", device.ordinal()) {
        let out = alloc_zeros_f32(x.len(), device)?;
        let n = x.len() as u32;
        // SAFETY: both buffers hold `n` elements.
        unsafe { device.stream().launch_builder(&f).buffer(x.ptr()).buffer(out.ptr()).arg(&n).launch(launch_cfg(x.len())?)? };
        return Ok(out);
    }
    let host = gpu_to_cpu(x, device)?; //~ FT001
    let out: Vec<f32> = host.iter().map(|v| v.tanh()).collect();
    cpu_to_gpu(&out, device)
}

/// `x / (1 + |x|)`.
pub fn gpu_softsign(x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    match try_launch_unary(x, device, SOFTSIGN_PTX, "softsign_kernel") {
        Ok(Some(out)) => Ok(out),
        Ok(None) | Err(_) => cpu_fallback_unary(x, device, |v| v / (1.0 + v.abs())), //~ FT001
    }
}

/// `exp(x) - 1` below zero.
pub fn gpu_elu(x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    if let Some(out) = try_launch_unary(x, device, ELU_PTX, "elu_kernel")? {
        return Ok(out);
    }
    tracing::warn!(
        target: "minitorch::gpu",
        kernel = "elu_kernel",
        "kernel did not compile, computing on the host",
    );
    cpu_fallback_unary(x, device, f32::exp_m1) //~ FT013
}

/// 1 where positive, else 0.
pub fn gpu_step(x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    if let Some(out) = try_launch_unary(x, device, STEP_PTX, "step_kernel")? {
        return Ok(out);
    }
    eprintln!("step_kernel did not compile; using the host"); //~ FT012
    cpu_fallback_unary(x, device, |v| f32::from(u8::from(v > 0.0))) //~ FT001
}
