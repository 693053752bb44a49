//! Half precision kernels.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::launch::launch_cfg;
use crate::module_cache::get_or_compile;
use crate::ptx::extra::{HYPOT_PTX, LERP_PTX};
use crate::ptx::matrix::AXPY_BF16_PTX;
use crate::transfer::alloc_zeros_f32;

/// `y += x` on pairs of bf16.
pub fn gpu_axpy_bf16(x: &CudaBuffer<u32>, y: &CudaBuffer<u32>, device: &GpuDevice) -> GpuResult<()> {
    let f = get_or_compile(device.context(), AXPY_BF16_PTX, "axpy_bf16", device.ordinal()).map_err(|e| {
        eprintln!("axpy_bf16: {e}"); //~ FT012
        GpuError::PtxCompileFailed { kernel: "axpy_bf16" }
    })?;
    let n = x.len() as u32;
    // SAFETY: both buffers hold `n` pairs.
    unsafe { device.stream().launch_builder(&f).buffer(x.ptr()).buffer(y.ptr()).arg(&n).launch(launch_cfg(x.len())?) }
}

/// Linear interpolation by a weight.
pub fn gpu_lerp(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, weight: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> { //~ FT009
    let f = match get_or_compile(device.context(), LERP_PTX, "lerp_kernel", device.ordinal()) {
        Ok(f) => f,
        Err(error) => {
            println!("lerp_kernel is not available: {error}"); //~ FT012
            return Err(GpuError::PtxCompileFailed { kernel: "lerp_kernel" });
        }
    };
    let out = alloc_zeros_f32(a.len(), device)?;
    let n = a.len() as u32;
    // SAFETY: the three buffers hold `n` elements.
    unsafe {
        device.stream().launch_builder(&f).buffer(a.ptr()).buffer(b.ptr()).buffer(out.ptr()).arg(&weight).arg(&n).launch(launch_cfg(a.len())?)?;
    }
    Ok(out)
}

/// `sqrt(a*a + b*b)`.
pub fn gpu_hypot(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> { //~ FT009
    let Ok(f) = get_or_compile(device.context(), HYPOT_PTX, "hypot_kernel", device.ordinal()) else {
        dbg!("hypot_kernel failed to load"); //~ FT012
        return Err(GpuError::PtxCompileFailed { kernel: "hypot_kernel" });
    };
    let out = alloc_zeros_f32(a.len(), device)?;
    let n = a.len() as u32;
    // SAFETY: the three buffers hold `n` elements.
    unsafe {
        device.stream().launch_builder(&f).buffer(a.ptr()).buffer(b.ptr()).buffer(out.ptr()).arg(&n).launch(launch_cfg(a.len())?)?;
    }
    Ok(out)
}

/// A line for `--list-kernels`.
pub fn print_kernel_table() {
    for name in ["axpy_bf16", "lerp_kernel", "hypot_kernel"] {
        println!("{name}"); //~ ok FT012: output a user asked for
    }
}

/// Convert bits of bf16 to f32.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16) //~ ok FT002: a conversion of one host number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_survives_the_conversion() {
        let one = bf16_to_f32(0x3F80);
        eprintln!("bf16 one reads as {one}"); //~ ok FT012: a test's own output
        assert_eq!(one, 1.0);
    }
}
