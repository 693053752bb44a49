//! Dropout.

use minitorch_core::creation;
use minitorch_core::gpu_dispatch::gpu_backend;
use minitorch_core::ops::elementwise::mul;
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

/// Zeroes elements with probability `p` while training.
#[derive(Debug, Clone)]
pub struct Dropout {
    pub p: f64,
    pub training: bool,
}

impl Dropout {
    pub fn new(p: f64) -> TorchResult<Self> {
        if !(0.0..1.0).contains(&p) {
            return Err(TorchError::InvalidArgument { message: format!("dropout probability {p}") }); //~ ok FT016: a bad argument on every device
        }
        Ok(Self { p, training: true })
    }

    /// A mask of zeros and `1 / (1 - p)`.
    fn mask<T: Float>(&self, shape: &[usize]) -> TorchResult<Tensor<T>> {
        let uniform = creation::rand::<T>(shape)?;
        let keep = T::from_f64(1.0 / (1.0 - self.p));
        let out = uniform.data_vec()?.into_iter().map(|u| if u.to_f64() < self.p { T::zero() } else { keep }).collect(); //~ ok FT005: a tensor made on the host a line above
        Tensor::from_vec(out, shape)
    }

    pub fn forward<T: Float>(&self, x: &Tensor<T>) -> TorchResult<Tensor<T>> {
        if !self.training {
            return Ok(x.clone());
        }
        mul(x, &self.mask::<T>(x.shape())?.to(x.device())?) //~ ok FT008: the mask goes up, nothing comes down
    }

    /// The device's own generator, when there is one.
    pub fn forward_fused(&self, x: &Tensor<f32>) -> TorchResult<Tensor<f32>> {
        if !x.is_cuda() {
            return self.forward(x);
        }
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let (out, _seed, _counter) = backend.dropout_philox_f32(x.gpu_handle()?, self.p as f32)?;
        Tensor::from_storage(TensorStorage::gpu(out), x.shape().to_vec(), false)
    }
}

/// Whole rows at once. Device tensors are refused: there is no kernel for
/// row masks, and the error says so. //~ ok FT014: backed by a structured error
pub fn dropout_rows<T: Float>(x: &Tensor<T>, p: f64) -> TorchResult<Tensor<T>> {
    if x.is_cuda() {
        return Err(TorchError::NotImplementedOnCuda { op: "dropout_rows" });
    }
    let cols = x.shape().last().copied().unwrap_or(1);
    let draws = creation::rand::<T>(&[x.numel() / cols.max(1)])?.data_vec()?;
    let out = x.data()?.iter().enumerate().map(|(i, &v)| if draws[i / cols].to_f64() < p { T::zero() } else { v });
    Tensor::from_vec(out.collect(), x.shape())
}
