//! Portable kernels, written once and compiled by the runtime for its target.
//!
//! Implemented on GPU; returns `RuntimeError::Unavailable` when no runtime is installed. //~ ok FT018: the vocabulary of the policy
#![allow(dead_code)]

pub mod kernels;
pub mod ops;
pub mod quant;
pub mod runtime;

pub use runtime::CubeRuntime;
