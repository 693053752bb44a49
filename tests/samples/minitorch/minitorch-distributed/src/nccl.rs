//! The NCCL backend, for builds that have it.

use minitorch_core::{TorchError, TorchResult};
use minitorch_gpu::{CudaBuffer, GpuDevice};

/// A communicator.
pub struct NcclBackend {
    rank: usize,
    world: usize,
}

impl NcclBackend {
    pub fn new(rank: usize, world: usize) -> TorchResult<Self> {
        if rank >= world {
            return Err(TorchError::InvalidArgument { message: format!("rank {rank} of {world}") }); //~ ok FT016: a bad argument on every device
        }
        Ok(Self { rank, world })
    }

    /// Sum over ranks.
    #[cfg(feature = "nccl")]
    pub fn allreduce(&self, _x: &CudaBuffer<f32>, _device: &GpuDevice) -> TorchResult<()> {
        Ok(()) //~ FT004
    }

    #[cfg(not(feature = "nccl"))]
    pub fn allreduce(&self, _x: &CudaBuffer<f32>, _device: &GpuDevice) -> TorchResult<()> {
        Err(TorchError::DeviceUnavailable) //~ ok FT004: structured
    }

    /// Wait for all ranks.
    pub fn barrier(&self, device: &GpuDevice) -> TorchResult<()> {
        Ok(device.stream().synchronize()?) //~ ok FT003: waits for the device
    }

    /// Send to the next rank.
    pub fn send(&self, _x: &CudaBuffer<f32>) -> TorchResult<()> {
        Err(TorchError::InvalidArgument { message: "NCCL send is not implemented on GPU buffers".into() }) //~ FT016
    }

    pub fn rank(&self) -> usize {
        self.rank
    }
}
