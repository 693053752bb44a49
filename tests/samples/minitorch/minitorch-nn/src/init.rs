//! Initial weights, made once on the host before a model moves to its device.

use minitorch_core::{creation, Float, Tensor, TorchResult};

/// Uniform in `[-bound, bound]`.
pub fn uniform<T: Float>(shape: &[usize], bound: f64) -> TorchResult<Tensor<T>> {
    let unit = creation::rand::<T>(shape)?;
    let out = unit.data_vec()?.into_iter().map(|u| T::from_f64((2.0 * u.to_f64() - 1.0) * bound)).collect(); //~ ok FT005: set-up before any device is used
    Tensor::from_vec(out, shape)
}

/// Xavier's bound for a matrix.
pub fn xavier<T: Float>(fan_in: usize, fan_out: usize) -> TorchResult<Tensor<T>> {
    uniform(&[fan_in, fan_out], (6.0 / (fan_in + fan_out) as f64).sqrt())
}

/// A constant.
pub fn constant<T: Float>(shape: &[usize], value: f64) -> TorchResult<Tensor<T>> {
    creation::full(shape, T::from_f64(value)) //~ ok FT005: takes no tensor
}

/// The identity, for residual projections.
pub fn eye<T: Float>(n: usize) -> TorchResult<Tensor<T>> {
    Tensor::from_vec((0..n * n).map(|i| if i / n == i % n { T::one() } else { T::zero() }).collect(), &[n, n])
}
