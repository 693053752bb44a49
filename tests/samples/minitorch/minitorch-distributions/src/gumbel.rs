//! The Gumbel distribution.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Once;

use minitorch_core::creation;
use minitorch_core::tracing;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

use crate::Distribution;

static HOST_ALLOWED: AtomicBool = AtomicBool::new(false);
static READ_ENVIRONMENT: Once = Once::new();

fn host_allowed() -> bool {
    READ_ENVIRONMENT.call_once(|| {
        HOST_ALLOWED.store(std::env::var_os("FERROTORCH_ENABLE_GPU_FALLBACK").is_some(), Ordering::Relaxed);
    });
    HOST_ALLOWED.load(Ordering::Relaxed)
}

fn warn_host(op: &'static str) {
    tracing::warn!(target: "minitorch::distributions", op = op, "computed on the host");
}

/// Location and scale.
#[derive(Debug)]
pub struct Gumbel<T: Float> {
    pub location: Tensor<T>,
    pub scale: Tensor<T>,
}

impl<T: Float> Gumbel<T> {
    /// `location + 0.5772 * scale`.
    pub fn mean(&self) -> TorchResult<Tensor<T>> {
        if self.location.is_cuda() && !host_allowed() {
            return Err(TorchError::NotImplementedOnCuda { op: "Gumbel::mean" });
        }
        warn_host("Gumbel::mean");
        let (l, s) = (self.location.data_vec()?, self.scale.data_vec()?); //~ FT013
        let gamma = T::from_f64(0.577_215_664_9);
        Tensor::from_vec(l.iter().zip(&s).map(|(&x, &y)| x + gamma * y).collect(), self.location.shape())
    }

    /// Median, behind the same variable read on each call.
    pub fn median(&self) -> TorchResult<Tensor<T>> {
        if self.location.is_cuda() || self.scale.is_cuda() {
            if std::env::var_os("FERROTORCH_ENABLE_GPU_FALLBACK").is_none() {
                return Err(TorchError::NotImplementedOnCuda { op: "Gumbel::median" });
            }
            tracing::warn!(target: "minitorch::gpu_fallback", op = "Gumbel::median", "the host computes; unset FERROTORCH_ENABLE_GPU_FALLBACK to forbid it");
        }
        let (l, s) = (self.location.data_vec()?, self.scale.data_vec()?); //~ ok FT013: read per call, covers both inputs, warns
        let factor = T::from_f64(-(2.0f64.ln().ln()));
        Tensor::from_vec(l.iter().zip(&s).map(|(&x, &y)| x + factor * y).collect(), self.location.shape())
    }
}

impl<T: Float> Distribution<T> for Gumbel<T> {
    fn sample(&self, shape: &[usize]) -> TorchResult<Tensor<T>> {
        let (l, s) = (self.location.data()?, self.scale.data()?); //~ ok FT005: data() refuses device memory
        let uniform = creation::rand::<T>(shape)?.data_vec()?;
        let out = uniform.iter().enumerate().map(|(i, u)| {
            let noise = -(-u.to_f64().max(1e-12).ln()).ln();
            T::from_f64(l[i % l.len()].to_f64() + s[i % s.len()].to_f64() * noise)
        });
        Tensor::from_vec(out.collect(), shape)
    }

    fn log_prob(&self, value: &Tensor<T>) -> TorchResult<Tensor<T>> {
        warn_host("Gumbel::log_prob");
        let (x, l, s) = (value.data_vec()?, self.location.data_vec()?, self.scale.data_vec()?); //~ FT013
        let out = x.iter().enumerate().map(|(i, v)| {
            let scale = s[i % s.len()].to_f64();
            let z = (v.to_f64() - l[i % l.len()].to_f64()) / scale;
            T::from_f64(-(z + (-z).exp()) - scale.ln())
        });
        Tensor::from_vec(out.collect(), value.shape())
    }

    fn variance(&self) -> TorchResult<Tensor<T>> {
        minitorch_core::ops::elementwise::square(&self.scale)
    }
}
