//! Views with arbitrary strides.

use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::storage::{GpuBufferHandle, TensorStorage};
use crate::tensor::Tensor;

fn gather_on_device<T: Float>(x: &Tensor<T>) -> TorchResult<GpuBufferHandle> {
    let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
    if is_f32::<T>() {
        backend.strided_copy_f32(x.gpu_handle()?, x.shape(), x.strides(), x.storage_offset())
    } else {
        Err(TorchError::NotImplementedOnCuda { op: "as_strided_copy" }) //~ ok FT011: other dtypes are a structured error
    }
}

/// Copy a strided view into fresh memory on its own device.
pub fn as_strided_copy<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let storage = if x.is_cuda() {
        TensorStorage::gpu(gather_on_device(x)?)
    } else {
        TensorStorage::cpu(x.data_vec()?) //~ ok FT008: the host branch
    };
    Tensor::from_storage(storage, x.shape().to_vec(), false)
}

/// Write `src` through the strides of `dst`.
pub fn as_strided_scatter<T: Float>(dst: &Tensor<T>, src: &Tensor<T>) -> TorchResult<Tensor<T>> {
    match (dst.is_cuda(), src.is_cuda()) {
        (false, false) => {}
        (true, true) => return Err(TorchError::NotImplementedOnCuda { op: "as_strided_scatter" }),
        _ => return Err(TorchError::DeviceMismatch { expected: dst.device(), got: src.device() }),
    }
    let mut out = dst.data_vec()?; //~ ok FT005: both are host tensors here
    for (slot, value) in out.iter_mut().zip(src.data_vec()?) {
        *slot = value;
    }
    Tensor::from_vec(out, dst.shape())
}

/// Windows of `size` over a vector, `step` apart: a view, no memory moves.
pub fn unfold<T: Float>(x: &Tensor<T>, size: usize, step: usize) -> TorchResult<Tensor<T>> {
    if size == 0 || step == 0 || size > x.numel() {
        return Err(TorchError::ShapeMismatch { message: format!("windows of {size} by {step} over {}", x.numel()) });
    }
    let count = (x.numel() - size) / step + 1;
    Ok(x.as_view(vec![count, size], vec![step as isize, 1], x.storage_offset()))
}

/// Check that strides stay inside the storage.
pub fn validate_strides(shape: &[usize], strides: &[isize], len: usize) -> TorchResult<()> {
    let reach: isize = shape.iter().zip(strides).map(|(&n, &s)| (n as isize - 1).max(0) * s).sum();
    if reach < 0 || reach as usize >= len.max(1) {
        return Err(TorchError::IndexOutOfBounds { index: reach.unsigned_abs(), axis: 0, size: len });
    }
    Ok(())
}
