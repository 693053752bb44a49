//! The normal distribution.

use std::sync::Arc;

use minitorch_core::autograd::{is_grad_enabled, GradFn};
use minitorch_core::creation;
use minitorch_core::ops::elementwise::{add, mul, square};
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchResult};

use crate::Distribution;

#[derive(Debug)]
struct NormalLogProbBackward<T: Float> {
    value: Tensor<T>,
    mean: Tensor<T>,
}

impl<T: Float> GradFn<T> for NormalLogProbBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let device = grad_output.device();
        let grad = grad_output.data_vec()?; //~ FT007
        let (x, mean) = (self.value.data_vec()?, self.mean.data_vec()?);
        let out = grad.iter().zip(x.iter().zip(&mean)).map(|(&g, (&v, &m))| g * (m - v)).collect();
        let result = Tensor::from_vec(out, self.value.shape())?;
        let moved = if device.is_cuda() { result.to(device)? } else { result };
        Ok(vec![Some(moved)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.value]
    }

    fn name(&self) -> &'static str {
        "NormalLogProbBackward"
    }
}

/// Independent normal variables.
#[derive(Debug)]
pub struct Normal<T: Float> {
    pub mean: Tensor<T>,
    pub std: Tensor<T>,
}

impl<T: Float> Distribution<T> for Normal<T> {
    fn sample(&self, shape: &[usize]) -> TorchResult<Tensor<T>> {
        let noise = creation::randn::<T>(shape)?.to(self.mean.device())?;
        add(&self.mean, &mul(&self.std, &noise)?) //~ ok FT005: composed of dispatched operators; only the noise is made here
    }

    fn log_prob(&self, value: &Tensor<T>) -> TorchResult<Tensor<T>> {
        let device = self.mean.device();
        let (x, mean, std) = (value.data_vec()?, self.mean.data_vec()?, self.std.data_vec()?); //~ FT005
        let half_log_tau = 0.5 * std::f64::consts::TAU.ln();
        let density = |((v, m), s): ((&T, &T), &T)| {
            let z = (v.to_f64() - m.to_f64()) / s.to_f64();
            T::from_f64(-0.5 * z * z - s.to_f64().ln() - half_log_tau)
        };
        let out: Vec<T> = x.iter().zip(&mean).zip(&std).map(density).collect();
        let storage = TensorStorage::on_device(out, device)?;
        if is_grad_enabled() && value.requires_grad() {
            let grad_fn = Arc::new(NormalLogProbBackward { value: value.clone(), mean: self.mean.clone() });
            return Tensor::from_operation(storage, value.shape().to_vec(), grad_fn);
        }
        Tensor::from_storage(storage, value.shape().to_vec(), false)
    }

    fn variance(&self) -> TorchResult<Tensor<T>> {
        square(&self.std) //~ ok FT005: a dispatched operator
    }
}
