//! Reductions in two passes: rows on the device, then the partial results.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::launch::launch_rows;
use crate::ptx::rows::{ROW_MAX_PTX, ROW_MIN_PTX, ROW_PROD_PTX, ROW_SUM_PTX};
use crate::transfer::{cpu_to_gpu, gpu_to_cpu, read_one};

/// Rows for the first pass: the length must divide evenly.
fn partial_rows(n: usize) -> usize {
    (1..=n.min(1024)).rev().find(|rows| n % rows == 0).unwrap_or(1)
}

/// The sum; the last step adds the partial sums up.
pub fn gpu_reduce_sum(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if x.is_empty() {
        return cpu_to_gpu(&[0.0f32], device); //~ ok FT008: the identity of an empty sum, nothing is read
    }
    let partials = launch_rows(x, partial_rows(x.len()), device, ROW_SUM_PTX, "row_sum_kernel")?;
    let host = gpu_to_cpu(&partials, device)?; //~ FT008
    let total: f32 = host.iter().sum();
    cpu_to_gpu(&[total], device)
}

/// The least element.
pub fn gpu_reduce_min(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let partials = launch_rows(x, partial_rows(x.len()), device, ROW_MIN_PTX, "row_min_kernel")?;
    let mut least = f32::INFINITY;
    for value in gpu_to_cpu(&partials, device)? { //~ FT008
        least = least.min(value);
    }
    cpu_to_gpu(&[least], device)
}

/// The largest element, both passes on the device.
pub fn gpu_reduce_max(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let partials = launch_rows(x, partial_rows(x.len()), device, ROW_MAX_PTX, "row_max_kernel")?;
    launch_rows(&partials, 1, device, ROW_MAX_PTX, "row_max_kernel") //~ ok FT008: the second pass is a launch too
}

/// The product.
pub fn gpu_reduce_prod(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let partials = launch_rows(x, partial_rows(x.len()), device, ROW_PROD_PTX, "row_prod_kernel")?;
    if partials.len() <= 256 {
        let host = gpu_to_cpu(&partials, device)?; //~ FT008
        return cpu_to_gpu(&[host.iter().product::<f32>()], device);
    }
    gpu_reduce_prod(&partials, device)
}

/// The mean: a sum on the device, then one division.
pub fn gpu_mean(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let sum = launch_rows(x, 1, device, ROW_SUM_PTX, "row_sum_kernel")?;
    crate::elementwise::gpu_scale(&sum, 1.0 / x.len() as f32, device) //~ ok FT008: composed of device operators
}

/// The sum as a host number, for a log line; named after what it does.
pub fn read_sum(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<f32> {
    let sum = launch_rows(x, 1, device, ROW_SUM_PTX, "row_sum_kernel")?;
    read_one(&sum, device) //~ ok FT008: an explicit read of one word, named `read_`
}

/// Whether the device found a row that overflowed.
pub fn gpu_check_finite(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<()> {
    let sum = launch_rows(x, 1, device, ROW_SUM_PTX, "row_sum_kernel")?;
    let status = read_one(&sum, device)?; //~ ok FT008: a status word of one element
    if status.is_finite() {
        return Ok(());
    }
    Err(GpuError::InvalidState { message: "overflow in a reduction".into() })
}

/// Sum of each row.
pub fn gpu_sum_rows(x: &CudaBuffer<f32>, rows: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if rows == 0 || x.len() % rows != 0 {
        return Err(GpuError::ShapeMismatch { op: "sum_rows", expected: vec![rows], got: vec![x.len()] }); //~ ok FT011: a typed shape error
    }
    launch_rows(x, rows, device, ROW_SUM_PTX, "row_sum_kernel")
}
