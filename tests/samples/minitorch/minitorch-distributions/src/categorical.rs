//! The categorical distribution.

use minitorch_core::creation;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

use crate::Distribution;

/// A choice among categories by probability.
#[derive(Debug)]
pub struct Categorical<T: Float> {
    probs: Tensor<T>,
    cdf: Vec<f64>,
}

impl<T: Float> Categorical<T> {
    /// Validates the probabilities and remembers their running sum.
    pub fn new(probs: Tensor<T>) -> TorchResult<Self> {
        let weights: Vec<f64> = probs.data_vec()?.iter().map(|p| p.to_f64()).collect(); //~ ok FT008: validation of arguments, once
        if weights.iter().any(|p| *p < 0.0) {
            return Err(TorchError::InvalidArgument { message: "probabilities must not be negative".into() });
        }
        let total: f64 = weights.iter().sum();
        let cdf = weights.iter().scan(0.0, |acc, p| {
            *acc += p / total;
            Some(*acc)
        });
        Ok(Self { cdf: cdf.collect(), probs })
    }

    /// The categories as a host list, by type.
    pub fn weights(&self) -> TorchResult<Vec<T>> {
        self.probs.data_vec() //~ ok FT008: the signature is an explicit host read
    }
}

impl<T: Float> Distribution<T> for Categorical<T> {
    fn sample(&self, shape: &[usize]) -> TorchResult<Tensor<T>> {
        let device = self.probs.device();
        let uniform = creation::rand::<T>(shape)?;
        let draws = uniform.data_vec()?;
        let pick = |u: &T| T::from_f64(self.cdf.partition_point(|c| *c <= u.to_f64()) as f64);
        let out = Tensor::from_vec(draws.iter().map(pick).collect(), shape)?; //~ FT005
        if device.is_cuda() {
            out.to(device)
        } else {
            Ok(out)
        }
    }

    fn log_prob(&self, value: &Tensor<T>) -> TorchResult<Tensor<T>> {
        let probs = self.probs.data_vec()?; //~ FT005
        let chosen = value.data_vec()?;
        let total: f64 = probs.iter().map(|p| p.to_f64()).sum();
        let out = chosen.iter().map(|v| T::from_f64((probs[v.to_f64() as usize].to_f64() / total).ln())).collect();
        let out = Tensor::from_vec(out, value.shape())?;
        if self.probs.device().is_cuda() {
            out.to(self.probs.device())
        } else {
            Ok(out)
        }
    }

    fn variance(&self) -> TorchResult<Tensor<T>> {
        Err(TorchError::InvalidArgument { message: "categories have no variance".into() }) //~ ok FT016: undefined on every device
    }

    fn entropy(&self) -> TorchResult<Tensor<T>> {
        let p = self.probs.data_vec()?; //~ FT005
        let h: f64 = p.iter().map(|v| -v.to_f64() * v.to_f64().max(1e-12).ln()).sum();
        Tensor::from_vec(vec![T::from_f64(h)], &[])
    }
}
