//! Random numbers and dropout.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::elementwise::{gpu_mul, gpu_scale};
use crate::error::{GpuError, GpuResult};
use crate::launch::try_launch_unary;
use crate::ptx::unary::ABS_PTX;
use crate::transfer::{alloc_zeros_f32, cpu_to_gpu};

/// A counter-based generator; its state lives on the host by design.
#[derive(Debug, Clone, Copy)]
pub struct CudaGenerator {
    seed: u64,
    counter: u64,
}

impl CudaGenerator {
    pub fn new(seed: u64) -> Self {
        Self { seed, counter: 0 } //~ ok FT002: host bookkeeping of a generator
    }

    /// Reserve `n` numbers and return where they start.
    pub fn reserve(&mut self, n: u64) -> u64 {
        let start = self.counter;
        self.counter += n;
        start
    }

    fn value(&self, at: u64) -> f32 {
        let mut x = self.seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 31;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 27;
        (x >> 40) as f32 / (1u64 << 24) as f32
    }
}

/// Uniform numbers.
///
/// No Philox kernel yet: numbers are drawn on the CPU and uploaded. //~ FT014
pub fn gpu_rand(len: usize, generator: &mut CudaGenerator, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let start = generator.reserve(len as u64);
    let host: Vec<f32> = (0..len as u64).map(|i| generator.value(start + i)).collect(); //~ FT002
    cpu_to_gpu(&host, device)
}

/// Dropout with a mask that the caller drew.
pub fn gpu_dropout(x: &CudaBuffer<f32>, mask: &CudaBuffer<f32>, keep: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    gpu_scale(&gpu_mul(x, mask, device)?, 1.0 / keep, device) //~ ok FT001: two launches
}

/// Half-normal numbers from normal ones. The tails are only as good as the input's. //~ ok FT014: about quality
pub fn gpu_half_normal(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    match try_launch_unary(x, device, ABS_PTX, "abs_kernel") {
        Ok(Some(out)) => Ok(out),
        _ => alloc_zeros_f32(x.len(), device), //~ FT003
    }
}

/// Bernoulli numbers need a Philox kernel.
pub fn gpu_bernoulli(_p: &CudaBuffer<f32>, _generator: &mut CudaGenerator, _device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    panic!("not yet implemented: gpu_bernoulli") //~ FT003
}

/// Multinomial draws are refused.
pub fn gpu_multinomial(_p: &CudaBuffer<f32>, _draws: usize, _device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    Err(GpuError::Unsupported { op: "multinomial", dtype: "f32" }) //~ ok FT003: a structured refusal is no promise
}

/// The next power of two, for table sizes.
pub fn table_size(n: usize) -> usize {
    match n.checked_next_power_of_two() {
        Some(size) => size,
        None => unreachable!("tables are smaller than half the address space"), //~ ok FT003: an invariant
    }
}
