//! Pixel shuffles.

use std::sync::Arc;

use minitorch_core::autograd::{is_grad_enabled, GradFn};
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

fn permute_host<T: Float>(x: &Tensor<T>, source: impl Fn(usize) -> usize) -> TorchResult<Vec<T>> {
    let data = x.data_vec()?;
    Ok((0..data.len()).map(|i| data[source(i)]).collect())
}

#[derive(Debug)]
struct PixelShuffleBackward<T: Float> {
    input: Tensor<T>,
    factor: usize,
}

impl<T: Float> GradFn<T> for PixelShuffleBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        Ok(vec![Some(pixel_unshuffle(grad_output, self.factor)?)]) //~ FT007
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "PixelShuffleBackward"
    }
}

fn check<T: Float>(x: &Tensor<T>, factor: usize) -> TorchResult<usize> {
    if factor == 0 || x.numel() % (factor * factor) != 0 {
        return Err(TorchError::ShapeMismatch { message: format!("{:?} by {factor}", x.shape()) });
    }
    Ok(x.numel() / factor)
}

/// Channels into space.
pub fn pixel_shuffle<T: Float>(x: &Tensor<T>, factor: usize) -> TorchResult<Tensor<T>> {
    let stride = check(x, factor)?;
    let out = permute_host(x, |i| (i % factor) * stride + i / factor)?; //~ FT005
    let storage = TensorStorage::on_device(out, x.device())?;
    if is_grad_enabled() && x.requires_grad() {
        let grad_fn = Arc::new(PixelShuffleBackward { input: x.clone(), factor });
        return Tensor::from_operation(storage, x.shape().to_vec(), grad_fn);
    }
    Tensor::from_storage(storage, x.shape().to_vec(), false)
}

/// Space into channels.
pub fn pixel_unshuffle<T: Float>(x: &Tensor<T>, factor: usize) -> TorchResult<Tensor<T>> {
    let stride = check(x, factor)?;
    let out = permute_host(x, |i| (i % stride) * factor + i / stride)?; //~ FT005
    Tensor::from_storage(TensorStorage::on_device(out, x.device())?, x.shape().to_vec(), false)
}

/// The shape after a shuffle.
pub fn shuffled_shape(shape: &[usize], factor: usize) -> Vec<usize> {
    let mut out = shape.to_vec(); //~ ok FT008: a shape
    if let [.., channels, height, width] = out.as_mut_slice() {
        *channels /= factor * factor;
        *height *= factor;
        *width *= factor;
    }
    out
}
