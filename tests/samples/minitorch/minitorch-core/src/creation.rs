//! Factories. As in PyTorch without `device=`, they make host tensors.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::dtype::Float;
use crate::error::TorchResult;
use crate::tensor::Tensor;

static SEED: AtomicU64 = AtomicU64::new(0x9e37_79b9_7f4a_7c15);

pub fn zeros<T: Float>(shape: &[usize]) -> TorchResult<Tensor<T>> { //~ ok FT005: a factory makes a host tensor and the caller moves it
    full(shape, T::zero())
}

pub fn ones<T: Float>(shape: &[usize]) -> TorchResult<Tensor<T>> { //~ ok FT005: a factory makes a host tensor and the caller moves it
    full(shape, T::one())
}

pub fn full<T: Float>(shape: &[usize], value: T) -> TorchResult<Tensor<T>> {
    Tensor::from_vec(vec![value; shape.iter().product()], shape)
}

/// Seed the generator; done once before training.
pub fn manual_seed(seed: u64) {
    SEED.store(seed | 1, Ordering::Relaxed);
}

fn next_unit() -> f64 {
    let mut x = SEED.load(Ordering::Relaxed);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    SEED.store(x, Ordering::Relaxed);
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// Uniform numbers in [0, 1).
pub fn rand<T: Float>(shape: &[usize]) -> TorchResult<Tensor<T>> { //~ ok FT009: no device operation
    let n: usize = shape.iter().product();
    Tensor::from_vec((0..n).map(|_| T::from_f64(next_unit())).collect(), shape)
}

/// Standard normal numbers by Box and Muller's transform.
pub fn randn<T: Float>(shape: &[usize]) -> TorchResult<Tensor<T>> {
    let n: usize = shape.iter().product();
    let draw = |_| {
        let u = next_unit().max(1e-12);
        let v = next_unit();
        T::from_f64((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos())
    };
    Tensor::from_vec((0..n).map(draw).collect(), shape)
}
