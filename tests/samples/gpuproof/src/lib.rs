//! A few GPU operators over the CUDA driver API: honest ones, and ones that break the rule each in its way.

pub mod cublas;
pub mod driver;
pub mod error;
pub mod kernels;
pub mod library;
pub mod ops;

pub use driver::{Buffer, Gpu};
pub use error::GpuError;
