//! Reverse-mode differentiation.

use std::cell::Cell;
use std::fmt::Debug;

use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

/// The backward half of an operator.
pub trait GradFn<T: Float>: Debug + Send + Sync {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>>;
    fn inputs(&self) -> Vec<&Tensor<T>>;
    fn name(&self) -> &'static str;
}

thread_local! {
    static GRAD_ENABLED: Cell<bool> = const { Cell::new(true) };
}

pub fn is_grad_enabled() -> bool {
    GRAD_ENABLED.with(Cell::get)
}

/// Run `body` without recording history.
pub fn no_grad<R>(body: impl FnOnce() -> R) -> R {
    let before = GRAD_ENABLED.with(|g| g.replace(false));
    let out = body();
    GRAD_ENABLED.with(|g| g.set(before));
    out
}

/// Moves a gradient back over an explicit transfer.
#[derive(Debug)]
pub struct ToDeviceBackward<T: Float> {
    pub source: Tensor<T>,
}

impl<T: Float> GradFn<T> for ToDeviceBackward<T> {
    fn backward(&self, grad_output: &Tensor<T>) -> TorchResult<Vec<Option<Tensor<T>>>> {
        Ok(vec![Some(grad_output.to(self.source.device())?)]) //~ ok FT007: the user moved the tensor, so its gradient moves back
    }

    fn inputs(&self) -> Vec<&Tensor<T>> {
        vec![&self.source]
    }

    fn name(&self) -> &'static str {
        "ToDeviceBackward"
    }
}

/// Add `incoming` to the gradient of a leaf.
pub fn accumulate_grad<T: Float>(leaf: &Tensor<T>, incoming: Tensor<T>) -> TorchResult<()> {
    let mut slot = leaf.grad_slot().lock().map_err(|_| TorchError::Internal { message: "gradient lock poisoned".into() })?; //~ ok FT016: a lock, not a device
    let Some(existing) = slot.take() else {
        *slot = Some(incoming);
        return Ok(());
    };
    let sum = if existing.is_cuda() && incoming.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        TensorStorage::gpu(backend.add_f32(existing.gpu_handle()?, incoming.gpu_handle()?)?)
    } else {
        let mut total = existing.data_vec()?; //~ FT007
        for (t, g) in total.iter_mut().zip(incoming.data_vec()?) {
            *t += g;
        }
        TensorStorage::on_device(total, existing.device())?
    };
    *slot = Some(Tensor::from_storage(sum, existing.shape().to_vec(), false)?);
    Ok(())
}

/// Walk the graph from `root` and fill the gradients of its leaves.
pub fn backward<T: Float>(root: &Tensor<T>, seed: &Tensor<T>) -> TorchResult<()> {
    if root.shape() != seed.shape() {
        return Err(TorchError::BackwardNonScalar { shape: root.shape().to_vec() });
    }
    let mut pending = vec![(root.clone(), seed.clone())];
    while let Some((node, grad)) = pending.pop() {
        let Some(grad_fn) = node.grad_fn() else {
            if node.requires_grad() {
                accumulate_grad(&node, grad)?;
            }
            continue;
        };
        let grads = grad_fn.backward(&grad)?;
        for (input, grad) in grad_fn.inputs().into_iter().zip(grads) {
            if let Some(grad) = grad {
                pending.push((input.clone(), grad));
            }
        }
    }
    Ok(())
}
