//! The contract between the tensor library and a device backend.
//!
//! Backends register themselves once; operators ask for [`gpu_backend`] and
//! call the method of their dtype.

use std::sync::OnceLock;

use crate::device::Device;
use crate::error::{TorchError, TorchResult};
use crate::storage::GpuBufferHandle;

type Handle = GpuBufferHandle;

/// What a device backend can do. Methods without a body must be provided.
pub trait GpuBackend: Send + Sync {
    fn name(&self) -> &'static str;
    fn cpu_to_gpu(&self, bytes: &[u8], elem_size: usize, device: Device) -> TorchResult<Handle>;
    fn gpu_to_cpu(&self, handle: &Handle) -> TorchResult<Vec<u8>>;
    fn alloc_zeros(&self, len: usize, elem_size: usize, device: Device) -> TorchResult<Handle>;
    fn clone_buffer(&self, handle: &Handle) -> TorchResult<Handle>;

    fn add_f32(&self, a: &Handle, b: &Handle) -> TorchResult<Handle>;
    fn mul_f32(&self, a: &Handle, b: &Handle) -> TorchResult<Handle>;
    fn neg_f32(&self, a: &Handle) -> TorchResult<Handle>;
    fn relu_f32(&self, a: &Handle) -> TorchResult<Handle>;
    fn sigmoid_f32(&self, a: &Handle) -> TorchResult<Handle>;
    fn tanh_f32(&self, a: &Handle) -> TorchResult<Handle>;
    fn relu_backward_f32(&self, grad: &Handle, input: &Handle) -> TorchResult<Handle>;
    fn sum_f32(&self, a: &Handle) -> TorchResult<Handle>;
    fn min_f32(&self, a: &Handle) -> TorchResult<Handle>;
    fn fill_f32(&self, len: usize, value: f32, device: Device) -> TorchResult<Handle>;
    fn matmul_f32(&self, a: &Handle, b: &Handle, m: usize, k: usize, n: usize) -> TorchResult<Handle>;
    fn strided_copy_f32(&self, a: &Handle, shape: &[usize], strides: &[isize], offset: usize) -> TorchResult<Handle>;
    fn cummax_f32(&self, a: &Handle, rows: usize, cols: usize) -> TorchResult<(Handle, Handle)>;

    fn add_f64(&self, _a: &Handle, _b: &Handle) -> TorchResult<Handle> {
        Err(TorchError::NotImplementedOnCuda { op: "add_f64" }) //~ ok FT016: structured
    }

    fn prod_f32(&self, _a: &Handle) -> TorchResult<Handle> {
        Err(TorchError::InvalidArgument { message: "prod_f32 is not implemented by this GPU backend".into() }) //~ FT016
    }

    fn max_f32(&self, _a: &Handle) -> TorchResult<Handle> {
        Err(TorchError::InvalidArgument { //~ FT016
            message: "GPU max_f32 not yet supported".into(),
        })
    }

    fn fused_adam_f32(&self, _param: &Handle, _grad: &Handle, _m: &Handle, _v: &Handle, _lr: f32) -> TorchResult<Handle> {
        let message = String::from("fused_adam_f32 is missing in this GPU backend");
        Err(TorchError::Internal { message }) //~ FT016
    }

    /// Whether any element is infinite or NaN.
    fn has_inf_nan_f32(&self, a: &Handle) -> TorchResult<bool> {
        let bytes = self.gpu_to_cpu(a)?; //~ FT006
        let values: Vec<f32> = from_bytes(&bytes);
        Ok(values.iter().any(|v| !v.is_finite()))
    }

    fn clamp_f32(&self, a: &Handle, low: f32, high: f32) -> TorchResult<Handle> {
        let mut values: Vec<f32> = from_bytes(&self.gpu_to_cpu(a)?); //~ FT006
        for v in &mut values {
            *v = v.clamp(low, high);
        }
        self.cpu_to_gpu(as_bytes(&values), 4, a.device)
    }

    /// The mean, composed from two other device operators.
    fn mean_f32(&self, a: &Handle) -> TorchResult<Handle> {
        let scale = self.fill_f32(1, 1.0 / a.len as f32, a.device)?; //~ ok FT006: composed from device methods
        self.mul_f32(&self.sum_f32(a)?, &scale)
    }

    /// Upload through pinned memory where the backend has it.
    fn cpu_to_gpu_pinned(&self, bytes: &[u8], elem_size: usize, device: Device) -> TorchResult<Handle> {
        self.cpu_to_gpu(bytes, elem_size, device) //~ ok FT001: a plainer upload is still an upload
    }

    /// Advance the device generator; returns seed and counter.
    fn dropout_philox_f32(&self, a: &Handle, _p: f32) -> TorchResult<(Handle, u64, u64)> {
        Ok((a.clone(), 0, 0)) //~ FT003
    }

    fn synchronize(&self) -> TorchResult<()> {
        Err(TorchError::DeviceUnavailable) //~ ok FT016: structured
    }

    fn stream_count(&self) -> usize {
        1 //~ ok FT003: a fact about the backend, not work
    }
}

static BACKEND: OnceLock<Box<dyn GpuBackend>> = OnceLock::new();

/// Register the backend of this process; false when one was there already.
pub fn register_backend(backend: Box<dyn GpuBackend>) -> bool {
    BACKEND.set(backend).is_ok()
}

pub fn gpu_backend() -> Option<&'static dyn GpuBackend> {
    BACKEND.get().map(|b| &**b)
}

/// The bytes of a host slice.
pub fn as_bytes<T: Copy>(data: &[T]) -> &[u8] {
    // SAFETY: any initialised slice of plain numbers may be read as bytes.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), std::mem::size_of_val(data)) }
}

/// Host numbers from bytes in native order.
pub fn from_bytes<T: Copy>(bytes: &[u8]) -> Vec<T> {
    let n = bytes.len() / std::mem::size_of::<T>();
    // SAFETY: every bit pattern is a number; reads are unaligned.
    (0..n).map(|i| unsafe { bytes.as_ptr().cast::<T>().add(i).read_unaligned() }).collect()
}
