//! What the policy forbids and allows, clause by clause, each as a test that passes.

use gpuproof::{ops, Gpu, GpuError};

const N: usize = 4096;

fn values() -> Vec<f32> {
    (0..N).map(|i| (i % 17) as f32 - 8.0).collect()
}

/// "Never falls back by default": the kernel is refused, and the caller is not told.
#[test]
fn softplus_falls_back_by_default() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let out = ops::softplus_or_host(&gpu, &x).unwrap().download().unwrap();
    assert!((out[8] - 2.0f32.ln()).abs() < 1e-6);
}

/// "A fallback that was asked for says so at each call": this one was asked for, and is silent.
#[test]
fn softplus_is_asked_for_and_says_nothing() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let out = ops::softplus_unannounced(&gpu, &x).unwrap().download().unwrap();
    assert!((out[8] - 2.0f32.ln()).abs() < 1e-6);
}

/// "A test that compares the host with the host proves nothing", with data that went to the device first.
#[test]
fn square_is_compared_with_itself_on_the_host() {
    let gpu = Gpu::open().unwrap();
    let host = values();
    let _x = gpu.upload(&host).unwrap();
    let squares: Vec<f32> = host.iter().map(|v| v * v).collect();
    let expected: Vec<f32> = host.iter().map(|v| v.powi(2)).collect();
    assert_eq!(squares, expected);
}

/// "One number may come back": a sum decides on the host what the next kernel does; the operand stays.
#[test]
fn one_number_comes_back_between_two_kernels() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&[1.0; N]).unwrap();
    assert_eq!(ops::square_unless_empty(&gpu, &x), Ok(N as f32));
    assert_eq!(x.download().unwrap(), [1.0; N]);
}

/// "An unsupported case is an error": the caller learns which kernel, before any operand has moved.
#[test]
fn softplus_is_refused_unless_asked_for() {
    let gpu = Gpu::open().unwrap();
    let x = gpu.upload(&values()).unwrap();
    let refused = ops::softplus(&gpu, &x).err();
    assert_eq!(refused, Some(GpuError::PtxCompileFailed { kernel: "softplus" }));
}
