//! Gradient clipping and other helpers of a training loop.

use minitorch_core::gpu_dispatch::gpu_backend;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

/// Scale gradients so that their common norm is at most `limit`.
pub fn clip_grad_norm<T: Float>(grads: &mut [Tensor<T>], limit: f64) -> TorchResult<f64> {
    let mut total = 0.0;
    for grad in grads.iter() {
        total += grad.data_vec()?.iter().map(|v| v.to_f64().powi(2)).sum::<f64>(); //~ FT005
    }
    let norm = total.sqrt();
    if norm > limit {
        for grad in grads.iter_mut() {
            *grad = scaled(grad, limit / norm)?;
        }
    }
    Ok(norm)
}

fn scaled<T: Float>(grad: &Tensor<T>, factor: f64) -> TorchResult<Tensor<T>> {
    let factor = Tensor::from_vec(vec![T::from_f64(factor); grad.numel()], grad.shape())?.to(grad.device())?;
    minitorch_core::ops::elementwise::mul(grad, &factor) //~ ok FT008: a factor goes up
}

/// Whether every gradient is finite, asked of the backend.
pub fn grads_finite(grads: &[Tensor<f32>]) -> TorchResult<bool> {
    let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
    for grad in grads {
        if backend.has_inf_nan_f32(grad.gpu_handle()?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One flat vector of all parameters, for second order methods.
pub fn parameters_to_vector<T: Float>(parameters: &[Tensor<T>]) -> TorchResult<Tensor<T>> {
    let mut flat = Vec::new();
    for p in parameters {
        flat.extend(p.data()?.iter().copied()); //~ ok FT005: data() refuses device memory
    }
    let n = flat.len();
    Tensor::from_vec(flat, &[n])
}

/// How many parameters there are.
pub fn count_parameters<T: Float>(parameters: &[Tensor<T>]) -> usize {
    parameters.iter().map(Tensor::numel).sum()
}

/// A line for the progress bar.
pub fn describe<T: Float>(name: &str, t: &Tensor<T>) -> TorchResult<String> {
    Ok(format!("{name}: {}", t.preview(4)?)) //~ ok FT008: printing for people
}
