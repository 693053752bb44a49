//! Launching the common kernel shapes.

use crate::buffer::CudaBuffer;
use crate::device::{GpuDevice, LaunchConfig};
use crate::error::{GpuError, GpuResult};
use crate::module_cache::get_or_compile;
use crate::transfer::{alloc_zeros_f32, cpu_to_gpu, gpu_to_cpu};

pub const BLOCK: u32 = 256;

/// One thread an element.
pub fn launch_cfg(n: usize) -> GpuResult<LaunchConfig> {
    if n > u32::MAX as usize {
        return Err(GpuError::TooLarge { op: "launch", limit: u32::MAX as usize, got: n }); //~ ok FT011: a typed limit error
    }
    Ok(LaunchConfig { grid: (n as u32).div_ceil(BLOCK).max(1), block: BLOCK })
}

pub fn same_length(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>) -> GpuResult<()> {
    if a.len() == b.len() {
        return Ok(());
    }
    Err(GpuError::LengthMismatch { a: a.len(), b: b.len() })
}

/// Run a kernel of one input; `None` when its text does not compile.
pub fn try_launch_unary(x: &CudaBuffer<f32>, device: &GpuDevice, ptx: &'static str, entry: &'static str) -> GpuResult<Option<CudaBuffer<f32>>> {
    let f = match get_or_compile(device.context(), ptx, entry, device.ordinal()) {
        Ok(f) => f,
        Err(_) => return Ok(None), //~ ok FT001: a sentinel; no host work here, the caller decides
    };
    let out = alloc_zeros_f32(x.len(), device)?;
    let n = x.len() as u32;
    // SAFETY: both buffers hold `n` elements.
    unsafe { device.stream().launch_builder(&f).buffer(x.ptr()).buffer(out.ptr()).arg(&n).launch(launch_cfg(x.len())?)? };
    Ok(Some(out))
}

/// Run a kernel of two inputs; `None` when its text does not compile.
pub fn try_launch_binary(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice, ptx: &'static str, entry: &'static str) -> GpuResult<Option<CudaBuffer<f32>>> {
    let Ok(f) = get_or_compile(device.context(), ptx, entry, device.ordinal()) else {
        return Ok(None); //~ ok FT001: a sentinel; no host work here, the caller decides
    };
    let out = alloc_zeros_f32(a.len(), device)?;
    let n = a.len() as u32;
    // SAFETY: the three buffers hold `n` elements.
    unsafe {
        device.stream().launch_builder(&f).buffer(a.ptr()).buffer(b.ptr()).buffer(out.ptr()).arg(&n).launch(launch_cfg(a.len())?)?;
    }
    Ok(Some(out))
}

/// Run a kernel of one input and one scalar.
pub fn launch_scalar(x: &CudaBuffer<f32>, scalar: f32, device: &GpuDevice, ptx: &'static str, entry: &'static str) -> GpuResult<CudaBuffer<f32>> {
    let f = get_or_compile(device.context(), ptx, entry, device.ordinal()).map_err(|_| GpuError::PtxCompileFailed { kernel: entry })?; //~ ok FT001: becomes a structured error
    let out = alloc_zeros_f32(x.len(), device)?;
    let n = x.len() as u32;
    // SAFETY: both buffers hold `n` elements.
    unsafe {
        device.stream().launch_builder(&f).buffer(x.ptr()).buffer(out.ptr()).arg(&scalar).arg(&n).launch(launch_cfg(x.len())?)?;
    }
    Ok(out)
}

/// Fold each row of a matrix in one thread.
pub fn launch_rows(x: &CudaBuffer<f32>, rows: usize, device: &GpuDevice, ptx: &'static str, entry: &'static str) -> GpuResult<CudaBuffer<f32>> { //~ ok FT009: reached through every reduction
    let f = get_or_compile(device.context(), ptx, entry, device.ordinal())?;
    let out = alloc_zeros_f32(rows, device)?;
    let (r, c) = (rows as u32, (x.len() / rows.max(1)) as u32);
    // SAFETY: `x` holds rows times cols elements, `out` one a row.
    unsafe {
        device.stream().launch_builder(&f).buffer(x.ptr()).buffer(out.ptr()).arg(&r).arg(&c).launch(launch_cfg(rows)?)?;
    }
    Ok(out)
}

pub(crate) fn cpu_fallback_unary(x: &CudaBuffer<f32>, device: &GpuDevice, f: impl Fn(f32) -> f32) -> GpuResult<CudaBuffer<f32>> {
    let host = gpu_to_cpu(x, device)?; //~ ok FT001: the helper; each call of it is judged by itself
    let mapped: Vec<f32> = host.into_iter().map(f).collect();
    cpu_to_gpu(&mapped, device)
}

pub(crate) fn cpu_fallback_binary(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice, f: impl Fn(f32, f32) -> f32) -> GpuResult<CudaBuffer<f32>> {
    let (x, y) = (gpu_to_cpu(a, device)?, gpu_to_cpu(b, device)?);
    let mapped: Vec<f32> = x.iter().zip(&y).map(|(&p, &q)| f(p, q)).collect();
    cpu_to_gpu(&mapped, device)
}
