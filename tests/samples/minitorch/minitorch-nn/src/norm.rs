//! Normalisation layers.

use std::sync::Arc;

use minitorch_core::autograd::{is_grad_enabled, GradFn};
use minitorch_core::dtype::is_f32;
use minitorch_core::fallback::check_gpu_fallback_opt_in;
use minitorch_core::gpu_dispatch::gpu_backend;
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

#[derive(Debug)]
struct MeanBackward<T: Float> {
    input: Tensor<T>,
}

impl<T: Float> GradFn<T> for MeanBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let n = self.input.numel();
        let share = T::from_f64(grad_output.cpu()?.item()?.to_f64() / n as f64); //~ FT007
        let storage = TensorStorage::on_device(vec![share; n], self.input.device())?;
        Ok(vec![Some(Tensor::from_storage(storage, self.input.shape().to_vec(), false)?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "MeanBackward"
    }
}

/// The mean of all elements.
pub fn mean<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let storage = if x.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        TensorStorage::gpu(backend.mean_f32(x.gpu_handle()?)?)
    } else {
        let total = x.data()?.iter().fold(T::zero(), |a, &b| a + b);
        TensorStorage::cpu(vec![total / T::from_f64(x.numel() as f64)])
    };
    if is_grad_enabled() && x.requires_grad() {
        return Tensor::from_operation(storage, vec![], Arc::new(MeanBackward { input: x.clone() }));
    }
    Tensor::from_storage(storage, vec![], false)
}

/// Scale rows to unit root mean square.
pub fn rms_norm<T: Float>(x: &Tensor<T>, eps: f64) -> TorchResult<Tensor<T>> {
    let data = x.data_vec()?; //~ FT005
    let cols = x.shape().last().copied().unwrap_or(1).max(1);
    let mut out = Vec::with_capacity(data.len());
    for row in data.chunks(cols) {
        let square: f64 = row.iter().map(|v| v.to_f64().powi(2)).sum();
        let scale = 1.0 / (square / cols as f64 + eps).sqrt();
        out.extend(row.iter().map(|v| T::from_f64(v.to_f64() * scale)));
    }
    Tensor::from_vec(out, x.shape())
}

/// Scale and shift rows; on the host only for users who opted in.
pub fn layer_norm<T: Float>(x: &Tensor<T>, eps: f64) -> TorchResult<Tensor<T>> {
    check_gpu_fallback_opt_in(&[x], "layer_norm")?;
    let data = x.data_vec()?; //~ ok FT005: behind the opt-in gate //~ ok FT013: the gate covers the only read
    let cols = x.shape().last().copied().unwrap_or(1).max(1);
    let mut out = Vec::with_capacity(data.len());
    for row in data.chunks(cols) {
        let mean = row.iter().map(|v| v.to_f64()).sum::<f64>() / cols as f64;
        let spread = row.iter().map(|v| (v.to_f64() - mean).powi(2)).sum::<f64>() / cols as f64;
        out.extend(row.iter().map(|v| T::from_f64((v.to_f64() - mean) / (spread + eps).sqrt())));
    }
    Tensor::from_storage(TensorStorage::on_device(out, x.device())?, x.shape().to_vec(), false)
}

/// Statistics of a batch, gated for the input but not for the running mean.
pub fn batch_statistics<T: Float>(x: &Tensor<T>, running: &Tensor<T>, momentum: f64) -> TorchResult<Tensor<T>> {
    check_gpu_fallback_opt_in(&[x], "batch_statistics")?;
    let data = x.data_vec()?;
    let before = running.data_vec()?; //~ FT013
    let cols = before.len().max(1);
    let rows = (data.len() / cols).max(1) as f64;
    let out = (0..cols).map(|c| {
        let mean = data.iter().skip(c).step_by(cols).map(|v| v.to_f64()).sum::<f64>() / rows;
        T::from_f64((1.0 - momentum) * before[c].to_f64() + momentum * mean)
    });
    Tensor::from_storage(TensorStorage::on_device(out.collect(), x.device())?, running.shape().to_vec(), false)
}
