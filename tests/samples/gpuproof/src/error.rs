//! What a GPU operation answers when it can't run.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GpuError {
    /// There is no driver or no such device.
    NoDevice { reason: String },
    /// The operator has no kernel for this dtype.
    Unsupported { op: &'static str, dtype: &'static str },
    /// The driver refused the kernel's PTX.
    PtxCompileFailed { kernel: &'static str },
    /// A driver or library call failed.
    Call { name: &'static str, code: i32 },
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for GpuError {}
