//! Moving elements without arithmetic.

use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::storage::{GpuBufferHandle, TensorStorage};
use crate::tensor::Tensor;

fn gather_host<T: Float>(x: &Tensor<T>, shape: &[usize], source: impl Fn(usize) -> usize) -> TorchResult<Tensor<T>> {
    let data = x.data_vec()?;
    let n: usize = shape.iter().product();
    let out: Vec<T> = (0..n).map(|i| data[source(i)]).collect();
    Tensor::from_storage(TensorStorage::on_device(out, x.device())?, shape.to_vec(), false)
}

fn strided_on_device<T: Float>(x: &Tensor<T>, shape: &[usize], strides: &[isize]) -> TorchResult<GpuBufferHandle> {
    if !is_f32::<T>() {
        return Err(TorchError::NotImplementedOnCuda { op: "rearrange" });
    }
    let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
    backend.strided_copy_f32(x.gpu_handle()?, shape, strides, x.storage_offset())
}

/// Swap the two axes of a matrix.
pub fn transpose2d<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let &[rows, cols] = x.shape() else {
        return Err(TorchError::ShapeMismatch { message: format!("transpose2d of {:?}", x.shape()) });
    };
    let shape = [cols, rows];
    if x.is_cuda() {
        let copied = (|| strided_on_device(x, &shape, &[1, cols as isize]))();
        if let Ok(handle) = copied {
            return Tensor::from_storage(TensorStorage::gpu(handle), shape.to_vec(), false);
        }
    }
    gather_host(x, &shape, |i| (i % rows) * cols + i / rows) //~ FT001
}

/// Tile a vector `times` times.
pub fn repeat<T: Float>(x: &Tensor<T>, times: usize) -> TorchResult<Tensor<T>> {
    let n = x.numel();
    gather_host(x, &[times, n], |i| i % n) //~ FT005
}

/// Reverse the elements of a vector.
// Long vectors used to take the CPU path here. //~ ok FT014: a stale remark, the code has no such path
pub fn flip<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let n = x.numel();
    if x.is_cuda() {
        let handle = strided_on_device(x, &[n], &[-1])?;
        return Tensor::from_storage(TensorStorage::gpu(handle), vec![n], false);
    }
    gather_host(x, &[n], |i| n - 1 - i) //~ ok FT001: device tensors returned above
}

/// Rotate the elements of a vector by `shift`.
pub fn roll<T: Float>(x: &Tensor<T>, shift: usize) -> TorchResult<Tensor<T>> {
    let n = x.numel().max(1);
    if x.is_cuda() && x.shape().len() == 1 {
        let handle = strided_on_device(x, &[x.numel()], &[1])?;
        return Tensor::from_storage(TensorStorage::gpu(handle), x.shape().to_vec(), false);
    }
    gather_host(x, x.shape(), |i| (i + n - shift % n) % n) //~ FT011
}

/// Split rows in equal parts.
pub fn chunk_rows<T: Float>(x: &Tensor<T>, parts: usize) -> TorchResult<Vec<Tensor<T>>> {
    let cols = x.shape().last().copied().unwrap_or(1);
    let rows = x.numel() / cols.max(1) / parts.max(1);
    (0..parts)
        .map(|p| {
            let start = p * rows * cols;
            if x.is_cuda() && is_f32::<T>() {
                let view = x.as_view(vec![rows, cols], vec![cols as isize, 1], start);
                let handle = strided_on_device(&view, &[rows, cols], &[cols as isize, 1])?;
                Tensor::from_storage(TensorStorage::gpu(handle), vec![rows, cols], false)
            } else {
                gather_host(x, &[rows, cols], |i| start + i) //~ FT011
            }
        })
        .collect()
}
