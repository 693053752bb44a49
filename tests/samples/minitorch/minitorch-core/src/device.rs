//! Where a tensor lives.

use std::fmt;

/// A compute device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Device {
    #[default]
    Cpu,
    /// An NVIDIA GPU, by ordinal.
    Cuda(usize),
    /// A portable GPU reached through the cube runtime, by ordinal.
    Xpu(usize),
    /// An Apple GPU, by ordinal.
    Mps(usize),
}

impl Device {
    pub fn is_cpu(self) -> bool {
        matches!(self, Device::Cpu)
    }

    pub fn is_cuda(self) -> bool {
        matches!(self, Device::Cuda(_))
    }

    pub fn is_xpu(self) -> bool {
        matches!(self, Device::Xpu(_))
    }

    /// The ordinal, 0 for the host.
    pub fn ordinal(self) -> usize {
        match self {
            Device::Cpu => 0,
            Device::Cuda(n) | Device::Xpu(n) | Device::Mps(n) => n,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => write!(f, "cpu"),
            Device::Cuda(n) => write!(f, "cuda:{n}"),
            Device::Xpu(n) => write!(f, "xpu:{n}"),
            Device::Mps(n) => write!(f, "mps:{n}"),
        }
    }
}
