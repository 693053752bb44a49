//! Rounding, signs and remainders.

use crate::device::Device;
use crate::dtype::Float;
use crate::error::{TorchError, TorchResult};
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

fn map_host<T: Float>(x: &Tensor<T>, f: impl Fn(f64) -> f64) -> TorchResult<Tensor<T>> {
    let out = x.data_vec()?.into_iter().map(|v| T::from_f64(f(v.to_f64()))).collect();
    Tensor::from_vec(out, x.shape())
}

/// Round half away from zero.
pub fn round<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    match x.device() {
        Device::Cpu => map_host(x, f64::round), //~ ok FT006: the host arm
        Device::Cuda(_) => round_cpu(x), //~ FT006
        Device::Xpu(_) | Device::Mps(_) => Err(TorchError::NotImplementedOnCuda { op: "round" }), //~ ok FT006: structured
    }
}

fn round_cpu<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    map_host(&x.cpu()?, f64::round)?.to(x.device()) //~ FT005
}

/// Round down.
pub fn floor<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    match x.device() {
        Device::Cpu | Device::Cuda(_) => map_host(x, f64::floor), //~ FT006
        other => Err(TorchError::DeviceMismatch { expected: Device::Cpu, got: other }),
    }
}

/// Round up.
pub fn ceil<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    if x.is_cuda() {
        let host = x.cpu()?; //~ FT006
        return map_host(&host, f64::ceil)?.to(x.device());
    }
    map_host(x, f64::ceil)
}

/// The sign; refused off the host.
pub fn sign<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    match x.device() {
        Device::Cpu => map_host(x, |v| if v == 0.0 { 0.0 } else { v.signum() }),
        _ => Err(TorchError::NotImplementedOnCuda { op: "sign" }), //~ ok FT006: structured
    }
}

/// The fractional part.
pub fn fract<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let implementation: fn(&Tensor<T>) -> TorchResult<Tensor<T>> = match x.device() {
        Device::Cuda(_) => fract_host, //~ FT006
        _ => fract_host,
    };
    implementation(x)
}

fn fract_host<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let out = x.data_vec()?.into_iter().map(|v| T::from_f64(v.to_f64().fract())).collect(); //~ FT005
    Tensor::from_storage(TensorStorage::on_device(out, x.device())?, x.shape().to_vec(), false)
}

/// The name of the code path of a device, for traces.
pub fn path_name(device: Device) -> &'static str {
    match device {
        Device::Cpu => "host",
        Device::Cuda(_) | Device::Xpu(_) | Device::Mps(_) => "device", //~ ok FT006: a label
    }
}
