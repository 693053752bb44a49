//! minitorch: tensors, layers and optimisers under one name.
//!
//! Every operator works on GPU when available, CPU otherwise. //~ FT018
//!
//! Transfers are explicit: `to`, `cpu` and `cuda` move data, nothing else does. //~ ok FT018: says what moves data

pub use minitorch_core as core;
pub use minitorch_cubecl as cubecl;
pub use minitorch_distributed as distributed;
pub use minitorch_distributions as distributions;
pub use minitorch_gpu as gpu;
pub use minitorch_jit as jit;
pub use minitorch_nn as nn;
pub use minitorch_optim as optim;
pub use minitorch_xpu as xpu;

pub use minitorch_core::{Device, Tensor, TorchError, TorchResult};
