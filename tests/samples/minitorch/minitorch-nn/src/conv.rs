//! One-dimensional convolution as a layer.

use std::sync::Arc;

use minitorch_core::autograd::{is_grad_enabled, GradFn};
use minitorch_core::dtype::is_f32;
use minitorch_core::gpu_dispatch::gpu_backend;
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchError, TorchResult};

#[derive(Debug)]
struct PointwiseConvBackward<T: Float> {
    input: Tensor<T>,
    weight: Tensor<T>,
    rows: usize,
}

impl<T: Float> GradFn<T> for PointwiseConvBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        let grad = grad_output.data_vec()?; //~ FT007
        let input = self.input.data_vec()?;
        let weight = self.weight.data_vec()?;
        let (inner, outer) = (self.weight.shape()[0], self.weight.shape()[1]);
        let mut grad_input = vec![T::zero(); input.len()];
        let mut grad_weight = vec![T::zero(); weight.len()];
        for r in 0..self.rows {
            for i in 0..inner {
                for o in 0..outer {
                    grad_input[r * inner + i] += grad[r * outer + o] * weight[i * outer + o];
                    grad_weight[i * outer + o] += grad[r * outer + o] * input[r * inner + i];
                }
            }
        }
        Ok(vec![
            Some(Tensor::from_vec(grad_input, self.input.shape())?),
            Some(Tensor::from_vec(grad_weight, self.weight.shape())?),
        ])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input, &self.weight]
    }

    fn name(&self) -> &'static str {
        "PointwiseConvBackward"
    }
}

/// A convolution of kernel size one.
#[derive(Debug)]
pub struct PointwiseConv<T: Float> {
    pub weight: Tensor<T>,
}

impl<T: Float> PointwiseConv<T> {
    /// `x` is `[rows, in]`, the weight `[in, out]`.
    pub fn forward(&self, x: &Tensor<T>) -> TorchResult<Tensor<T>> {
        let (&[rows, inner], &[_, outer]) = (x.shape(), self.weight.shape()) else {
            return Err(TorchError::ShapeMismatch { message: format!("{:?}", x.shape()) });
        };
        if x.is_cuda() && is_f32::<T>() {
            let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
            let handle = backend.matmul_f32(x.gpu_handle()?, self.weight.gpu_handle()?, rows, inner, outer)?;
            let storage = TensorStorage::gpu(handle);
            // The gradient has no kernel and is computed on the CPU. //~ FT014
            if is_grad_enabled() && self.weight.requires_grad() {
                let grad_fn = Arc::new(PointwiseConvBackward { input: x.clone(), weight: self.weight.clone(), rows });
                return Tensor::from_operation(storage, vec![rows, outer], grad_fn);
            }
            return Tensor::from_storage(storage, vec![rows, outer], false);
        }
        let (data, weight) = (x.data_vec()?, self.weight.data_vec()?); //~ FT011
        let dot = |r: usize, o: usize| (0..inner).fold(T::zero(), |acc, i| acc + data[r * inner + i] * weight[i * outer + o]);
        let out = (0..rows * outer).map(|at| dot(at / outer, at % outer)).collect();
        Tensor::from_storage(TensorStorage::on_device(out, x.device())?, vec![rows, outer], false)
    }
}
