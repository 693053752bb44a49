//! Scaled dot-product attention.

use minitorch_core::grad_fns::activation;
use minitorch_core::linalg::matmul;
use minitorch_core::ops::elementwise::mul;
use minitorch_core::ops::rearrange::transpose2d;
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchResult};

/// `[heads, seq, dim]` to `[seq, heads * dim]`.
pub fn merge_heads<T: Float>(x: &Tensor<T>, heads: usize, seq: usize, dim: usize) -> TorchResult<Tensor<T>> {
    let data = x.data_vec()?; //~ FT005
    let mut out = vec![T::zero(); data.len()];
    for h in 0..heads {
        for s in 0..seq {
            for d in 0..dim {
                out[s * heads * dim + h * dim + d] = data[h * seq * dim + s * dim + d];
            }
        }
    }
    Tensor::from_storage(TensorStorage::on_device(out, x.device())?, vec![seq, heads * dim], false)
}

/// Repeat key and value heads for grouped queries.
///
/// There is no GPU kernel for this yet, CUDA inputs go through the host. //~ FT014
pub fn repeat_kv<T: Float>(x: &Tensor<T>, times: usize) -> TorchResult<Tensor<T>> {
    let device = x.device();
    let data = x.data_vec()?; //~ FT005
    let repeated: Vec<T> = (0..times).flat_map(|_| data.iter().copied()).collect();
    let out = Tensor::from_vec(repeated, &[times, x.numel()])?;
    if device.is_cuda() {
        out.to(device)
    } else {
        Ok(out)
    }
}

/// Scores of queries against keys, a composite. The order of the sum differs from the host's. //~ ok FT014: about rounding, not about a missing kernel
pub fn scores<T: Float>(query: &Tensor<T>, key: &Tensor<T>) -> TorchResult<Tensor<T>> {
    matmul(query, &transpose2d(key)?) //~ ok FT005: composed of dispatched operators
}

/// A sigmoid gate over the values.
pub fn gated_values<T: Float>(values: &Tensor<T>, gate: &Tensor<T>) -> TorchResult<Tensor<T>> {
    mul(values, &activation::sigmoid(gate)?)
}

/// The causal mask, made from a length.
pub fn causal_mask<T: Float>(seq: usize) -> TorchResult<Tensor<T>> {
    let mask = (0..seq * seq).map(|i| if i % seq <= i / seq { T::one() } else { T::zero() }).collect();
    Tensor::from_vec(mask, &[seq, seq]) //~ ok FT005: takes no tensor
}
