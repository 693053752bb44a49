//! The gamma distribution, behind the opt-in gate.

use minitorch_core::creation;
use minitorch_core::fallback::check_gpu_fallback_opt_in;
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchResult};

use crate::Distribution;

/// Shape and rate.
#[derive(Debug)]
pub struct Gamma<T: Float> {
    pub concentration: Tensor<T>,
    pub rate: Tensor<T>,
}

impl<T: Float> Gamma<T> {
    fn mean_values(&self) -> TorchResult<Vec<T>> {
        let (a, b) = (self.concentration.data_vec()?, self.rate.data_vec()?);
        Ok(a.iter().zip(&b).map(|(&x, &y)| x / y).collect())
    }

    /// `concentration / rate`.
    pub fn mean(&self) -> TorchResult<Tensor<T>> {
        let values = self.mean_values()?; //~ FT005
        Tensor::from_vec(values, self.rate.shape())
    }

    /// The most likely value.
    pub fn mode(&self) -> TorchResult<Tensor<T>> {
        check_gpu_fallback_opt_in(&[&self.concentration, &self.rate], "Gamma::mode")?;
        let (a, b) = (self.concentration.data_vec()?, self.rate.data_vec()?); //~ ok FT005: behind the opt-in gate
        let out = a.iter().zip(&b).map(|(&x, &y)| (x - T::one()) / y).collect();
        Tensor::from_storage(TensorStorage::on_device(out, self.rate.device())?, self.rate.shape().to_vec(), false)
    }
}

impl<T: Float> Distribution<T> for Gamma<T> {
    fn sample(&self, shape: &[usize]) -> TorchResult<Tensor<T>> {
        check_gpu_fallback_opt_in(&[&self.concentration, &self.rate], "Gamma::sample")?;
        let uniform = creation::rand::<T>(shape)?.data_vec()?;
        let means = self.mean_values()?; //~ ok FT005: behind the opt-in gate
        let out = uniform.iter().enumerate().map(|(i, &u)| means[i % means.len()] * -(T::one() - u).ln()).collect();
        Tensor::from_storage(TensorStorage::on_device(out, self.rate.device())?, shape.to_vec(), false)
    }

    fn log_prob(&self, value: &Tensor<T>) -> TorchResult<Tensor<T>> {
        check_gpu_fallback_opt_in(&[value, &self.concentration, &self.rate], "Gamma::log_prob")?;
        let (x, a, b) = (value.data_vec()?, self.concentration.data_vec()?, self.rate.data_vec()?); //~ ok FT005: every read is behind the gate //~ ok FT013: the gate covers the three reads
        let out = x.iter().enumerate().map(|(i, v)| {
            let (shape, rate) = (a[i % a.len()].to_f64(), b[i % b.len()].to_f64());
            T::from_f64(shape * rate.ln() + (shape - 1.0) * v.to_f64().ln() - rate * v.to_f64())
        });
        Tensor::from_vec(out.collect(), value.shape())
    }

    fn variance(&self) -> TorchResult<Tensor<T>> {
        let means = self.mean_values()?; //~ FT005
        let rates = self.rate.data_vec()?;
        Tensor::from_vec(means.iter().zip(&rates).map(|(&m, &r)| m / r).collect(), self.rate.shape())
    }
}
