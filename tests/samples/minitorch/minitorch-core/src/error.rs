//! Errors of the tensor library.

use std::fmt;

use crate::device::Device;

/// Everything an operator can fail with.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TorchError {
    ShapeMismatch { message: String },
    DeviceMismatch { expected: Device, got: Device },
    IndexOutOfBounds { index: usize, axis: usize, size: usize },
    InvalidArgument { message: String },
    Internal { message: String },
    BackwardNonScalar { shape: Vec<usize> },
    DeviceUnavailable,
    GpuTensorNotAccessible,
    NotImplementedOnCuda { op: &'static str },
    KernelFailed { kernel: &'static str },
}

impl fmt::Display for TorchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShapeMismatch { message } => write!(f, "shape mismatch: {message}"),
            Self::DeviceMismatch { expected, got } => {
                write!(f, "device mismatch: expected {expected}, got {got}")
            }
            Self::IndexOutOfBounds { index, axis, size } => {
                write!(f, "index {index} out of bounds on axis {axis} of size {size}")
            }
            Self::InvalidArgument { message } => write!(f, "invalid argument: {message}"),
            Self::Internal { message } => write!(f, "internal error: {message}"),
            Self::BackwardNonScalar { shape } => {
                write!(f, "backward called on a tensor of shape {shape:?}")
            }
            Self::DeviceUnavailable => write!(f, "no GPU backend is registered"),
            Self::GpuTensorNotAccessible => {
                write!(f, "the data of a device tensor can't be borrowed; call .cpu() first")
            }
            Self::NotImplementedOnCuda { op } => write!(f, "{op} is not implemented for 'CUDA'"),
            Self::KernelFailed { kernel } => write!(f, "kernel {kernel} could not run"),
        }
    }
}

impl std::error::Error for TorchError {}

/// Result alias of the library.
pub type TorchResult<T> = Result<T, TorchError>;
