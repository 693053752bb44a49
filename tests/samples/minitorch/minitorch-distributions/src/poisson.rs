//! The Poisson distribution.

use minitorch_core::creation;
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

use crate::Distribution;

/// Events at a rate.
#[derive(Debug)]
pub struct Poisson<T: Float> {
    pub rate: Tensor<T>,
}

fn draw(rate: f64, mut uniform: impl FnMut() -> f64) -> f64 {
    let limit = (-rate).exp();
    let (mut count, mut product) = (0.0, uniform());
    while product > limit {
        count += 1.0;
        product *= uniform();
    }
    count
}

impl<T: Float> Distribution<T> for Poisson<T> {
    fn sample(&self, shape: &[usize]) -> TorchResult<Tensor<T>> {
        let rates = self.rate.data_vec()?; //~ FT005
        let n: usize = shape.iter().product();
        let mut numbers = creation::rand::<f64>(&[n * 16])?.data_vec()?.into_iter().cycle();
        let out = (0..n).map(|i| T::from_f64(draw(rates[i % rates.len()].to_f64(), || numbers.next().unwrap_or(0.0)))).collect();
        Tensor::from_storage(TensorStorage::on_device(out, self.rate.device())?, shape.to_vec(), false)
    }

    fn log_prob(&self, value: &Tensor<T>) -> TorchResult<Tensor<T>> {
        if self.rate.is_cuda() || value.is_cuda() {
            return Err(TorchError::NotImplementedOnCuda { op: "Poisson::log_prob" });
        }
        let (k, rates) = (value.data_vec()?, self.rate.data_vec()?); //~ ok FT005: device tensors were refused above
        let out = k.iter().enumerate().map(|(i, v)| {
            let rate = rates[i % rates.len()].to_f64();
            let factorial: f64 = (1..=v.to_f64() as u64).map(|j| (j as f64).ln()).sum();
            T::from_f64(v.to_f64() * rate.ln() - rate - factorial)
        });
        Tensor::from_vec(out.collect(), value.shape())
    }

    fn variance(&self) -> TorchResult<Tensor<T>> {
        Ok(self.rate.clone()) //~ ok FT005: the same tensor on its own device
    }
}
