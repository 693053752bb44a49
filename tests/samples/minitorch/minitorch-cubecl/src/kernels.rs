//! Device code and the functions that launch it.

use minitorch_cubecl_macros::cube;

use crate::runtime::{ComputeClient, CubeCount, CubeDim, CubeHandle, KernelArg, RuntimeError};

/// The position of this thread, known to the compiler of the runtime.
pub const ABSOLUTE_POS: usize = 0;

#[cube(launch_unchecked)]
pub fn kernel_add(a: &[f32], b: &[f32], out: &mut [f32]) { //~ ok FT002: device code, although it reads like host arithmetic
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = a[ABSOLUTE_POS] + b[ABSOLUTE_POS];
    }
}

#[cube(launch_unchecked)]
pub fn kernel_mul(a: &[f32], b: &[f32], out: &mut [f32]) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = a[ABSOLUTE_POS] * b[ABSOLUTE_POS];
    }
}

#[cube(launch_unchecked)]
pub fn kernel_exp(x: &[f32], out: &mut [f32]) { //~ ok FT015: this is a backend crate
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS].exp();
    }
}

#[cube(launch_unchecked)]
pub fn kernel_neg(x: &[f32], out: &mut [f32]) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = -x[ABSOLUTE_POS];
    }
}

fn geometry(n: usize) -> (CubeCount, CubeDim) {
    (CubeCount((n as u32).div_ceil(256).max(1), 1, 1), CubeDim(256, 1, 1))
}

/// Launch the sum on handles; the result stays on the device.
pub fn run_add(client: &ComputeClient, a: &CubeHandle, b: &CubeHandle) -> Result<CubeHandle, RuntimeError> {
    let out = client.empty(a.len)?;
    let (count, dim) = geometry(a.len);
    let args = [KernelArg::Buffer(a.clone()), KernelArg::Buffer(b.clone()), KernelArg::Buffer(out.clone())];
    kernel_add::launch_unchecked(client, count, dim, &args)?; //~ ok FT008: a handle goes in and a handle comes out
    Ok(out)
}

pub fn run_mul(client: &ComputeClient, a: &CubeHandle, b: &CubeHandle) -> Result<CubeHandle, RuntimeError> {
    let out = client.empty(a.len)?;
    let (count, dim) = geometry(a.len);
    let args = [KernelArg::Buffer(a.clone()), KernelArg::Buffer(b.clone()), KernelArg::Buffer(out.clone())];
    kernel_mul::launch_unchecked(client, count, dim, &args)?;
    Ok(out)
}

pub fn run_exp(client: &ComputeClient, x: &CubeHandle) -> Result<CubeHandle, RuntimeError> { //~ ok FT009: reached through exp_handle
    let out = client.empty(x.len)?;
    let (count, dim) = geometry(x.len);
    kernel_exp::launch_unchecked(client, count, dim, &[KernelArg::Buffer(x.clone()), KernelArg::Buffer(out.clone())])?;
    Ok(out)
}

pub fn run_neg(client: &ComputeClient, x: &CubeHandle) -> Result<CubeHandle, RuntimeError> {
    let out = client.empty(x.len)?;
    let (count, dim) = geometry(x.len);
    kernel_neg::launch_unchecked(client, count, dim, &[KernelArg::Buffer(x.clone()), KernelArg::Buffer(out.clone())])?;
    Ok(out)
}
