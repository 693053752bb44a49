//! The XPU device.

use minitorch_core::{Device, Tensor, TorchError, TorchResult};
use minitorch_cubecl::CubeRuntime;

/// A portable GPU and its runtime.
#[derive(Clone)]
pub struct XpuDevice {
    ordinal: usize,
    runtime: CubeRuntime,
}

impl XpuDevice {
    #[cfg(feature = "wgpu")]
    pub fn new(ordinal: usize) -> TorchResult<Self> {
        Ok(Self { ordinal, runtime: CubeRuntime::new()? })
    }

    #[cfg(not(feature = "wgpu"))]
    pub fn new(_ordinal: usize) -> TorchResult<Self> {
        Err(TorchError::DeviceUnavailable) //~ ok FT004: structured
    }

    pub fn device(&self) -> Device {
        Device::Xpu(self.ordinal)
    }

    pub fn runtime(&self) -> &CubeRuntime {
        &self.runtime
    }

    /// Whether this build can open one.
    pub fn is_available() -> bool {
        cfg!(feature = "wgpu") && CubeRuntime::new().is_ok()
    }
}

/// Operands must be host tensors that this crate uploads.
pub fn check_operand(t: &Tensor<f32>, xpu: &XpuDevice) -> TorchResult<()> {
    if t.is_cuda() {
        return Err(TorchError::DeviceMismatch { expected: xpu.device(), got: t.device() }); //~ ok FT016: structured
    }
    Ok(())
}
