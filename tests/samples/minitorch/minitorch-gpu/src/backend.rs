//! The backend that the tensor library dispatches to.

use std::sync::Arc;

use minitorch_core::gpu_dispatch::{as_bytes, from_bytes, register_backend, GpuBackend};
use minitorch_core::storage::GpuBufferHandle;
use minitorch_core::{Device, TorchError, TorchResult};

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::GpuResult;
use crate::{activation, blas, elementwise, kernels, reduce, scan, transfer};

/// Operators of one card.
pub struct CudaBackend {
    device: GpuDevice,
}

// SAFETY: the context behind the device is thread safe.
unsafe impl<T> Send for CudaBuffer<T> {}
// SAFETY: as above; buffers are only written through `&mut`.
unsafe impl<T> Sync for CudaBuffer<T> {}

/// Open the card and register its backend.
pub fn init_cuda_backend(ordinal: usize) -> GpuResult<bool> {
    let device = GpuDevice::new(ordinal)?;
    Ok(register_backend(Box::new(CudaBackend { device })))
}

impl CudaBackend {
    fn wrap<T: Copy + 'static>(&self, buffer: CudaBuffer<T>) -> GpuBufferHandle {
        let (len, device) = (buffer.len(), Device::Cuda(self.device.ordinal()));
        GpuBufferHandle { inner: Arc::new(buffer), len, device }
    }

    fn f32<'a>(&self, handle: &'a GpuBufferHandle) -> TorchResult<&'a CudaBuffer<f32>> {
        handle.inner.downcast_ref().ok_or(TorchError::DeviceMismatch { expected: Device::Cuda(self.device.ordinal()), got: handle.device })
    }

    fn done(&self, result: GpuResult<CudaBuffer<f32>>) -> TorchResult<GpuBufferHandle> {
        Ok(self.wrap(result?))
    }
}

impl GpuBackend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn cpu_to_gpu(&self, bytes: &[u8], elem_size: usize, _device: Device) -> TorchResult<GpuBufferHandle> {
        match elem_size {
            8 => Ok(self.wrap(transfer::cpu_to_gpu(&from_bytes::<f64>(bytes), &self.device)?)),
            _ => Ok(self.wrap(transfer::cpu_to_gpu(&from_bytes::<f32>(bytes), &self.device)?)),
        }
    }

    fn gpu_to_cpu(&self, handle: &GpuBufferHandle) -> TorchResult<Vec<u8>> {
        if let Some(buffer) = handle.inner.downcast_ref::<CudaBuffer<f64>>() {
            return Ok(as_bytes(&transfer::gpu_to_cpu(buffer, &self.device)?).to_vec()); //~ ok FT008: the transfer API
        }
        Ok(as_bytes(&transfer::gpu_to_cpu(self.f32(handle)?, &self.device)?).to_vec())
    }

    fn alloc_zeros(&self, len: usize, elem_size: usize, _device: Device) -> TorchResult<GpuBufferHandle> {
        match elem_size {
            8 => Ok(self.wrap(transfer::alloc_zeros_f64(len, &self.device)?)),
            _ => Ok(self.wrap(transfer::alloc_zeros_f32(len, &self.device)?)),
        }
    }

    fn clone_buffer(&self, handle: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        let bytes = self.gpu_to_cpu(handle)?; //~ FT002
        self.cpu_to_gpu(&bytes, bytes.len() / handle.len.max(1), handle.device)
    }

    fn add_f32(&self, a: &GpuBufferHandle, b: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(elementwise::gpu_add(self.f32(a)?, self.f32(b)?, &self.device)) //~ ok FT006: one call into the operator
    }

    fn mul_f32(&self, a: &GpuBufferHandle, b: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(elementwise::gpu_mul(self.f32(a)?, self.f32(b)?, &self.device))
    }

    fn neg_f32(&self, a: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(elementwise::gpu_neg(self.f32(a)?, &self.device))
    }

    fn relu_f32(&self, a: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(activation::gpu_relu(self.f32(a)?, &self.device))
    }

    fn sigmoid_f32(&self, a: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(activation::gpu_sigmoid(self.f32(a)?, &self.device))
    }

    fn tanh_f32(&self, a: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(activation::gpu_tanh(self.f32(a)?, &self.device))
    }

    fn relu_backward_f32(&self, grad: &GpuBufferHandle, input: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(activation::gpu_relu_backward(self.f32(grad)?, self.f32(input)?, &self.device))
    }

    fn sum_f32(&self, a: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(reduce::gpu_reduce_sum(self.f32(a)?, &self.device))
    }

    fn min_f32(&self, a: &GpuBufferHandle) -> TorchResult<GpuBufferHandle> {
        self.done(reduce::gpu_reduce_min(self.f32(a)?, &self.device))
    }

    fn fill_f32(&self, len: usize, value: f32, _device: Device) -> TorchResult<GpuBufferHandle> {
        self.done(kernels::gpu_fill(len, value, &self.device))
    }

    fn matmul_f32(&self, a: &GpuBufferHandle, b: &GpuBufferHandle, m: usize, k: usize, n: usize) -> TorchResult<GpuBufferHandle> {
        self.done(blas::gpu_matmul_f32(self.f32(a)?, self.f32(b)?, blas::Dims { m, k, n }, &self.device))
    }

    fn strided_copy_f32(&self, a: &GpuBufferHandle, shape: &[usize], strides: &[isize], offset: usize) -> TorchResult<GpuBufferHandle> {
        self.done(kernels::gpu_strided_copy(self.f32(a)?, shape, strides, offset, &self.device))
    }

    fn cummax_f32(&self, a: &GpuBufferHandle, rows: usize, _cols: usize) -> TorchResult<(GpuBufferHandle, GpuBufferHandle)> {
        let (values, positions) = scan::gpu_cummax(self.f32(a)?, rows, &self.device)?;
        Ok((self.wrap(values), self.wrap(positions)))
    }

    fn synchronize(&self) -> TorchResult<()> {
        Ok(self.device.stream().synchronize()?)
    }
}
