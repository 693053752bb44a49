//! Tensors, autograd and device dispatch of minitorch.
//!
//! Device memory and kernels live in the backend crates; this crate only knows
//! the [`gpu_dispatch::GpuBackend`] trait that they implement.
#![allow(dead_code)]

pub mod anomaly;
pub mod autograd;
pub mod capabilities;
pub mod creation;
pub mod device;
pub mod dtype;
pub mod error;
pub mod fallback;
pub mod fused;
pub mod gpu_dispatch;
pub mod grad_fns;
pub mod linalg;
pub mod methods;
pub mod ops;
pub mod storage;
pub mod stride_tricks;
pub mod tensor;
pub mod tracing;

pub use device::Device;
pub use dtype::Float;
pub use error::{TorchError, TorchResult};
pub use tensor::Tensor;
