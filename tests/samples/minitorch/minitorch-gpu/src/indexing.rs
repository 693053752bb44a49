//! Embedding tables and segment operators.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::kernels::{gpu_fill, gpu_gather};
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

/// Rows of an embedding table.
pub fn gpu_embedding(table: &CudaBuffer<f32>, ids: &[u32], width: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let index: Vec<u32> = ids.iter().flat_map(|&id| (0..width as u32).map(move |c| id * width as u32 + c)).collect();
    gpu_gather(table, &index, device) //~ ok FT008: ids are a host argument
}

/// Sum of the rows that share a segment.
pub fn gpu_segment_sum(x: &CudaBuffer<f32>, segments: &[u32], count: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let host = gpu_to_cpu(x, device)?; //~ FT002
    let mut out = vec![0.0f32; count];
    for (v, &s) in host.iter().zip(segments) {
        out[s as usize] += v;
    }
    cpu_to_gpu(&out, device)
}

/// Positions of the elements over a threshold.
pub fn gpu_nonzero(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<u32>> {
    let hits: Vec<u32> = gpu_to_cpu(x, device)? //~ FT002
        .iter()
        .enumerate()
        .filter(|(_, v)| **v != 0.0)
        .map(|(i, _)| i as u32)
        .collect();
    cpu_to_gpu(&hits, device)
}

/// Sort ascending.
pub fn gpu_sort(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    with_host_copy(x, device, |values| values.sort_by(f32::total_cmp)) //~ FT002
}

fn with_host_copy(x: &CudaBuffer<f32>, device: &GpuDevice, edit: impl FnOnce(&mut Vec<f32>)) -> GpuResult<CudaBuffer<f32>> {
    let mut host = gpu_to_cpu(x, device)?;
    edit(&mut host);
    cpu_to_gpu(&host, device)
}

/// One-hot rows.
pub fn gpu_one_hot(ids: &[u32], classes: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let identity: Vec<f32> = (0..classes * classes).map(|i| f32::from(u8::from(i / classes == i % classes))).collect();
    let table = cpu_to_gpu(&identity, device)?; //~ ok FT002: the table is host data, the rows are gathered by a kernel
    gpu_embedding(&table, ids, classes, device)
}

/// Zero the padding row of a gradient.
pub fn gpu_zero_row(grad: &CudaBuffer<f32>, row: usize, width: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    if (row + 1) * width > grad.len() {
        return Err(GpuError::ShapeMismatch { op: "zero_row", expected: vec![row, width], got: vec![grad.len()] });
    }
    let index: Vec<u32> = (0..grad.len() as u32).collect();
    let copy = gpu_gather(grad, &index, device)?;
    let mask = row_mask(grad.len(), row, width, device)?;
    crate::elementwise::gpu_mul(&copy, &mask, device)
}

fn row_mask(len: usize, row: usize, width: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let mask: Vec<f32> = (0..len).map(|i| f32::from(u8::from(i / width != row))).collect();
    cpu_to_gpu(&mask, device) //~ ok FT008: made on the host from three numbers, nothing is read back
}

/// Scatter a list of values over zeros; the values are host data already.
pub fn gpu_scatter_host(values: &[f32], index: &[u32], len: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let mut order = vec![values.len() as u32; len];
    for (k, &i) in index.iter().enumerate() {
        order[i as usize] = k as u32;
    }
    let mut padded = values.to_vec(); //~ ok FT008: a host slice
    padded.push(0.0);
    gpu_gather(&cpu_to_gpu(&padded, device)?, &order, device)
}

/// A filled mask.
pub fn gpu_full_mask(len: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    gpu_fill(len, 1.0, device)
}
