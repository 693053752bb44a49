//! Embedding tables.

use std::sync::Arc;

use minitorch_core::autograd::GradFn;
use minitorch_core::gpu_dispatch::{as_bytes, from_bytes, gpu_backend};
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Tensor, TorchError, TorchResult};

#[derive(Debug)]
struct EmbeddingBackward {
    table: Tensor<f32>,
    padding: usize,
}

impl GradFn<f32> for EmbeddingBackward {
    fn backward(&self, grad_output: &Tensor<f32>) -> TorchResult<Vec<Option<Tensor<f32>>>> {
        let width = self.table.shape()[1];
        if grad_output.is_cuda() {
            let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
            let handle = grad_output.gpu_handle()?;
            let mut rows: Vec<f32> = from_bytes(&backend.gpu_to_cpu(handle)?); //~ FT007
            rows[self.padding * width..(self.padding + 1) * width].fill(0.0);
            let cleaned = backend.cpu_to_gpu(as_bytes(&rows), 4, handle.device)?;
            return Ok(vec![Some(Tensor::from_storage(TensorStorage::gpu(cleaned), self.table.shape().to_vec(), false)?)]);
        }
        let mut rows = grad_output.data()?.to_vec(); //~ ok FT007: device gradients returned above
        rows[self.padding * width..(self.padding + 1) * width].fill(0.0);
        Ok(vec![Some(Tensor::from_vec(rows, self.table.shape())?)])
    }

    fn inputs(&self) -> Vec<&Tensor<f32>> {
        vec![&self.table]
    }

    fn name(&self) -> &'static str {
        "EmbeddingBackward"
    }
}

/// A table of rows.
#[derive(Debug)]
pub struct Embedding {
    pub table: Tensor<f32>,
    pub padding: usize,
}

impl Embedding {
    /// Normal rows, one of them zero.
    pub fn new(rows: usize, width: usize, padding: usize) -> TorchResult<Self> {
        let mut data = minitorch_core::creation::randn::<f32>(&[rows, width])?.data_vec()?; //~ ok FT005: initial weights, once
        data[padding * width..(padding + 1) * width].fill(0.0);
        Ok(Self { table: Tensor::from_vec(data, &[rows, width])?.with_requires_grad(), padding })
    }

    /// The whole table as a step of the graph, with the padding row frozen.
    pub fn frozen_padding(&self) -> TorchResult<Tensor<f32>> {
        let grad_fn = Arc::new(EmbeddingBackward { table: self.table.clone(), padding: self.padding });
        if self.table.is_cuda() {
            let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
            let zeros = backend.alloc_zeros(self.table.numel(), 4, self.table.device())?;
            let same = backend.add_f32(self.table.gpu_handle()?, &zeros)?;
            return Tensor::from_operation(TensorStorage::gpu(same), self.table.shape().to_vec(), grad_fn);
        }
        Tensor::from_operation(TensorStorage::cpu(self.table.data()?.to_vec()), self.table.shape().to_vec(), grad_fn)
    }

    /// Save the rows for a checkpoint.
    pub fn state_dict(&self) -> TorchResult<Vec<f32>> {
        self.table.data_vec() //~ ok FT008: a checkpoint is host data
    }
}
