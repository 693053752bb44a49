//! Sparse rows, and features that depend on the build.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

/// Product of a 2:4 sparse matrix on tensor cores.
#[cfg(feature = "tensor-cores")]
pub fn gpu_sparse_matmul(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, n: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let (x, y) = (gpu_to_cpu(a, device)?, gpu_to_cpu(b, device)?); //~ FT004
    let dot = |i: usize, j: usize| (0..n).map(|p| x[i * n + p] * y[p * n + j]).sum();
    let out: Vec<f32> = (0..n * n).map(|at| dot(at / n, at % n)).collect();
    cpu_to_gpu(&out, device)
}

#[cfg(not(feature = "tensor-cores"))]
pub fn gpu_sparse_matmul(_a: &CudaBuffer<f32>, _b: &CudaBuffer<f32>, _n: usize, _device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    Err(GpuError::Unsupported { op: "sparse_matmul", dtype: "f32" }) //~ ok FT004: the other build refuses
}

/// Warm the tensor core path up.
#[cfg(feature = "tensor-cores")]
pub fn gpu_warm_up(_device: &GpuDevice) -> GpuResult<()> {
    Ok(()) //~ FT004
}

/// Compress to 2:4: keep the two largest of four.
#[cfg(feature = "cuda")]
pub fn gpu_compress_24(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let mut host = gpu_to_cpu(x, device)?; //~ FT002
    for four in host.chunks_mut(4) {
        let mut order: Vec<usize> = (0..four.len()).collect();
        order.sort_by(|&a, &b| four[b].abs().total_cmp(&four[a].abs()));
        for &at in order.iter().skip(2) {
            four[at] = 0.0;
        }
    }
    cpu_to_gpu(&host, device)
}

#[cfg(not(feature = "cuda"))]
pub fn gpu_compress_24(_x: &CudaBuffer<f32>, _device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    Err(GpuError::NoCudaFeature) //~ ok FT004: structured
}

/// Density of a buffer.
pub fn gpu_density(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    #[cfg(feature = "tensor-cores")]
    {
        let host = gpu_to_cpu(x, device)?; //~ FT004
        let filled = host.iter().filter(|v| **v != 0.0).count() as f32;
        return cpu_to_gpu(&[filled / host.len() as f32], device);
    }
    #[cfg(not(feature = "tensor-cores"))]
    crate::reduce::gpu_mean(x, device) //~ ok FT004: a launch
}

/// Zeros for builds without CUDA: nothing ran, and the caller can't tell.
#[cfg(not(feature = "cuda"))]
pub fn gpu_axpy(_a: f32, _x: &[f32], y: &[f32]) -> GpuResult<Vec<f32>> {
    Ok(vec![0.0; y.len()]) //~ FT004
}

#[cfg(feature = "cuda")]
pub fn gpu_axpy(a: f32, x: &CudaBuffer<f32>, y: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    crate::elementwise::gpu_add(&crate::elementwise::gpu_scale(x, a, device)?, y, device) //~ ok FT004: launches behind the feature
}

/// Kernels that only some builds have.
#[cfg(feature = "tensor-cores")]
pub mod wmma {
    use crate::buffer::CudaBuffer;
    use crate::device::GpuDevice;
    use crate::error::GpuResult;

    /// Load the fragment layouts.
    pub fn prepare_fragments(_device: &GpuDevice) -> GpuResult<()> {
        Ok(()) //~ FT004
    }

    /// Product of tiles, on the ordinary kernel.
    pub fn gpu_tile_matmul(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>, n: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> { //~ FT009
        crate::blas::gpu_matmul_f32(a, b, crate::blas::Dims { m: n, k: n, n }, device) //~ ok FT004: a launch
    }
}

/// What this build has, for `--version`.
pub fn build_features() -> Vec<&'static str> {
    let mut names = Vec::new();
    if cfg!(feature = "cuda") {
        names.push("cuda"); //~ ok FT004: reports the build
    }
    names
}

/// Save a profile of the last launches.
#[cfg(feature = "profile-json")]
pub fn dump_profile(rows: &[(String, u64)]) -> String {
    rows.iter().map(|(name, ns)| format!("{name}: {ns}\n")).collect() //~ ok FT004: the feature is about a file format
}
