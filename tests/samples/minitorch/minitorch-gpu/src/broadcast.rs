//! Arithmetic between different shapes.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::elementwise::{gpu_add, gpu_mul};
use crate::error::{GpuError, GpuResult};
use crate::kernels::gpu_gather;
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

/// Add a row vector to every row of a matrix.
pub fn gpu_add_row(matrix: &CudaBuffer<f32>, row: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if row.len() == matrix.len() {
        return gpu_add(matrix, row, device);
    }
    let (x, r) = (gpu_to_cpu(matrix, device)?, gpu_to_cpu(row, device)?); //~ FT011
    let out: Vec<f32> = x.iter().enumerate().map(|(i, v)| v + r[i % r.len()]).collect();
    cpu_to_gpu(&out, device)
}

/// Multiply every row of a matrix with a row vector.
pub fn gpu_mul_row(matrix: &CudaBuffer<f32>, row: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let index: Vec<u32> = (0..matrix.len()).map(|i| (i % row.len()) as u32).collect();
    let tiled = gpu_gather(row, &index, device)?; //~ ok FT011: tiled by the gather kernel
    gpu_mul(matrix, &tiled, device)
}

/// Add along up to four axes.
pub fn gpu_add_nd(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, shape: &[usize], strides: &[isize], device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let spread = match shape.len() {
        0..=4 => crate::kernels::gpu_strided_copy(b, shape, strides, 0, device)?,
        _ => {
            let host = gpu_to_cpu(b, device)?; //~ FT011
            let n: usize = shape.iter().product();
            let tiled: Vec<f32> = (0..n).map(|i| host[i % host.len()]).collect();
            cpu_to_gpu(&tiled, device)?
        }
    };
    gpu_add(a, &spread, device)
}

/// Outer sum of two vectors.
pub fn gpu_outer_add(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let n = a.len() * b.len();
    if n > 1 << 24 {
        return Err(GpuError::TooLarge { op: "outer_add", limit: 1 << 24, got: n }); //~ ok FT011: a typed limit error
    }
    let left: Vec<u32> = (0..n).map(|i| (i / b.len()) as u32).collect();
    let right: Vec<u32> = (0..n).map(|i| (i % b.len()) as u32).collect();
    gpu_add(&gpu_gather(a, &left, device)?, &gpu_gather(b, &right, device)?, device)
}

/// Dot product; short vectors are not worth a launch.
pub fn gpu_dot(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    const SMALL: usize = 1024;
    if a.len() < SMALL {
        let (x, y) = (gpu_to_cpu(a, device)?, gpu_to_cpu(b, device)?); //~ FT011
        let dot: f32 = x.iter().zip(&y).map(|(p, q)| p * q).sum();
        return cpu_to_gpu(&[dot], device);
    }
    let products = gpu_mul(a, b, device)?;
    crate::reduce::gpu_sum_rows(&products, 1, device)
}

/// Dot product with a kernel for every size.
pub fn gpu_dot_any(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let products = gpu_mul(a, b, device)?;
    if a.len() < 1024 {
        return crate::reduce::gpu_sum_rows(&products, 1, device); //~ ok FT011: small sizes take another kernel
    }
    crate::elementwise::gpu_scale(&crate::reduce::gpu_mean(&products, device)?, products.len() as f32, device)
}
