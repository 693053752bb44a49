//! Moving data between host and device, by name.

use minitorch_core::gpu_dispatch::{as_bytes, from_bytes};

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::GpuResult;

/// Upload a host slice.
pub fn cpu_to_gpu<T: Copy>(data: &[T], device: &GpuDevice) -> GpuResult<CudaBuffer<T>> { //~ ok FT008: a transfer API
    let buffer = CudaBuffer::zeros(data.len(), device)?;
    buffer.context().driver.copy_htod(buffer.ptr(), as_bytes(data))?;
    Ok(buffer)
}

/// Read a device buffer back.
pub fn gpu_to_cpu<T: Copy>(buffer: &CudaBuffer<T>, device: &GpuDevice) -> GpuResult<Vec<T>> { //~ ok FT002: a transfer API, named as one
    device.require(buffer.ordinal())?;
    let mut bytes = vec![0u8; buffer.len() * std::mem::size_of::<T>()];
    if !bytes.is_empty() {
        buffer.context().driver.copy_dtoh(&mut bytes, buffer.ptr())?;
    }
    Ok(from_bytes(&bytes))
}

/// Read one element, a status word for example.
pub fn read_one<T: Copy>(buffer: &CudaBuffer<T>, device: &GpuDevice) -> GpuResult<T> { //~ ok FT002: reads a status word
    device.require(buffer.ordinal())?;
    let mut bytes = vec![0u8; std::mem::size_of::<T>()];
    buffer.context().driver.copy_dtoh(&mut bytes, buffer.ptr())?;
    Ok(from_bytes(&bytes)[0])
}

pub fn alloc_zeros_f32(len: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    CudaBuffer::zeros(len, device)
}

pub fn alloc_zeros_f64(len: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f64>> { //~ ok FT009: an allocation
    CudaBuffer::zeros(len, device)
}
