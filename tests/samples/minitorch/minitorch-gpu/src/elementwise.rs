//! Elementwise arithmetic.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::launch::{cpu_fallback_binary, cpu_fallback_unary, launch_cfg, launch_scalar, same_length, try_launch_binary, try_launch_unary};
use crate::module_cache::get_or_compile;
use crate::ptx::binary::{ADD_F64_PTX, ADD_PTX, MAX_PTX, MUL_PTX, SUB_PTX};
use crate::ptx::unary::{ABS_PTX, EXP_PTX, NEG_PTX, SCALE_PTX, SQRT_PTX};
use crate::transfer::{alloc_zeros_f64, cpu_to_gpu, gpu_to_cpu};

/// `a + b`.
pub fn gpu_add(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    same_length(a, b)?;
    if let Some(out) = try_launch_binary(a, b, device, ADD_PTX, "add_kernel")? {
        return Ok(out);
    }
    cpu_fallback_binary(a, b, device, |x, y| x + y) //~ FT001
}

/// `a - b`.
pub fn gpu_sub(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    same_length(a, b)?;
    if let Some(out) = try_launch_binary(a, b, device, SUB_PTX, "sub_kernel")? {
        return Ok(out);
    }
    let x = gpu_to_cpu(a, device)?; //~ FT001
    let y = gpu_to_cpu(b, device)?;
    let out: Vec<f32> = x.iter().zip(&y).map(|(p, q)| p - q).collect();
    cpu_to_gpu(&out, device)
}

/// `a * b`.
pub fn gpu_mul(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    same_length(a, b)?;
    match try_launch_binary(a, b, device, MUL_PTX, "mul_kernel")? {
        Some(out) => Ok(out),
        None => Err(GpuError::PtxCompileFailed { kernel: "mul_kernel" }), //~ ok FT001: structured
    }
}

/// `max(a, b)`.
pub fn gpu_maximum(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    same_length(a, b)?;
    match try_launch_binary(a, b, device, MAX_PTX, "max_kernel")? {
        Some(out) => Ok(out),
        None => cpu_fallback_binary(a, b, device, f32::max), //~ FT001
    }
}

/// `-x`; tries the scaling kernel when its own is not there.
pub fn gpu_neg(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    match try_launch_unary(x, device, NEG_PTX, "neg_kernel")? {
        Some(out) => Ok(out),
        None => gpu_scale(x, -1.0, device), //~ ok FT001: another kernel of the same device
    }
}

/// `|x|`.
pub fn gpu_abs(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let launched = try_launch_unary(x, device, ABS_PTX, "abs_kernel")?;
    launched.ok_or(GpuError::PtxCompileFailed { kernel: "abs_kernel" }) //~ ok FT001: structured
}

/// `exp(x)`.
pub fn gpu_exp(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    try_launch_unary(x, device, EXP_PTX, "exp_kernel")?
        .map_or_else(|| cpu_fallback_unary(x, device, f32::exp), Ok) //~ FT001
}

/// `sqrt(x)`.
pub fn gpu_sqrt(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let Some(out) = try_launch_unary(x, device, SQRT_PTX, "sqrt_kernel")? else {
        return cpu_fallback_unary(x, device, f32::sqrt); //~ FT001
    };
    Ok(out)
}

/// `factor * x`.
pub fn gpu_scale(x: &CudaBuffer<f32>, factor: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> { //~ ok FT009: reached through other operators too
    launch_scalar(x, factor, device, SCALE_PTX, "scale_kernel")
}

/// `a + b` in double precision.
pub fn gpu_add_f64(a: &CudaBuffer<f64>, b: &CudaBuffer<f64>, device: &GpuDevice) -> GpuResult<CudaBuffer<f64>> {
    let f = match get_or_compile(device.context(), ADD_F64_PTX, "add_f64_kernel", device.ordinal()) {
        Ok(f) => f,
        Err(_) => {
            let x = gpu_to_cpu(a, device)?; //~ FT001
            let y = gpu_to_cpu(b, device)?;
            let sums: Vec<f64> = x.iter().zip(&y).map(|(p, q)| p + q).collect();
            return cpu_to_gpu(&sums, device);
        }
    };
    let out = alloc_zeros_f64(a.len(), device)?;
    let n = a.len() as u32;
    // SAFETY: the three buffers hold `n` elements.
    unsafe {
        device.stream().launch_builder(&f).buffer(a.ptr()).buffer(b.ptr()).buffer(out.ptr()).arg(&n).launch(launch_cfg(a.len())?)?;
    }
    Ok(out)
}

/// `factor * (a - b)`, a composite.
pub fn gpu_scaled_difference(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, factor: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    gpu_scale(&gpu_sub(a, b, device)?, factor, device) //~ ok FT001: composed of two operators; each answers for itself
}
