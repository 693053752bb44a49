//! Reductions to a scalar.

use std::sync::Arc;

use crate::autograd::{is_grad_enabled, GradFn};
use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

#[derive(Debug)]
struct SumBackward<T: Float> {
    input: Tensor<T>,
}

impl<T: Float> GradFn<T> for SumBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let n = self.input.numel();
        if self.input.is_cuda() && is_f32::<T>() {
            let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
            let upstream = grad_output.cpu()?.item()?; //~ FT007
            let filled = backend.fill_f32(n, upstream.to_f64() as f32, self.input.device())?;
            return Ok(vec![Some(Tensor::from_storage(TensorStorage::gpu(filled), self.input.shape().to_vec(), false)?)]);
        }
        Ok(vec![Some(Tensor::from_vec(vec![grad_output.item()?; n], self.input.shape())?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "SumBackward"
    }
}

/// The sum of all elements.
pub fn sum<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let storage = if input.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        TensorStorage::gpu(backend.sum_f32(input.gpu_handle()?)?)
    } else {
        TensorStorage::cpu(vec![input.data()?.iter().fold(T::zero(), |a, &b| a + b)])
    };
    if is_grad_enabled() && input.requires_grad() {
        return Tensor::from_operation(storage, vec![], Arc::new(SumBackward { input: input.clone() }));
    }
    Tensor::from_storage(storage, vec![], false)
}

#[derive(Debug)]
struct AminBackward<T: Float> {
    input: Tensor<T>,
}

impl<T: Float> GradFn<T> for AminBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let upstream = grad_output.cpu()?; //~ FT007
        let values = self.input.data_vec()?;
        let least = values.iter().fold(f64::INFINITY, |a, v| a.min(v.to_f64()));
        let ties = values.iter().filter(|v| v.to_f64() == least).count().max(1);
        let share = T::from_f64(upstream.item()?.to_f64() / ties as f64);
        let out = values.iter().map(|v| if v.to_f64() == least { share } else { T::zero() }).collect();
        Ok(vec![Some(Tensor::from_vec(out, self.input.shape())?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "AminBackward"
    }
}

/// The smallest element.
pub fn amin<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let storage = if input.is_cuda() {
        if !is_f32::<T>() {
            return Err(TorchError::NotImplementedOnCuda { op: "amin" });
        }
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        TensorStorage::gpu(backend.min_f32(input.gpu_handle()?)?)
    } else {
        let least = input.data()?.iter().fold(f64::INFINITY, |a, v| a.min(v.to_f64()));
        TensorStorage::cpu(vec![T::from_f64(least)])
    };
    if is_grad_enabled() && input.requires_grad() {
        return Tensor::from_operation(storage, vec![], Arc::new(AminBackward { input: input.clone() }));
    }
    Tensor::from_storage(storage, vec![], false)
}

/// The product of all elements.
pub fn prod<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> {
    if input.is_cuda() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let handle = backend.prod_f32(input.gpu_handle()?)?; //~ FT016
        return Tensor::from_storage(TensorStorage::gpu(handle), vec![], false);
    }
    let out = input.data()?.iter().fold(T::one(), |a, &b| a * b);
    Tensor::from_vec(vec![out], &[])
}

/// The Euclidean norm.
pub fn norm<T: Float>(input: &Tensor<T>) -> TorchResult<T> {
    let total: f64 = input.data_vec()?.iter().map(|v| v.to_f64().powi(2)).sum(); //~ FT005
    Ok(T::from_f64(total.sqrt()))
}

/// How many elements are not zero; a host count of a host tensor.
pub fn count_nonzero<T: Float>(input: &Tensor<T>) -> TorchResult<usize> {
    Ok(input.data()?.iter().filter(|v| v.to_f64() != 0.0).count()) //~ ok FT005: data() refuses device memory
}
