//! Activations and their gradients.

use std::sync::Arc;

use crate::autograd::{is_grad_enabled, GradFn};
use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::ops::elementwise::{add, mul, neg, unary_map};
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

#[derive(Debug)]
struct ReluBackward<T: Float> {
    input: Tensor<T>,
}

impl<T: Float> GradFn<T> for ReluBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        if grad_output.is_cuda() && is_f32::<T>() {
            let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
            let grad = backend.relu_backward_f32(grad_output.gpu_handle()?, self.input.gpu_handle()?)?;
            return Ok(vec![Some(Tensor::from_storage(TensorStorage::gpu(grad), self.input.shape().to_vec(), false)?)]);
        }
        if grad_output.is_cuda() || self.input.is_cuda() {
            return Err(TorchError::NotImplementedOnCuda { op: "relu backward" });
        }
        let grads = grad_output.data()?.iter(); //~ ok FT007: device gradients returned or were refused above
        let out = grads.zip(self.input.data()?).map(|(&g, &x)| if x > T::zero() { g } else { T::zero() }).collect();
        Ok(vec![Some(Tensor::from_vec(out, self.input.shape())?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "ReluBackward"
    }
}

/// `max(x, 0)`.
pub fn relu<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> { //~ ok FT009: reached through an array of results
    let storage = if input.is_cuda() {
        if !is_f32::<T>() {
            return Err(TorchError::NotImplementedOnCuda { op: "relu" });
        }
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        TensorStorage::gpu(backend.relu_f32(input.gpu_handle()?)?)
    } else {
        let zero = T::zero();
        TensorStorage::cpu(input.data()?.iter().map(|&x| if x > zero { x } else { zero }).collect())
    };
    if is_grad_enabled() && input.requires_grad() {
        let grad_fn = Arc::new(ReluBackward { input: input.clone() });
        return Tensor::from_operation(storage, input.shape().to_vec(), grad_fn);
    }
    Tensor::from_storage(storage, input.shape().to_vec(), false)
}

#[derive(Debug)]
struct SigmoidBackward<T: Float> {
    input: Tensor<T>,
    output: Tensor<T>,
}

impl<T: Float> GradFn<T> for SigmoidBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let grad = grad_output.data_vec()?; //~ FT007
        let out = self.output.data_vec()?;
        let one = T::one();
        let result = grad.iter().zip(&out).map(|(&g, &s)| g * s * (one - s)).collect();
        let storage = TensorStorage::on_device(result, self.input.device())?;
        Ok(vec![Some(Tensor::from_storage(storage, self.input.shape().to_vec(), false)?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "SigmoidBackward"
    }
}

/// The logistic function.
pub fn sigmoid<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let output = if input.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let handle = backend.sigmoid_f32(input.gpu_handle()?)?;
        Tensor::from_storage(TensorStorage::gpu(handle), input.shape().to_vec(), false)?
    } else {
        let one = T::one();
        let out = input.data()?.iter().map(|&x| one / (one + (-x).exp())).collect(); //~ ok FT011: data() refuses device memory
        Tensor::from_vec(out, input.shape())?
    };
    if is_grad_enabled() && input.requires_grad() && output.is_cuda() {
        let grad_fn = Arc::new(SigmoidBackward { input: input.clone(), output: output.clone() });
        let storage = TensorStorage::gpu(output.gpu_handle()?.clone());
        return Tensor::from_operation(storage, input.shape().to_vec(), grad_fn);
    }
    Ok(output)
}

#[derive(Debug)]
struct TanhBackward<T: Float> {
    input: Tensor<T>,
    output: Tensor<T>,
}

impl<T: Float> GradFn<T> for TanhBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let squared = mul(&self.output, &self.output)?; //~ ok FT007: composed from dispatched operators
        let shrunk = neg(&mul(grad_output, &squared)?)?;
        Ok(vec![Some(add(grad_output, &shrunk)?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "TanhBackward"
    }
}

/// The hyperbolic tangent.
pub fn tanh<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let output = if input.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        TensorStorage::gpu(backend.tanh_f32(input.gpu_handle()?)?)
    } else {
        TensorStorage::cpu(input.data()?.iter().map(|&x| x.tanh()).collect())
    };
    let output = Tensor::from_storage(output, input.shape().to_vec(), false)?;
    if is_grad_enabled() && input.requires_grad() && output.is_cuda() {
        let grad_fn = Arc::new(TanhBackward { input: input.clone(), output: output.clone() });
        let storage = TensorStorage::gpu(output.gpu_handle()?.clone());
        return Tensor::from_operation(storage, input.shape().to_vec(), grad_fn);
    }
    Ok(output)
}

/// `ln(1 + exp(x))`.
pub fn softplus<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let one = T::one();
    let output = unary_map(input, |x| (one + x.exp()).ln())?; //~ FT005
    Ok(output)
}

/// `x` where positive, else `slope * x`.
pub fn leaky_relu<T: Float>(input: &Tensor<T>, slope: f64) -> TorchResult<Tensor<T>> {
    let slope = T::from_f64(slope);
    unary_map(input, |x| if x > T::zero() { x } else { slope * x }) //~ FT005
}

#[derive(Debug)]
struct HardtanhBackward<T: Float> {
    input: Tensor<T>,
}

impl<T: Float> GradFn<T> for HardtanhBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let mask = self.input.data()?.iter().map(|v| v.to_f64().abs() < 1.0); //~ ok FT007: data() refuses device memory
        let out = mask.zip(grad_output.data()?).map(|(keep, &g)| if keep { g } else { T::zero() }).collect();
        Ok(vec![Some(Tensor::from_vec(out, self.input.shape())?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "HardtanhBackward"
    }
}

/// Clamp to [-1, 1]. Host tensors only.
pub fn hardtanh<T: Float>(input: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let data = input.data()?; //~ ok FT005: data() refuses device memory
    let out: Vec<T> = data.iter().map(|v| T::from_f64(v.to_f64().clamp(-1.0, 1.0))).collect();
    if is_grad_enabled() && input.requires_grad() {
        let grad_fn = Arc::new(HardtanhBackward { input: input.clone() });
        return Tensor::from_operation(TensorStorage::cpu(out), input.shape().to_vec(), grad_fn);
    }
    Tensor::from_vec(out, input.shape())
}
