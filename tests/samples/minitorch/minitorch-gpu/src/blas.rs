//! Matrix products.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::launch::launch_cfg;
use crate::module_cache::get_or_compile;
use crate::ptx::matrix::{GATHER_PTX, MATMUL_PTX};
use crate::transfer::{alloc_zeros_f32, cpu_to_gpu, gpu_to_cpu};

/// The sizes of a product: m by k times k by n.
#[derive(Debug, Clone, Copy)]
pub struct Dims {
    pub m: usize,
    pub k: usize,
    pub n: usize,
}

/// Matrix product of row-major matrices.
pub fn gpu_matmul_f32(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, dims: Dims, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if a.len() != dims.m * dims.k || b.len() != dims.k * dims.n {
        return Err(GpuError::ShapeMismatch { op: "matmul", expected: vec![dims.m, dims.k], got: vec![a.len()] });
    }
    let f = get_or_compile(device.context(), MATMUL_PTX, "matmul_kernel", device.ordinal())
        .map_err(|_| GpuError::PtxCompileFailed { kernel: "matmul_kernel" })?;
    let out = alloc_zeros_f32(dims.m * dims.n, device)?;
    let (m, k, n) = (dims.m as u32, dims.k as u32, dims.n as u32);
    // SAFETY: the lengths were checked above.
    unsafe {
        device.stream().launch_builder(&f).buffer(a.ptr()).buffer(b.ptr()).buffer(out.ptr()).arg(&m).arg(&k).arg(&n).launch(launch_cfg(out.len())?)?;
    }
    Ok(out)
}

/// Matrix times vector.
pub fn gpu_matvec(a: &CudaBuffer<f32>, x: &CudaBuffer<f32>, rows: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    gpu_matmul_f32(a, x, Dims { m: rows, k: x.len(), n: 1 }, device)
}

/// Many products of the same size.
pub fn gpu_bmm(a: &[CudaBuffer<f32>], b: &[CudaBuffer<f32>], dims: Dims, device: &GpuDevice) -> GpuResult<Vec<CudaBuffer<f32>>> {
    a.iter()
        .zip(b)
        .map(|(x, y)| {
            gpu_matmul_f32(x, y, dims, device).or_else(|_| {
                let (p, q) = (gpu_to_cpu(x, device)?, gpu_to_cpu(y, device)?); //~ FT001
                cpu_to_gpu(&matmul_host(&p, &q, dims), device)
            })
        })
        .collect()
}

fn matmul_host(a: &[f32], b: &[f32], d: Dims) -> Vec<f32> {
    let dot = |i: usize, j: usize| (0..d.k).map(|p| a[i * d.k + p] * b[p * d.n + j]).sum();
    (0..d.m * d.n).map(|at| dot(at / d.n, at % d.n)).collect()
}

/// Matrix product that reports by status, in the manner of a C library.
pub fn gpu_gemm(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, out: &mut CudaBuffer<f32>, dims: Dims, device: &GpuDevice) -> GpuResult<()> {
    let rc = match gpu_matmul_f32(a, b, dims, device) {
        Ok(product) => {
            *out = product;
            0
        }
        Err(_) => -1, //~ ok FT001: a status; what the caller makes of it comes below
    };
    if rc != 0 {
        let (p, q) = (gpu_to_cpu(a, device)?, gpu_to_cpu(b, device)?); //~ FT001
        *out = cpu_to_gpu(&matmul_host(&p, &q, dims), device)?;
    }
    Ok(())
}

/// Transpose of a matrix by the gather kernel.
pub fn gpu_transpose(a: &CudaBuffer<f32>, rows: usize, cols: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let index: Vec<u32> = (0..rows * cols).map(|i| ((i % rows) * cols + i / rows) as u32).collect();
    let launched = crate::kernels::gpu_gather(a, &index, device);
    if launched.is_ok() {
        return launched;
    }
    let host = gpu_to_cpu(a, device)?; //~ FT001
    let out: Vec<f32> = index.iter().map(|&i| host[i as usize]).collect();
    cpu_to_gpu(&out, device)
}

/// Diagonal of a square matrix; an error is an error.
pub fn gpu_diagonal(a: &CudaBuffer<f32>, side: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let index: Vec<u32> = (0..side).map(|i| (i * side + i) as u32).collect();
    match get_or_compile(device.context(), GATHER_PTX, "gather_kernel", device.ordinal()) {
        Ok(_) => crate::kernels::gpu_gather(a, &index, device),
        Err(e) => Err(e), //~ ok FT001: the error goes to the caller
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_multiplies_by_the_identity() {
        let d = Dims { m: 2, k: 2, n: 2 };
        assert_eq!(matmul_host(&[1.0, 2.0, 3.0, 4.0], &[1.0, 0.0, 0.0, 1.0], d), vec![1.0, 2.0, 3.0, 4.0]);
    }
}
