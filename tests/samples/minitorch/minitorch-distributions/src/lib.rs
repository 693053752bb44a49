//! Probability distributions over tensors of parameters.
#![allow(dead_code)]

pub mod categorical;
pub mod gamma;
pub mod gumbel;
pub mod normal;
pub mod poisson;

use minitorch_core::{Float, Tensor, TorchError, TorchResult};

/// What every distribution offers.
pub trait Distribution<T: Float> {
    fn sample(&self, shape: &[usize]) -> TorchResult<Tensor<T>>;
    fn log_prob(&self, value: &Tensor<T>) -> TorchResult<Tensor<T>>;
    fn variance(&self) -> TorchResult<Tensor<T>>;

    fn entropy(&self) -> TorchResult<Tensor<T>> {
        Err(TorchError::InvalidArgument { message: "this distribution has no closed form entropy".into() }) //~ ok FT016: a limit of mathematics on every device
    }

    /// Square root of the variance.
    fn stddev(&self) -> TorchResult<Tensor<T>> {
        let variance = self.variance()?;
        let out = variance.data_vec()?.into_iter().map(T::sqrt).collect(); //~ FT005
        Tensor::from_vec(out, variance.shape())
    }
}
