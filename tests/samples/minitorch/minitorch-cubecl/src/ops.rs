//! Operators on tensors through the portable runtime.

use minitorch_core::{Tensor, TorchError, TorchResult};

use crate::kernels;
use crate::runtime::{CubeHandle, CubeRuntime};

fn upload(t: &Tensor<f32>, rt: &CubeRuntime) -> TorchResult<CubeHandle> {
    Ok(rt.client().create(t.data()?)?) //~ ok FT008: uploads host data
}

fn same_shape(a: &Tensor<f32>, b: &Tensor<f32>) -> TorchResult<()> {
    if a.shape() == b.shape() {
        return Ok(());
    }
    Err(TorchError::ShapeMismatch { message: format!("{:?} and {:?}", a.shape(), b.shape()) })
}

/// `a + b`, read back into a host tensor.
#[cfg(feature = "wgpu")]
pub fn portable_add(a: &Tensor<f32>, b: &Tensor<f32>, rt: &CubeRuntime) -> TorchResult<Tensor<f32>> {
    same_shape(a, b)?;
    let out = kernels::run_add(rt.client(), &upload(a, rt)?, &upload(b, rt)?)?;
    let host = rt.client().read_one(&out)?; //~ FT008
    Tensor::from_vec(host, a.shape())
}

#[cfg(not(feature = "wgpu"))]
pub fn portable_add(_a: &Tensor<f32>, _b: &Tensor<f32>, _rt: &CubeRuntime) -> TorchResult<Tensor<f32>> {
    Err(TorchError::DeviceUnavailable) //~ ok FT004: structured
}

/// `a * b`, read back into a host tensor.
#[cfg(feature = "wgpu")]
pub fn portable_mul(a: &Tensor<f32>, b: &Tensor<f32>, rt: &CubeRuntime) -> TorchResult<Tensor<f32>> {
    same_shape(a, b)?;
    let out = kernels::run_mul(rt.client(), &upload(a, rt)?, &upload(b, rt)?)?;
    let host = rt.client().read_one(&out)?; //~ FT008
    Tensor::from_vec(host, a.shape())
}

#[cfg(not(feature = "wgpu"))]
pub fn portable_mul(_a: &Tensor<f32>, _b: &Tensor<f32>, _rt: &CubeRuntime) -> TorchResult<Tensor<f32>> {
    Err(TorchError::DeviceUnavailable)
}

/// `exp(x)` on handles: a chain of operators stays on the device.
pub fn exp_handle(x: &CubeHandle, rt: &CubeRuntime) -> TorchResult<CubeHandle> {
    Ok(kernels::run_exp(rt.client(), x)?) //~ ok FT008: resident
}

/// `-x` on handles.
pub fn neg_handle(x: &CubeHandle, rt: &CubeRuntime) -> TorchResult<CubeHandle> {
    Ok(kernels::run_neg(rt.client(), x)?)
}

/// `exp(x)` of a tensor. Runs on the GPU if available, otherwise on the CPU. //~ FT018
pub fn portable_exp(x: &Tensor<f32>, rt: &CubeRuntime) -> TorchResult<Tensor<f32>> {
    match kernels::run_exp(rt.client(), &upload(x, rt)?) {
        Ok(out) => Tensor::from_vec(rt.client().read_one(&out)?, x.shape()), //~ FT008
        Err(_) => Tensor::from_vec(x.data()?.iter().map(|v| v.exp()).collect(), x.shape()), //~ FT001
    }
}

/// `-x` of a tensor.
pub fn portable_neg(x: &Tensor<f32>, rt: &CubeRuntime) -> TorchResult<Tensor<f32>> {
    let launched = upload(x, rt).and_then(|h| neg_handle(&h, rt)).and_then(|out| read_handle(&out, x.shape(), rt));
    launched.or_else(|_| Tensor::from_vec(x.data()?.iter().map(|v| -v).collect(), x.shape())) //~ FT001
}

/// Read a handle back: the one explicit way out.
pub fn read_handle(x: &CubeHandle, shape: &[usize], rt: &CubeRuntime) -> TorchResult<Tensor<f32>> {
    Tensor::from_vec(rt.client().read_one(x)?, shape) //~ ok FT008: an explicit read, by name
}
