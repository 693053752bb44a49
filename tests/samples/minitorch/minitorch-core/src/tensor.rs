//! The tensor: shape and strides over shared storage.

use std::sync::{Arc, Mutex};

use crate::autograd::{GradFn, ToDeviceBackward};
use crate::device::Device;
use crate::dtype::Float;
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::{from_bytes, gpu_backend};
use crate::storage::{GpuBufferHandle, TensorStorage};

#[derive(Debug)]
struct Inner<T: Float> {
    storage: Arc<TensorStorage<T>>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
    requires_grad: bool,
    grad_fn: Option<Arc<dyn GradFn<T>>>,
    grad: Mutex<Option<Tensor<T>>>,
}

/// An n-dimensional array that knows its device and its history.
#[derive(Debug, Clone)]
pub struct Tensor<T: Float> {
    inner: Arc<Inner<T>>,
}

/// Row-major strides of a shape.
pub fn contiguous_strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i] as isize;
    }
    strides
}

impl<T: Float> Tensor<T> {
    fn build(
        storage: Arc<TensorStorage<T>>,
        shape: Vec<usize>,
        strides: Vec<isize>,
        offset: usize,
        requires_grad: bool,
        grad_fn: Option<Arc<dyn GradFn<T>>>,
    ) -> Self {
        let grad = Mutex::new(None);
        Self { inner: Arc::new(Inner { storage, shape, strides, offset, requires_grad, grad_fn, grad }) }
    }

    pub fn from_storage(storage: TensorStorage<T>, shape: Vec<usize>, requires_grad: bool) -> TorchResult<Self> {
        let strides = contiguous_strides(&shape);
        Ok(Self::build(Arc::new(storage), shape, strides, 0, requires_grad, None))
    }

    pub fn from_operation(storage: TensorStorage<T>, shape: Vec<usize>, grad_fn: Arc<dyn GradFn<T>>) -> TorchResult<Self> {
        let strides = contiguous_strides(&shape);
        Ok(Self::build(Arc::new(storage), shape, strides, 0, true, Some(grad_fn)))
    }

    pub fn from_vec(data: Vec<T>, shape: &[usize]) -> TorchResult<Self> {
        let expected: usize = shape.iter().product();
        if data.len() != expected {
            return Err(TorchError::ShapeMismatch { message: format!("{} values for {shape:?}", data.len()) });
        }
        Self::from_storage(TensorStorage::cpu(data), shape.to_vec(), false)
    }

    /// Another view of the same memory.
    pub fn as_view(&self, shape: Vec<usize>, strides: Vec<isize>, offset: usize) -> Self {
        let grad_fn = self.inner.grad_fn.clone();
        Self::build(self.inner.storage.clone(), shape, strides, offset, self.inner.requires_grad, grad_fn)
    }

    pub fn with_requires_grad(self) -> Self {
        let i = &self.inner;
        Self::build(i.storage.clone(), i.shape.clone(), i.strides.clone(), i.offset, true, i.grad_fn.clone())
    }

    pub fn device(&self) -> Device {
        self.inner.storage.device()
    }

    pub fn is_cuda(&self) -> bool {
        self.device().is_cuda()
    }

    pub fn shape(&self) -> &[usize] {
        &self.inner.shape
    }

    pub fn strides(&self) -> &[isize] {
        &self.inner.strides
    }

    pub fn storage_offset(&self) -> usize {
        self.inner.offset
    }

    pub fn numel(&self) -> usize {
        self.inner.shape.iter().product()
    }

    pub fn is_contiguous(&self) -> bool {
        self.inner.offset == 0 && self.inner.strides == contiguous_strides(&self.inner.shape)
    }

    pub fn requires_grad(&self) -> bool {
        self.inner.requires_grad
    }

    pub fn grad_fn(&self) -> Option<&Arc<dyn GradFn<T>>> {
        self.inner.grad_fn.as_ref()
    }

    pub fn grad(&self) -> Option<Tensor<T>> {
        self.inner.grad.lock().ok()?.clone() //~ ok FT001: a poisoned lock, not a device failure
    }

    pub(crate) fn grad_slot(&self) -> &Mutex<Option<Tensor<T>>> {
        &self.inner.grad
    }

    pub fn gpu_handle(&self) -> TorchResult<&GpuBufferHandle> {
        self.inner.storage.gpu_handle()
    }

    /// Borrow the elements. A device tensor is an error: call [`Tensor::cpu`] first.
    pub fn data(&self) -> TorchResult<&[T]> {
        let all = self.inner.storage.as_slice()?;
        if !self.is_contiguous() {
            return Err(TorchError::InvalidArgument { message: "data() on a strided view".into() });
        }
        Ok(all)
    }

    /// Read the elements back to the host. This is the explicit read API.
    pub fn data_vec(&self) -> TorchResult<Vec<T>> {
        let all = if self.is_cuda() {
            let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
            from_bytes(&backend.gpu_to_cpu(self.gpu_handle()?)?) //~ ok FT008: the read API itself
        } else {
            self.inner.storage.as_slice()?.to_vec()
        };
        let mut out = Vec::with_capacity(self.numel());
        self.for_each_offset(|at| out.push(all[at]));
        Ok(out)
    }

    fn for_each_offset(&self, mut visit: impl FnMut(usize)) {
        let mut index = vec![0usize; self.inner.shape.len()];
        for _ in 0..self.numel() {
            let step: isize = index.iter().zip(&self.inner.strides).map(|(&i, &s)| i as isize * s).sum();
            visit((self.inner.offset as isize + step) as usize);
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < self.inner.shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }

    pub fn cpu(&self) -> TorchResult<Self> {
        self.to(Device::Cpu)
    }

    pub fn cuda(&self, ordinal: usize) -> TorchResult<Self> {
        self.to(Device::Cuda(ordinal))
    }

    /// Move the tensor. The one place where data crosses devices on purpose.
    pub fn to(&self, device: Device) -> TorchResult<Self> {
        let from = self.device();
        match (from, device) {
            (a, b) if a == b => Ok(self.clone()),
            (Device::Cpu, Device::Cuda(_)) => self.moved(TensorStorage::on_device(self.data_vec()?, device)?),
            (Device::Cuda(_), Device::Cpu) => self.moved(TensorStorage::cpu(self.data_vec()?)), //~ ok FT008: the transfer API
            (Device::Cuda(_), Device::Cuda(_)) => self.to(Device::Cpu)?.to(device), //~ ok FT006: a copy between two cards, named a transfer
            _ => Ok(self.clone()), //~ FT003
        }
    }

    fn moved(&self, storage: TensorStorage<T>) -> TorchResult<Self> {
        if self.requires_grad() {
            let grad_fn = Arc::new(ToDeviceBackward { source: self.clone() });
            return Self::from_operation(storage, self.shape().to_vec(), grad_fn);
        }
        Self::from_storage(storage, self.shape().to_vec(), false)
    }

    /// The value of a one-element host tensor.
    pub fn item(&self) -> TorchResult<T> {
        match self.data()? { //~ ok FT008: data() refuses device memory
            [value] => Ok(*value),
            other => Err(TorchError::ShapeMismatch { message: format!("item() of {} elements", other.len()) }),
        }
    }

    /// A short text for logs, from the first `limit` elements.
    pub fn preview(&self, limit: usize) -> TorchResult<String> {
        let shown: Vec<String> = self.data_vec()?.iter().take(limit).map(|v| format!("{:.4}", v.to_f64())).collect(); //~ ok FT008: printing for people
        Ok(format!("[{}] {:?} on {}", shown.join(", "), self.shape(), self.device()))
    }
}
