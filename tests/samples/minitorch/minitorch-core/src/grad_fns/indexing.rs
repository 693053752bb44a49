//! Selecting and scattering by index.

use std::sync::Arc;

use crate::autograd::{is_grad_enabled, GradFn};
use crate::dtype::Float;
use crate::error::{TorchError, TorchResult};
use crate::fallback::check_gpu_fallback_opt_in;
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

#[derive(Debug)]
struct IndexSelectBackward<T: Float> {
    input: Tensor<T>,
    indices: Vec<usize>,
}

impl<T: Float> GradFn<T> for IndexSelectBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        check_gpu_fallback_opt_in(&[grad_output, &self.input], "index_select backward")?;
        let grad = grad_output.data_vec()?; //~ ok FT007: behind the opt-in gate
        let out = scatter_add(&grad, &self.indices, self.input.numel());
        let storage = TensorStorage::on_device(out, self.input.device())?;
        Ok(vec![Some(Tensor::from_storage(storage, self.input.shape().to_vec(), false)?)])
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.input]
    }

    fn name(&self) -> &'static str {
        "IndexSelectBackward"
    }
}

fn scatter_add<T: Float>(grad: &[T], indices: &[usize], len: usize) -> Vec<T> {
    let mut out = vec![T::zero(); len];
    for (&g, &i) in grad.iter().zip(indices) {
        out[i] += g;
    }
    out
}

/// Pick elements of a vector. On a device tensor only after the user opted in.
pub fn index_select<T: Float>(input: &Tensor<T>, indices: &[usize]) -> TorchResult<Tensor<T>> {
    check_gpu_fallback_opt_in(&[input], "index_select")?;
    let data = input.data_vec()?; //~ ok FT005: behind the opt-in gate
    let out = indices.iter().map(|&i| data[i]).collect();
    let storage = TensorStorage::on_device(out, input.device())?;
    if is_grad_enabled() && input.requires_grad() {
        let grad_fn = Arc::new(IndexSelectBackward { input: input.clone(), indices: indices.to_vec() });
        return Tensor::from_operation(storage, vec![indices.len()], grad_fn);
    }
    Tensor::from_storage(storage, vec![indices.len()], false)
}

/// Replace masked elements.
pub fn masked_fill<T: Float>(input: &Tensor<T>, mask: &[bool], value: T) -> TorchResult<Tensor<T>> {
    if input.device().is_cpu() {
        let kept = input.data()?.iter().zip(mask);
        return Tensor::from_vec(kept.map(|(&x, &m)| if m { value } else { x }).collect(), input.shape());
    }
    let data = input.data_vec()?; //~ FT005
    let out: Vec<T> = data.iter().zip(mask).map(|(&x, &m)| if m { value } else { x }).collect();
    Tensor::from_storage(TensorStorage::on_device(out, input.device())?, input.shape().to_vec(), false)
}

/// The k largest elements of a host tensor.
pub fn topk<T: Float>(input: &Tensor<T>, k: usize) -> TorchResult<Tensor<T>> {
    if !input.device().is_cpu() {
        return Err(TorchError::NotImplementedOnCuda { op: "topk" });
    }
    let mut values = input.data_vec()?; //~ ok FT005: every device but the host was refused
    values.sort_by(|a, b| b.to_f64().total_cmp(&a.to_f64()));
    values.truncate(k);
    let n = values.len();
    Tensor::from_vec(values, &[n])
}
