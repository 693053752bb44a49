//! A binding of the few CUDA driver calls this crate needs, loaded at run time.

use std::ffi::{c_char, c_int, c_uint, c_void, CString};
use std::sync::OnceLock;

use crate::error::{GpuError, GpuResult};

extern "C" {
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Status = c_int;
pub type DevicePtr = u64;
pub type Handle = *mut c_void;

/// Entry points of the driver library.
pub struct Driver {
    init: unsafe extern "C" fn(c_uint) -> Status,
    device_get: unsafe extern "C" fn(*mut c_int, c_int) -> Status,
    ctx_retain: unsafe extern "C" fn(*mut Handle, c_int) -> Status,
    ctx_set_current: unsafe extern "C" fn(Handle) -> Status,
    ctx_synchronize: unsafe extern "C" fn() -> Status,
    mem_alloc: unsafe extern "C" fn(*mut DevicePtr, usize) -> Status,
    mem_free: unsafe extern "C" fn(DevicePtr) -> Status,
    memset_d8: unsafe extern "C" fn(DevicePtr, u8, usize) -> Status,
    htod: unsafe extern "C" fn(DevicePtr, *const c_void, usize) -> Status,
    dtoh: unsafe extern "C" fn(*mut c_void, DevicePtr, usize) -> Status,
    dtod: unsafe extern "C" fn(DevicePtr, DevicePtr, usize) -> Status,
    module_load: unsafe extern "C" fn(*mut Handle, *const c_void) -> Status,
    module_function: unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Status,
    launch: LaunchFn,
}

type LaunchFn = unsafe extern "C" fn(
    Handle,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Handle,
    *mut *mut c_void,
    *mut *mut c_void,
) -> Status;

unsafe fn symbol<F: Copy>(library: *mut c_void, name: &str) -> Option<F> {
    let name = CString::new(name).ok()?; //~ ok FT001: a name with a NUL byte
    let found = dlsym(library, name.as_ptr());
    (!found.is_null()).then(|| std::mem::transmute_copy(&found))
}

fn load() -> Option<Driver> {
    // SAFETY: the signatures are those of cuda.h.
    unsafe {
        let lib = dlopen(c"libcuda.so.1".as_ptr(), 2);
        if lib.is_null() {
            return None;
        }
        Some(Driver {
            init: symbol(lib, "cuInit")?,
            device_get: symbol(lib, "cuDeviceGet")?,
            ctx_retain: symbol(lib, "cuDevicePrimaryCtxRetain")?,
            ctx_set_current: symbol(lib, "cuCtxSetCurrent")?,
            ctx_synchronize: symbol(lib, "cuCtxSynchronize")?,
            mem_alloc: symbol(lib, "cuMemAlloc_v2")?,
            mem_free: symbol(lib, "cuMemFree_v2")?,
            memset_d8: symbol(lib, "cuMemsetD8_v2")?,
            htod: symbol(lib, "cuMemcpyHtoD_v2")?,
            dtoh: symbol(lib, "cuMemcpyDtoH_v2")?,
            dtod: symbol(lib, "cuMemcpyDtoD_v2")?,
            module_load: symbol(lib, "cuModuleLoadData")?,
            module_function: symbol(lib, "cuModuleGetFunction")?,
            launch: symbol(lib, "cuLaunchKernel")?,
        })
    }
}

static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();

/// The driver of this machine.
pub fn driver() -> GpuResult<&'static Driver> {
    DRIVER.get_or_init(load).as_ref().ok_or(GpuError::DriverNotFound) //~ ok FT001: a missing driver is a structured error
}

pub(crate) fn check(call: &'static str, status: Status) -> GpuResult<()> {
    if status == 0 {
        return Ok(());
    }
    Err(GpuError::Driver { call, status })
}

impl Driver {
    /// Make the device's primary context current on this thread.
    pub fn primary_context(&self, ordinal: usize) -> GpuResult<Handle> {
        let (mut device, mut context) = (0, std::ptr::null_mut());
        // SAFETY: the out pointers are valid for the calls.
        unsafe {
            check("cuInit", (self.init)(0))?;
            check("cuDeviceGet", (self.device_get)(&mut device, ordinal as c_int))?;
            check("cuDevicePrimaryCtxRetain", (self.ctx_retain)(&mut context, device))?;
            check("cuCtxSetCurrent", (self.ctx_set_current)(context))?;
        }
        Ok(context)
    }

    pub fn synchronize(&self) -> GpuResult<()> {
        // SAFETY: no arguments.
        check("cuCtxSynchronize", unsafe { (self.ctx_synchronize)() })
    }

    pub fn alloc(&self, bytes: usize) -> GpuResult<DevicePtr> {
        let mut ptr = 0;
        // SAFETY: the out pointer is valid; the driver refuses zero bytes.
        unsafe {
            check("cuMemAlloc", (self.mem_alloc)(&mut ptr, bytes.max(4)))?;
            check("cuMemsetD8", (self.memset_d8)(ptr, 0, bytes.max(4)))?;
        }
        Ok(ptr)
    }

    pub fn free(&self, ptr: DevicePtr) -> GpuResult<()> {
        // SAFETY: `ptr` came from `alloc` and is freed once, by its owner.
        check("cuMemFree", unsafe { (self.mem_free)(ptr) })
    }

    pub fn copy_htod(&self, dst: DevicePtr, src: &[u8]) -> GpuResult<()> {
        // SAFETY: the owner of `dst` allocated at least `src.len()` bytes.
        check("cuMemcpyHtoD", unsafe { (self.htod)(dst, src.as_ptr().cast(), src.len()) })
    }

    pub fn copy_dtoh(&self, dst: &mut [u8], src: DevicePtr) -> GpuResult<()> {
        // SAFETY: the owner of `src` allocated at least `dst.len()` bytes.
        check("cuMemcpyDtoH", unsafe { (self.dtoh)(dst.as_mut_ptr().cast(), src, dst.len()) })
    }

    pub fn copy_dtod(&self, dst: DevicePtr, src: DevicePtr, bytes: usize) -> GpuResult<()> {
        // SAFETY: both owners allocated at least `bytes`.
        check("cuMemcpyDtoD", unsafe { (self.dtod)(dst, src, bytes) })
    }

    pub fn load_function(&self, ptx: &str, entry: &str) -> GpuResult<Handle> {
        let invalid = |_| GpuError::InvalidState { message: "NUL in a kernel text".into() };
        let (text, name) = (CString::new(ptx).map_err(invalid)?, CString::new(entry).map_err(invalid)?);
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: both texts end in NUL and outlive the calls.
        unsafe {
            check("cuModuleLoadData", (self.module_load)(&mut module, text.as_ptr().cast()))?;
            check("cuModuleGetFunction", (self.module_function)(&mut function, module, name.as_ptr()))?;
        }
        Ok(function)
    }

    /// # Safety
    /// `args` must match the kernel's parameters.
    pub unsafe fn launch(&self, f: Handle, grid: u32, block: u32, args: &mut [*mut c_void]) -> GpuResult<()> {
        let null = std::ptr::null_mut();
        let status = (self.launch)(f, grid, 1, 1, block, 1, 1, 0, null, args.as_mut_ptr(), std::ptr::null_mut());
        check("cuLaunchKernel", status)
    }
}
