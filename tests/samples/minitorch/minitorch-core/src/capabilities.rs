//! What a backend can do, to be asked before dispatching.
//!
//! `lu` and `eig` have no device implementation; [`DeviceCapabilities`] says so
//! and their operators return a structured error.

use crate::device::Device;

/// An operator that callers may ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    Relu,
    Matmul,
    Lu,
    Eig,
}

/// The answer of one device.
#[derive(Debug, Clone)]
pub struct DeviceCapabilities {
    device: Device,
}

impl DeviceCapabilities {
    pub fn query(device: Device) -> Self {
        Self { device }
    }

    /// Whether `op` has a kernel for `dtype` here.
    pub fn supports(&self, op: Op, dtype: &str) -> bool {
        match (self.device, op) {
            (Device::Cpu, _) => true,
            // lu and eig have no CUDA kernel yet. //~ ok FT014: callers can ask this very function
            (_, Op::Lu | Op::Eig) => false,
            (_, Op::Relu | Op::Matmul) => dtype == "f32",
        }
    }

    /// The largest rank of a strided copy.
    pub fn max_strided_rank(&self) -> usize {
        8
    }
}

/// Where `op` should run: the caller's own choice, made in the open.
pub fn placement(op: Op, dtype: &str, wanted: Device) -> Device {
    if DeviceCapabilities::query(wanted).supports(op, dtype) {
        wanted
    } else {
        Device::Cpu //~ ok FT006: the caller asks for a placement and sees it
    }
}
