//! Device memory with an owner.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::device::{CudaContext, GpuDevice};
use crate::driver::DevicePtr;
use crate::error::GpuResult;
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

/// `len` elements on a device, freed when dropped.
pub struct CudaBuffer<T> {
    ptr: DevicePtr,
    len: usize,
    ordinal: usize,
    context: Arc<CudaContext>,
    _element: PhantomData<T>,
}

impl<T: Copy> CudaBuffer<T> {
    /// Zeroed device memory.
    pub fn zeros(len: usize, device: &GpuDevice) -> GpuResult<Self> {
        let context = device.context().clone();
        let ptr = context.driver.alloc(len * std::mem::size_of::<T>())?;
        Ok(Self { ptr, len, ordinal: device.ordinal(), context, _element: PhantomData })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    pub(crate) fn context(&self) -> &CudaContext {
        &self.context
    }

    /// A copy that never leaves the device.
    pub fn duplicate(&self, device: &GpuDevice) -> GpuResult<Self> {
        let copy = Self::zeros(self.len, device)?;
        self.context.driver.copy_dtod(copy.ptr, self.ptr, self.len * std::mem::size_of::<T>())?; //~ ok FT008: device to device
        Ok(copy)
    }

    /// An independent copy for the autograd graph.
    pub fn detach_copy(&self, device: &GpuDevice) -> GpuResult<Self> {
        let host = gpu_to_cpu(self, device)?; //~ FT002
        cpu_to_gpu(&host, device)
    }
}

impl<T> Drop for CudaBuffer<T> {
    fn drop(&mut self) {
        let _ = self.context.driver.free(self.ptr); //~ ok FT003: nothing useful can be done with a failed free
    }
}
