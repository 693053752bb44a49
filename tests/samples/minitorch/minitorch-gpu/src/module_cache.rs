//! Compiled kernels, by text, entry and device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use crate::device::CudaContext;
use crate::driver::Handle;
use crate::error::{GpuError, GpuResult};

/// A kernel that is ready to launch.
#[derive(Clone)]
pub struct Function {
    pub(crate) handle: Handle,
}

// SAFETY: function handles may be used from any thread of the process.
unsafe impl Send for Function {}

type Key = (usize, &'static str, usize);

static CACHE: OnceLock<Mutex<HashMap<Key, Function>>> = OnceLock::new();

/// The kernel `entry` of `ptx`, compiled by the driver on first use.
pub fn get_or_compile(context: &Arc<CudaContext>, ptx: &'static str, entry: &'static str, ordinal: usize) -> GpuResult<Function> {
    let key = (ptx.as_ptr() as usize, entry, ordinal);
    let cache = CACHE.get_or_init(Mutex::default);
    let mut cache = cache.lock().map_err(|_| GpuError::InvalidState { message: "module cache poisoned".into() })?;
    if let Some(f) = cache.get(&key) {
        return Ok(f.clone());
    }
    let f = Function { handle: context.driver.load_function(ptx, entry)? };
    cache.insert(key, f.clone());
    Ok(f)
}
