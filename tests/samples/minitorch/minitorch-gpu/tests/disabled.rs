//! Device tests that were switched off one by one.

use minitorch_gpu::elementwise::gpu_add;
use minitorch_gpu::{cpu_to_gpu, gpu_to_cpu, GpuDevice};

fn has_gpu() -> bool {
    GpuDevice::new(0).is_ok() //~ ok FT010: a question; the tests that leave early on its answer are marked
}

macro_rules! require_gpu {
    () => {
        if !has_gpu() { //~ FT010
            return;
        }
    };
}

#[test]
#[ignore = "needs a GPU"] //~ FT010
fn large_sums() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    let x = cpu_to_gpu(&vec![1.0f32; 1 << 20], &d).unwrap();
    assert_eq!(gpu_add(&x, &x, &d).unwrap().len(), 1 << 20);
}

#[test]
fn small_sums() {
    if !has_gpu() { //~ FT010
        return;
    }
    let d = GpuDevice::new(0).expect("a CUDA device");
    let x = cpu_to_gpu(&[1.0f32], &d).unwrap();
    assert_eq!(gpu_to_cpu(&gpu_add(&x, &x, &d).unwrap(), &d).unwrap(), vec![2.0]);
}

#[test]
fn sums_when_the_machine_says_so() {
    if std::env::var("CUDA_VISIBLE_DEVICES").is_err() { //~ FT010
        return;
    }
    let d = GpuDevice::new(0).expect("a CUDA device");
    assert!(cpu_to_gpu(&[1.0f32], &d).is_ok());
}

#[test]
fn sums_behind_a_macro() {
    require_gpu!();
    let d = GpuDevice::new(0).expect("a CUDA device");
    assert!(cpu_to_gpu(&[1.0f32], &d).is_ok());
}

#[test]
fn sums_with_a_notice() {
    let Ok(d) = GpuDevice::new(0) else { //~ FT010
        eprintln!("skipped: no CUDA device"); //~ ok FT012: a notice of a test
        return;
    };
    assert!(cpu_to_gpu(&[1.0f32], &d).is_ok());
}

#[test]
fn the_host_half_needs_no_card() {
    assert_eq!(minitorch_gpu::half::bf16_to_f32(0x3F80), 1.0); //~ ok FT010: host arithmetic, nothing is skipped
}

#[test]
fn a_missing_driver_is_an_error() {
    if has_gpu() { //~ ok FT010: the refusal can only be seen on a machine without a card
        return;
    }
    assert!(GpuDevice::new(0).is_err());
}
