//! The compute client: buffers and launches of whichever runtime is installed.
//!
//! The runtime itself (WebGPU, CUDA) is supplied by the application through
//! [`install_server`]; without one every call is [`RuntimeError::Unavailable`].

use std::fmt;
use std::sync::{Arc, OnceLock};

use minitorch_core::TorchError;

/// A device buffer of the runtime.
#[derive(Debug, Clone)]
pub struct CubeHandle {
    pub id: u64,
    pub len: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct CubeCount(pub u32, pub u32, pub u32);

#[derive(Debug, Clone, Copy)]
pub struct CubeDim(pub u32, pub u32, pub u32);

/// An argument of a kernel.
#[derive(Debug, Clone)]
pub enum KernelArg {
    Buffer(CubeHandle),
    F32(f32),
    U32(u32),
}

#[derive(Debug, Clone, PartialEq)]
pub enum RuntimeError {
    Unavailable,
    CompileFailed { kernel: &'static str },
    LaunchFailed { kernel: &'static str },
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl From<RuntimeError> for TorchError {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Unavailable => TorchError::DeviceUnavailable,
            RuntimeError::CompileFailed { kernel } | RuntimeError::LaunchFailed { kernel } => TorchError::KernelFailed { kernel },
        }
    }
}

/// What a runtime implements.
pub trait ComputeServer: Send + Sync {
    fn create(&self, data: &[f32]) -> Result<CubeHandle, RuntimeError>;
    fn empty(&self, len: usize) -> Result<CubeHandle, RuntimeError>;
    fn read(&self, handle: &CubeHandle) -> Result<Vec<f32>, RuntimeError>;
    fn submit(&self, kernel: &'static str, count: CubeCount, dim: CubeDim, args: &[KernelArg]) -> Result<(), RuntimeError>;
}

static SERVER: OnceLock<Arc<dyn ComputeServer>> = OnceLock::new();

/// Install the runtime of this process; the first one wins.
pub fn install_server(server: Arc<dyn ComputeServer>) -> bool {
    SERVER.set(server).is_ok()
}

/// Talks to the installed runtime.
#[derive(Clone)]
pub struct ComputeClient {
    server: Arc<dyn ComputeServer>,
}

impl ComputeClient {
    pub fn create(&self, data: &[f32]) -> Result<CubeHandle, RuntimeError> {
        self.server.create(data)
    }

    pub fn empty(&self, len: usize) -> Result<CubeHandle, RuntimeError> {
        self.server.empty(len)
    }

    pub fn read_one(&self, handle: &CubeHandle) -> Result<Vec<f32>, RuntimeError> {
        self.server.read(handle)
    }

    pub fn submit(&self, kernel: &'static str, count: CubeCount, dim: CubeDim, args: &[KernelArg]) -> Result<(), RuntimeError> {
        self.server.submit(kernel, count, dim, args)
    }
}

/// A runtime with its client.
#[derive(Clone)]
pub struct CubeRuntime {
    client: ComputeClient,
}

impl CubeRuntime {
    pub fn new() -> Result<Self, RuntimeError> {
        let server = SERVER.get().ok_or(RuntimeError::Unavailable)?.clone(); //~ ok FT001: a structured error
        Ok(Self { client: ComputeClient { server } })
    }

    pub fn client(&self) -> &ComputeClient {
        &self.client
    }
}
