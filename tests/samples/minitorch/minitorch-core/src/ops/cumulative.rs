//! Running reductions along the last axis.

use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::{from_bytes, gpu_backend};
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

/// Values and positions of a running extreme.
#[derive(Debug)]
pub struct CumExtreme<T: Float> {
    pub values: Tensor<T>,
    pub indices: Vec<usize>,
}

fn rows_cols<T: Float>(x: &Tensor<T>) -> (usize, usize) {
    let cols = x.shape().last().copied().unwrap_or(1);
    (x.numel() / cols.max(1), cols)
}

/// Running maximum of each row.
pub fn cummax<T: Float>(x: &Tensor<T>) -> TorchResult<CumExtreme<T>> {
    let (rows, cols) = rows_cols(x);
    if x.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let (values, positions) = backend.cummax_f32(x.gpu_handle()?, rows, cols)?;
        let raw: Vec<f32> = from_bytes(&backend.gpu_to_cpu(&positions)?); //~ FT008
        let indices = raw.iter().map(|&p| p as usize).collect();
        let values = Tensor::from_storage(TensorStorage::gpu(values), x.shape().to_vec(), false)?;
        return Ok(CumExtreme { values, indices });
    }
    let data = x.data()?; //~ ok FT011: data() refuses device memory
    let mut values = Vec::with_capacity(data.len());
    let mut indices = Vec::with_capacity(data.len());
    for row in data.chunks(cols.max(1)) {
        let mut best = 0;
        for (i, &v) in row.iter().enumerate() {
            if v > row[best] {
                best = i;
            }
            values.push(row[best]);
            indices.push(best);
        }
    }
    Ok(CumExtreme { values: Tensor::from_vec(values, x.shape())?, indices })
}

/// Running sum of each row.
// TODO: CUDA has no scan kernel, so this runs on the CPU. //~ FT014
pub fn cumsum<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let (_, cols) = rows_cols(x);
    let data = x.data_vec()?; //~ FT005
    let mut out = Vec::with_capacity(data.len());
    for row in data.chunks(cols.max(1)) {
        let mut total = T::zero();
        for &v in row {
            total += v;
            out.push(total);
        }
    }
    Tensor::from_storage(TensorStorage::on_device(out, x.device())?, x.shape().to_vec(), false)
}

/// Position of the largest element: a host number, so one word is read back.
pub fn argmax<T: Float>(x: &Tensor<T>) -> TorchResult<usize> {
    let data = x.data()?;
    let best = data.iter().enumerate().max_by(|a, b| a.1.to_f64().total_cmp(&b.1.to_f64()));
    best.map(|(i, _)| i).ok_or(TorchError::ShapeMismatch { message: "argmax of nothing".into() })
}
