//! Anomaly detection: find the operator that made a NaN.

use crate::dtype::Float;
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::tensor::Tensor;

/// Fail when a gradient holds NaN.
pub fn check_gradient_anomaly<T: Float>(grad: &Tensor<T>, op: &'static str) -> TorchResult<()> {
    if grad.is_cuda() { //~ FT003
        return Ok(());
    }
    if grad.data()?.iter().any(|v| v.to_f64().is_nan()) {
        return Err(TorchError::Internal { message: format!("{op} produced NaN") });
    }
    Ok(())
}

/// The same for a whole step, through the backend's own test.
pub fn check_gradients_finite(grads: &[Tensor<f32>]) -> TorchResult<bool> {
    let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
    for grad in grads {
        if grad.is_cuda() && backend.has_inf_nan_f32(grad.gpu_handle()?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Names of operators seen with a NaN, newest last.
#[derive(Debug, Default)]
pub struct AnomalyLog {
    seen: Vec<&'static str>,
}

impl AnomalyLog {
    pub fn record(&mut self, op: &'static str) {
        self.seen.push(op);
    }

    pub fn clear(&mut self) -> TorchResult<()> {
        self.seen.clear();
        Ok(()) //~ ok FT003: host bookkeeping is all this does
    }

    pub fn last(&self) -> Option<&'static str> {
        self.seen.last().copied()
    }
}
