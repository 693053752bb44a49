//! Operators for portable GPUs, one function an operator.
//!
//! Names follow PyTorch and fall back to the Rust name where PyTorch has none. //~ ok FT018: about names
#![allow(dead_code)]

pub mod device;
pub mod ops;

pub use device::XpuDevice;
