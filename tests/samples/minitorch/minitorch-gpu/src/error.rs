//! Errors of the CUDA backend.

use std::fmt;

use minitorch_core::TorchError;

/// What can go wrong between the host and the card.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum GpuError {
    /// The driver returned a status other than success.
    Driver { call: &'static str, status: i32 },
    /// No driver library on this machine.
    DriverNotFound,
    /// The kernel's PTX did not compile or its entry was not found.
    PtxCompileFailed { kernel: &'static str },
    /// The operator has no kernel for this dtype.
    Unsupported { op: &'static str, dtype: &'static str },
    /// A size is over what the kernel can address.
    TooLarge { op: &'static str, limit: usize, got: usize },
    ShapeMismatch { op: &'static str, expected: Vec<usize>, got: Vec<usize> },
    LengthMismatch { a: usize, b: usize },
    DeviceMismatch { expected: usize, got: usize },
    /// The crate was built without its `cuda` feature.
    NoCudaFeature,
    InvalidState { message: String },
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver { call, status } => write!(f, "{call} returned {status}"),
            Self::PtxCompileFailed { kernel } => write!(f, "kernel {kernel} could not be compiled"),
            Self::Unsupported { op, dtype } => write!(f, "{op} is not implemented for {dtype}"),
            other => write!(f, "{other:?}"),
        }
    }
}

impl std::error::Error for GpuError {}

/// Result alias of the crate.
pub type GpuResult<T> = Result<T, GpuError>;

impl From<GpuError> for TorchError {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::PtxCompileFailed { kernel } => TorchError::KernelFailed { kernel }, //~ ok FT016: stays structured
            GpuError::Unsupported { op, .. } => TorchError::NotImplementedOnCuda { op }, //~ ok FT016: stays structured
            GpuError::DriverNotFound | GpuError::NoCudaFeature => TorchError::DeviceUnavailable,
            other => TorchError::Internal { message: other.to_string() }, //~ ok FT016: a driver status, not an unsupported case
        }
    }
}
