//! A CUDA device: its context and its stream.

use std::ffi::c_void;
use std::sync::Arc;

use crate::driver::{driver, DevicePtr, Driver, Handle};
use crate::error::{GpuError, GpuResult};
use crate::module_cache::Function;

/// A driver context.
pub struct CudaContext {
    pub(crate) driver: &'static Driver,
    _context: Handle,
}

// SAFETY: the driver's calls are thread safe.
unsafe impl Send for CudaContext {}
// SAFETY: as above.
unsafe impl Sync for CudaContext {}

impl CudaContext {
    pub fn new(ordinal: usize) -> GpuResult<Arc<Self>> {
        let driver = driver()?;
        Ok(Arc::new(Self { driver, _context: driver.primary_context(ordinal)? }))
    }
}

/// The queue that kernels are launched on.
#[derive(Clone)]
pub struct CudaStream {
    context: Arc<CudaContext>,
}

/// Grid and block of a launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchConfig {
    pub grid: u32,
    pub block: u32,
}

/// Collects a kernel's arguments.
pub struct LaunchBuilder<'a> {
    stream: &'a CudaStream,
    function: &'a Function,
    pointers: Vec<Box<u64>>,
    args: Vec<*mut c_void>,
}

impl CudaStream {
    pub fn launch_builder<'a>(&'a self, function: &'a Function) -> LaunchBuilder<'a> {
        LaunchBuilder { stream: self, function, pointers: Vec::new(), args: Vec::new() }
    }

    pub fn synchronize(&self) -> GpuResult<()> {
        self.context.driver.synchronize()
    }

    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}

impl LaunchBuilder<'_> {
    pub fn buffer(mut self, ptr: DevicePtr) -> Self {
        self.pointers.push(Box::new(ptr));
        let last: *mut u64 = &mut **self.pointers.last_mut().expect("just pushed");
        self.args.push(last.cast());
        self
    }

    pub fn arg<T>(mut self, value: &T) -> Self {
        self.args.push((value as *const T).cast_mut().cast());
        self
    }

    /// # Safety
    /// The arguments must be those of the kernel, in order.
    pub unsafe fn launch(mut self, cfg: LaunchConfig) -> GpuResult<()> {
        self.stream.context.driver.launch(self.function.handle, cfg.grid, cfg.block, &mut self.args)
    }
}

/// A device with its default stream.
#[derive(Clone)]
pub struct GpuDevice {
    ordinal: usize,
    stream: CudaStream,
}

impl GpuDevice {
    pub fn new(ordinal: usize) -> GpuResult<Self> {
        let context = CudaContext::new(ordinal)?;
        Ok(Self { ordinal, stream: CudaStream { context } })
    }

    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub fn stream(&self) -> &CudaStream {
        &self.stream
    }

    pub fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    pub fn require(&self, ordinal: usize) -> GpuResult<()> {
        if self.ordinal == ordinal {
            return Ok(());
        }
        Err(GpuError::DeviceMismatch { expected: self.ordinal, got: ordinal })
    }
}
