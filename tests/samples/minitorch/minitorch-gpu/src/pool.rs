//! Choosing a device, and staging memory.

use std::sync::{Mutex, OnceLock};

use minitorch_core::{Device, Tensor, TorchError, TorchResult};

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::elementwise::{gpu_add, gpu_scale};
use crate::error::{GpuError, GpuResult};
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

static SHARED: OnceLock<Option<GpuDevice>> = OnceLock::new();

// SAFETY-free: the device holds an Arc of a context that is Send and Sync.
fn shared() -> &'static Option<GpuDevice> {
    SHARED.get_or_init(|| GpuDevice::new(0).ok())
}

/// The device for training.
pub fn best_device() -> Device {
    GpuDevice::new(0).map(|d| Device::Cuda(d.ordinal())).unwrap_or(Device::Cpu) //~ FT001
}

/// The device for training, or why there is none.
pub fn require_device() -> GpuResult<Device> {
    GpuDevice::new(0).map(|d| Device::Cuda(d.ordinal())) //~ ok FT001: the error goes to the caller
}

/// Scale on the shared device.
pub fn gpu_scale_shared(values: &[f32], factor: f32) -> GpuResult<Vec<f32>> {
    match shared() {
        Some(device) => {
            let x = cpu_to_gpu(values, device)?;
            gpu_to_cpu(&gpu_scale(&x, factor, device)?, device) //~ FT008
        }
        None => Ok(values.iter().map(|v| v * factor).collect()), //~ FT001
    }
}

/// Add on the shared device, which must be there.
pub fn gpu_add_shared(a: &CudaBuffer<f32>, b: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
    let device = shared().as_ref().ok_or(GpuError::DriverNotFound)?; //~ ok FT001: a structured error
    gpu_add(a, b, device)
}

/// Double the values; without a card a host loop does.
pub fn gpu_double_or_host(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    gpu_add(x, x, device).or_else(|_| {
        let host = gpu_to_cpu(x, device)?; //~ FT001
        cpu_to_gpu(&host.iter().map(|v| v + v).collect::<Vec<f32>>(), device)
    })
}

/// Keeps freed blocks for reuse. Sizes only; memory stays with its buffers.
#[derive(Debug, Default)]
pub struct CudaPool {
    sizes: Mutex<Vec<usize>>,
}

impl CudaPool {
    pub fn record(&self, bytes: usize) {
        if let Ok(mut sizes) = self.sizes.lock() {
            sizes.push(bytes); //~ ok FT001: a lock, and bookkeeping only
        }
    }

    pub fn total(&self) -> usize {
        self.sizes.lock().map(|s| s.iter().sum()).unwrap_or(0) //~ ok FT002: host bookkeeping in a type named Cuda
    }
}

/// Place a tensor for inference.
pub fn place(t: &Tensor<f32>, wanted: Device) -> TorchResult<Tensor<f32>> {
    match wanted {
        Device::Cpu => Ok(t.clone()),
        Device::Cuda(_) => t.to(wanted),
        Device::Xpu(_) | Device::Mps(_) => t.to(Device::Cpu), //~ FT006
    }
}

/// Place a tensor, refusing what this build has no backend for.
pub fn place_strict(t: &Tensor<f32>, wanted: Device) -> TorchResult<Tensor<f32>> {
    match wanted {
        Device::Cpu | Device::Cuda(_) => t.to(wanted),
        Device::Xpu(_) | Device::Mps(_) => Err(TorchError::DeviceUnavailable), //~ ok FT006: structured
    }
}
