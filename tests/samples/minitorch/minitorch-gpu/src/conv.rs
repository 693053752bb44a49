//! Convolutions.

use crate::blas::{gpu_matmul_f32, Dims};
use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::kernels::gpu_gather;
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

/// Sizes of a one-dimensional convolution.
#[derive(Debug, Clone, Copy)]
pub struct Conv1d {
    pub length: usize,
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
}

impl Conv1d {
    pub fn outputs(&self) -> usize {
        (self.length - self.dilation * (self.kernel - 1) - 1) / self.stride + 1
    }

    fn columns(&self) -> Vec<u32> {
        let at = |o: usize, k: usize| (o * self.stride + k * self.dilation) as u32;
        (0..self.outputs()).flat_map(|o| (0..self.kernel).map(move |k| at(o, k))).collect()
    }
}

/// Convolve: columns are gathered on the device, then one product.
pub fn gpu_conv1d(x: &CudaBuffer<f32>, weight: &CudaBuffer<f32>, conv: Conv1d, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if conv.dilation == 1 {
        let columns = gpu_gather(x, &conv.columns(), device)?;
        return gpu_matmul_f32(&columns, weight, Dims { m: conv.outputs(), k: conv.kernel, n: 1 }, device);
    }
    let (data, taps) = (gpu_to_cpu(x, device)?, gpu_to_cpu(weight, device)?); //~ FT011
    let columns = conv.columns();
    let dot = |row: &[u32]| row.iter().zip(&taps).map(|(&i, t)| data[i as usize] * t).sum::<f32>();
    let out: Vec<f32> = columns.chunks(conv.kernel).map(dot).collect();
    cpu_to_gpu(&out, device)
}

/// The gradient of the weight: one product of gathered columns.
pub fn gpu_conv1d_backward_weight(x: &CudaBuffer<f32>, grad: &CudaBuffer<f32>, conv: Conv1d, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> { //~ FT009
    let columns = gpu_gather(x, &conv.columns(), device)?;
    let dims = Dims { m: 1, k: conv.outputs(), n: conv.kernel };
    gpu_matmul_f32(grad, &columns, dims, device) //~ ok FT007: the backward is a launch
}

/// The gradient of the input.
pub fn gpu_conv1d_backward_input(grad: &CudaBuffer<f32>, weight: &CudaBuffer<f32>, conv: Conv1d, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let (g, taps) = (gpu_to_cpu(grad, device)?, gpu_to_cpu(weight, device)?); //~ FT002
    let mut out = vec![0.0f32; conv.length];
    for (row, gv) in conv.columns().chunks(conv.kernel).zip(&g) {
        for (&i, t) in row.iter().zip(&taps) {
            out[i as usize] += gv * t;
        }
    }
    cpu_to_gpu(&out, device)
}

/// Grouped convolutions are refused.
pub fn gpu_conv1d_grouped(x: &CudaBuffer<f32>, weight: &CudaBuffer<f32>, conv: Conv1d, groups: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if groups != 1 {
        return Err(GpuError::Unsupported { op: "conv1d with groups", dtype: "f32" }); //~ ok FT011: structured
    }
    gpu_conv1d(x, weight, conv, device)
}
