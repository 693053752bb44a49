//! Factorisations of small systems.

use crate::blas::{gpu_matmul_f32, gpu_transpose, Dims};
use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

fn transpose_host(a: &[f32], n: usize) -> Vec<f32> {
    (0..n * n).map(|i| a[(i % n) * n + i / n]).collect()
}

/// `aᵀ·a` of a host matrix by device products.
pub fn gpu_gram(a: &[f32], n: usize, device: &GpuDevice) -> GpuResult<Vec<f32>> {
    let transposed = transpose_host(a, n);
    let (left, right) = (cpu_to_gpu(&transposed, device)?, cpu_to_gpu(a, device)?);
    let gram = gpu_matmul_f32(&left, &right, Dims { m: n, k: n, n }, device)?;
    gpu_to_cpu(&gram, device) //~ FT008
}

/// The same on buffers that stay where they are.
pub fn gpu_gram_resident(a: &CudaBuffer<f32>, n: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let transposed = gpu_transpose(a, n, n, device)?; //~ ok FT008: device buffers in and out
    gpu_matmul_f32(&transposed, a, Dims { m: n, k: n, n }, device)
}

/// Lower Cholesky factor.
pub fn gpu_cholesky(a: &CudaBuffer<f32>, n: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let host = gpu_to_cpu(a, device)?; //~ FT002
    let mut l = vec![0.0f32; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f32 = (0..j).map(|p| l[i * n + p] * l[j * n + p]).sum();
            let rest = host[i * n + j] - dot;
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    cpu_to_gpu(&l, device)
}

/// Solve a lower triangular system.
pub fn gpu_solve_lower(l: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    forward_substitution(l, b, device)
}

fn forward_substitution(l: &CudaBuffer<f32>, b: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let (l, mut x) = (gpu_to_cpu(l, device)?, gpu_to_cpu(b, device)?); //~ FT002
    let n = x.len();
    for i in 0..n {
        let dot: f32 = (0..i).map(|j| l[i * n + j] * x[j]).sum();
        x[i] = (x[i] - dot) / l[i * n + i];
    }
    cpu_to_gpu(&x, device)
}

/// Eigenvalues have no GPU kernel: the call returns `GpuError::Unsupported`. //~ ok FT014: backed by a structured error
pub fn gpu_eigvals(_a: &CudaBuffer<f32>, _n: usize, _device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    Err(GpuError::Unsupported { op: "eigvals", dtype: "f32" }) //~ ok FT002: a structured refusal
}

/// Singular values.
pub fn gpu_svdvals(_a: &CudaBuffer<f32>, n: usize, _device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    todo!("one-sided Jacobi for {n} columns") //~ FT003
}

fn block_for(n: usize) -> Option<usize> {
    [32, 64, 128].into_iter().find(|block| n % block == 0)
}

/// Columns that a block of the factorisation takes.
pub fn gpu_block(n: usize) -> usize {
    block_for(n).unwrap_or_else(|| unimplemented!("no kernel for {n} columns")) //~ ok FT003: an expectation
}

/// Rank by a tolerance on the diagonal.
pub fn gpu_rank(a: &CudaBuffer<f32>, n: usize, device: &GpuDevice) -> GpuResult<usize> {
    if n > 4096 {
        unimplemented!("blocked rank"); //~ FT003
    }
    let diagonal = crate::blas::gpu_diagonal(a, n, device)?;
    let pivots = crate::reduce::gpu_sum_rows(&diagonal, n, device)?;
    let host = gpu_to_cpu(&pivots, device)?; //~ FT008
    Ok(host.iter().filter(|p| p.abs() > 1e-6).count())
}
