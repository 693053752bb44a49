//! The memory behind a tensor.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::device::Device;
use crate::dtype::Float;
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::{as_bytes, gpu_backend};

/// An opaque device allocation; the backend that made it knows what is inside.
#[derive(Clone)]
pub struct GpuBufferHandle {
    pub inner: Arc<dyn Any + Send + Sync>,
    pub len: usize,
    pub device: Device,
}

impl fmt::Debug for GpuBufferHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GpuBufferHandle({} on {})", self.len, self.device)
    }
}

#[derive(Debug)]
enum Buffer<T: Float> {
    Cpu(Vec<T>),
    Gpu(GpuBufferHandle),
}

/// Host or device memory of one tensor.
#[derive(Debug)]
pub struct TensorStorage<T: Float> {
    buffer: Buffer<T>,
}

impl<T: Float> TensorStorage<T> {
    pub fn cpu(data: Vec<T>) -> Self {
        Self { buffer: Buffer::Cpu(data) }
    }

    pub fn gpu(handle: GpuBufferHandle) -> Self {
        Self { buffer: Buffer::Gpu(handle) }
    }

    /// Put host data where `device` says. An explicit transfer.
    pub fn on_device(data: Vec<T>, device: Device) -> TorchResult<Self> {
        if device.is_cpu() {
            return Ok(Self::cpu(data));
        }
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let handle = backend.cpu_to_gpu(as_bytes(&data), std::mem::size_of::<T>(), device)?;
        Ok(Self::gpu(handle))
    }

    pub fn device(&self) -> Device {
        match &self.buffer {
            Buffer::Cpu(_) => Device::Cpu,
            Buffer::Gpu(handle) => handle.device,
        }
    }

    pub fn as_slice(&self) -> TorchResult<&[T]> {
        match &self.buffer {
            Buffer::Cpu(data) => Ok(data),
            Buffer::Gpu(_) => Err(TorchError::GpuTensorNotAccessible),
        }
    }

    pub fn gpu_handle(&self) -> TorchResult<&GpuBufferHandle> {
        match &self.buffer {
            Buffer::Gpu(handle) => Ok(handle),
            Buffer::Cpu(_) => Err(TorchError::InvalidArgument { //~ ok FT016: a host tensor where a device one is required is a broken precondition
                message: "gpu_handle() on a host tensor".into(),
            }),
        }
    }
}
