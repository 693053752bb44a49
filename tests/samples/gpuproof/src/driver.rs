//! The few calls of the CUDA driver that the operators need.

use std::ffi::{c_char, c_int, c_uint, c_void, CString};
use std::mem::{size_of_val, transmute};
use std::ptr::null_mut;

use crate::error::GpuError;
use crate::library::Library;

pub type Result<T> = std::result::Result<T, GpuError>;

type Handle = *mut c_void;

/// Calls a driver function by its name, with arguments of the given types.
macro_rules! call {
    ($library:expr, $name:literal, $($value:expr => $kind:ty),*) => {{
        let address = $library.symbol($name).ok_or(GpuError::Call { name: $name, code: -1 })?;
        let function: unsafe extern "C" fn($($kind),*) -> c_int = unsafe { transmute(address) };
        match unsafe { function($($value),*) } {
            0 => Ok(()),
            code => Err(GpuError::Call { name: $name, code }),
        }
    }};
}
pub(crate) use call;

/// One device with its primary context, current on the thread that opened it.
pub struct Gpu {
    pub(crate) cuda: Library,
    context: Handle,
}

unsafe impl Send for Gpu {}
unsafe impl Sync for Gpu {}

/// `f32` values in device memory.
pub struct Buffer<'g> {
    gpu: &'g Gpu,
    pub(crate) pointer: u64,
    pub(crate) len: usize,
}

/// A kernel in a loaded module.
#[derive(Clone, Copy)]
pub struct Kernel(Handle);

impl Gpu {
    /// Opens the first device.
    pub fn open() -> Result<Gpu> {
        Gpu::open_nth(0)
    }

    /// Opens a device by its number.
    pub fn open_nth(number: c_int) -> Result<Gpu> {
        let missing = |reason: &str| GpuError::NoDevice { reason: reason.to_string() };
        let cuda = Library::open(&["libcuda.so.1"]).ok_or_else(|| missing("libcuda.so.1 does not load"))?;
        call!(cuda, "cuInit", 0 => c_uint).map_err(|e| missing(&e.to_string()))?;
        let (mut device, mut context) = (0, null_mut());
        call!(cuda, "cuDeviceGet", &mut device => *mut c_int, number => c_int)
            .map_err(|e| missing(&e.to_string()))?;
        call!(cuda, "cuDevicePrimaryCtxRetain", &mut context => *mut Handle, device => c_int)?;
        let gpu = Gpu { cuda, context };
        gpu.make_current()?;
        Ok(gpu)
    }

    /// Makes the device's context current on this thread.
    pub fn make_current(&self) -> Result<()> {
        call!(self.cuda, "cuCtxSetCurrent", self.context => Handle)
    }

    /// Waits for all that was launched.
    pub fn synchronize(&self) -> Result<()> {
        call!(self.cuda, "cuCtxSynchronize",)
    }

    /// Loads one kernel from PTX text.
    pub fn kernel(&self, ptx: &str, name: &'static str) -> Result<Kernel> {
        let refused = |_| GpuError::PtxCompileFailed { kernel: name };
        let text = CString::new(ptx).map_err(|_| GpuError::PtxCompileFailed { kernel: name })?;
        let symbol = CString::new(name).map_err(|_| GpuError::PtxCompileFailed { kernel: name })?;
        let (mut module, mut function) = (null_mut(), null_mut());
        call!(self.cuda, "cuModuleLoadData", &mut module => *mut Handle, text.as_ptr() => *const c_char)
            .map_err(refused)?;
        call!(self.cuda, "cuModuleGetFunction",
            &mut function => *mut Handle, module => Handle, symbol.as_ptr() => *const c_char)
        .map_err(refused)?;
        Ok(Kernel(function))
    }

    /// Launches a kernel over `len` elements on a stream (null is the default one).
    pub fn launch(&self, kernel: Kernel, len: usize, arguments: &mut [*mut c_void], stream: Handle) -> Result<()> {
        let blocks = len.div_ceil(256) as c_uint;
        call!(self.cuda, "cuLaunchKernel",
            kernel.0 => Handle, blocks => c_uint, 1 => c_uint, 1 => c_uint, 256 => c_uint, 1 => c_uint, 1 => c_uint,
            0 => c_uint, stream => Handle, arguments.as_mut_ptr() => *mut *mut c_void,
            null_mut() => *mut *mut c_void)
    }

    /// Makes an uninitialised buffer.
    pub fn alloc(&self, len: usize) -> Result<Buffer<'_>> {
        let mut pointer = 0;
        call!(self.cuda, "cuMemAlloc_v2", &mut pointer => *mut u64, len * 4 => usize)?;
        Ok(Buffer { gpu: self, pointer, len })
    }

    /// Makes a buffer in managed memory, which the driver moves by itself.
    pub fn alloc_managed(&self, len: usize) -> Result<&mut [f32]> {
        let mut pointer = 0u64;
        call!(self.cuda, "cuMemAllocManaged", &mut pointer => *mut u64, len * 4 => usize, 1 => c_uint)?;
        Ok(unsafe { std::slice::from_raw_parts_mut(pointer as *mut f32, len) })
    }

    /// Copies values to the device.
    pub fn upload(&self, values: &[f32]) -> Result<Buffer<'_>> {
        let buffer = self.alloc(values.len())?;
        call!(self.cuda, "cuMemcpyHtoD_v2",
            buffer.pointer => u64, values.as_ptr().cast() => *const c_void, size_of_val(values) => usize)?;
        Ok(buffer)
    }

    /// Captures what `work` launches on a stream into a graph, and launches the graph.
    pub fn run_as_graph(&self, work: impl FnOnce(Handle) -> Result<()>) -> Result<()> {
        let (mut stream, mut graph, mut instance) = (null_mut(), null_mut(), null_mut());
        call!(self.cuda, "cuStreamCreate", &mut stream => *mut Handle, 1 => c_uint)?;
        call!(self.cuda, "cuStreamBeginCapture_v2", stream => Handle, 0 => c_uint)?;
        work(stream)?;
        call!(self.cuda, "cuStreamEndCapture", stream => Handle, &mut graph => *mut Handle)?;
        call!(self.cuda, "cuGraphInstantiateWithFlags",
            &mut instance => *mut Handle, graph => Handle, 0 => u64)?;
        call!(self.cuda, "cuGraphLaunch", instance => Handle, stream => Handle)?;
        call!(self.cuda, "cuStreamSynchronize", stream => Handle)
    }
}

impl Buffer<'_> {
    /// Copies the values to the host.
    pub fn download(&self) -> Result<Vec<f32>> {
        let mut values = vec![0.0f32; self.len];
        call!(self.gpu.cuda, "cuMemcpyDtoH_v2",
            values.as_mut_ptr().cast() => *mut c_void, self.pointer => u64, self.len * 4 => usize)?;
        Ok(values)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let freed: Result<()> = (|| call!(self.gpu.cuda, "cuMemFree_v2", self.pointer => u64))();
        debug_assert!(freed.is_ok() || std::thread::panicking(), "{freed:?}");
    }
}
