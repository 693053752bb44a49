//! Layout methods: contiguous, reshape, narrow.

use std::sync::Arc;

use crate::autograd::{is_grad_enabled, GradFn};
use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::storage::TensorStorage;
use crate::tensor::{contiguous_strides, Tensor};

const MAX_KERNEL_RANK: usize = 8;

#[derive(Debug)]
struct NarrowBackward<T: Float> {
    input: Tensor<T>,
    start: usize,
}

impl<T: Float> GradFn<T> for NarrowBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let grad = grad_output.data_vec()?; //~ FT007
        let mut full = vec![T::zero(); self.input.numel()];
        full[self.start..self.start + grad.len()].copy_from_slice(&grad);
        let storage = TensorStorage::on_device(full, self.input.device())?;
        Ok(vec![Some(Tensor::from_storage(storage, self.input.shape().to_vec(), false)?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "NarrowBackward"
    }
}

/// A contiguous copy, gathered on the device for ranks up to eight.
///
/// Higher ranks are materialised in host memory. //~ FT014
pub fn contiguous<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    if x.is_contiguous() {
        return Ok(x.clone());
    }
    if x.is_cuda() && is_f32::<T>() && x.shape().len() <= MAX_KERNEL_RANK {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let handle = backend.strided_copy_f32(x.gpu_handle()?, x.shape(), x.strides(), x.storage_offset())?;
        return Tensor::from_storage(TensorStorage::gpu(handle), x.shape().to_vec(), false);
    }
    let storage = TensorStorage::on_device(x.data_vec()?, x.device())?; //~ FT011
    Tensor::from_storage(storage, x.shape().to_vec(), false)
}

/// The same elements under another shape.
pub fn reshape<T: Float>(x: &Tensor<T>, shape: &[usize]) -> TorchResult<Tensor<T>> {
    if !x.is_contiguous() {
        let data = x.data_vec()?; //~ FT011
        return Tensor::from_vec(data, shape);
    }
    Ok(x.as_view(shape.to_vec(), contiguous_strides(shape), 0))
}

/// A view with a new shape; strided inputs are made contiguous on their device.
pub fn view<T: Float>(x: &Tensor<T>, shape: &[usize]) -> TorchResult<Tensor<T>> {
    let dense = if x.is_contiguous() { x.clone() } else { contiguous(x)? };
    Ok(dense.as_view(shape.to_vec(), contiguous_strides(shape), 0)) //~ ok FT011: the copy is contiguous()'s own affair
}

/// A slice of a vector, as a view.
pub fn narrow<T: Float>(x: &Tensor<T>, start: usize, len: usize) -> TorchResult<Tensor<T>> {
    if start + len > x.numel() {
        return Err(TorchError::IndexOutOfBounds { index: start + len, axis: 0, size: x.numel() });
    }
    let out = x.as_view(vec![len], vec![1], x.storage_offset() + start);
    if !(is_grad_enabled() && x.requires_grad()) || x.is_cuda() {
        return Ok(out);
    }
    let storage = TensorStorage::cpu(out.data_vec()?); //~ ok FT008: device views returned above
    Tensor::from_operation(storage, vec![len], Arc::new(NarrowBackward { input: x.clone(), start }))
}

/// Split a vector by sizes.
pub fn split<T: Float>(x: &Tensor<T>, sizes: &[usize]) -> TorchResult<Vec<Tensor<T>>> {
    let mut start = 0;
    let mut parts = Vec::with_capacity(sizes.len());
    for &len in sizes {
        parts.push(narrow(x, start, len)?); //~ ok FT005: composed of views
        start += len;
    }
    Ok(parts)
}
