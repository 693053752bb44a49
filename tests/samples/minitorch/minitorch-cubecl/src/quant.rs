//! Quantisation of weights.

use minitorch_core::{Tensor, TorchResult};

use crate::kernels;
use crate::runtime::{CubeHandle, CubeRuntime};

/// Weights in eight bits with one scale.
#[derive(Debug, Clone)]
pub struct Quantized {
    pub values: Vec<i8>,
    pub scale: f32,
}

/// Quantise once, when weights are loaded.
pub fn quantize_weights(t: &Tensor<f32>) -> TorchResult<Quantized> {
    let data = t.data()?; //~ ok FT002: done once at load time, on host weights
    let top = data.iter().fold(0.0f32, |a, v| a.max(v.abs())).max(f32::MIN_POSITIVE);
    let scale = top / 127.0;
    Ok(Quantized { values: data.iter().map(|v| (v / scale).round() as i8).collect(), scale })
}

/// Dequantise and multiply with an activation.
pub fn cube_scaled_product(q: &Quantized, x: &CubeHandle, rt: &CubeRuntime) -> TorchResult<CubeHandle> { //~ FT009
    let weights: Vec<f32> = q.values.iter().map(|&v| f32::from(v) * q.scale).collect();
    let uploaded = rt.client().create(&weights)?;
    Ok(kernels::run_mul(rt.client(), &uploaded, x)?)
}

/// Bytes saved against single precision.
pub fn saved_bytes(q: &Quantized) -> usize {
    q.values.len() * 3
}

/// Whether the portable runtime has a kernel for eight bit products.
pub fn has_int8_kernel() -> bool {
    false //~ ok FT014: callers can ask
}
