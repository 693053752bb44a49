//! One matrix product through cuBLAS, opened at run time.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

use crate::driver::{call, Buffer, Gpu, Result};
use crate::error::GpuError;
use crate::library::Library;

const NAMES: [&str; 4] = [
    "libcublas.so.13",
    "libcublas.so.12",
    "/usr/local/cuda/lib64/libcublas.so.13",
    "/usr/local/cuda/lib64/libcublas.so.12",
];

/// Multiplies two square matrices of `n` columns.
pub fn matmul<'g>(gpu: &'g Gpu, a: &Buffer<'g>, b: &Buffer<'g>, n: usize) -> Result<Buffer<'g>> {
    let cublas = Library::open(&NAMES).ok_or(GpuError::Call { name: "dlopen(libcublas)", code: -1 })?;
    let out = gpu.alloc(n * n)?;
    let (mut handle, one, zero, n) = (null_mut(), 1.0f32, 0.0f32, n as c_int);
    call!(cublas, "cublasCreate_v2", &mut handle => *mut *mut c_void)?;
    call!(cublas, "cublasSgemm_v2",
        handle => *mut c_void, 0 => c_int, 0 => c_int, n => c_int, n => c_int, n => c_int,
        &one => *const f32, a.pointer => u64, n => c_int, b.pointer => u64, n => c_int,
        &zero => *const f32, out.pointer => u64, n => c_int)?;
    gpu.synchronize()?;
    Ok(out)
}
