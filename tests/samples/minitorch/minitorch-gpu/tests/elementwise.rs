//! Elementwise operators against host values, on a card. Without one they fail.

use minitorch_gpu::activation::{gpu_elu, gpu_relu, gpu_relu_backward, gpu_sigmoid, gpu_softsign, gpu_step, gpu_tanh};
use minitorch_gpu::elementwise::*;
use minitorch_gpu::{cpu_to_gpu, gpu_to_cpu, CudaBuffer, GpuDevice, GpuResult};

fn device() -> GpuDevice {
    GpuDevice::new(0).expect("a CUDA device") //~ ok FT010: fails without a device
}

fn close(got: GpuResult<CudaBuffer<f32>>, device: &GpuDevice, want: &[f32]) {
    let buffer = got.expect("the kernel runs");
    assert_eq!(buffer.ordinal(), device.ordinal());
    let host = gpu_to_cpu(&buffer, device).expect("a copy"); //~ ok FT008: a test compares values
    assert_eq!(host.len(), want.len());
    for (g, w) in host.iter().zip(want) {
        assert!((g - w).abs() < 1e-3, "{g} instead of {w}");
    }
}

#[test]
fn sums_differences_and_products() {
    let d = device();
    let a = cpu_to_gpu(&[1.0f32, -2.0, 3.0], &d).unwrap();
    let b = cpu_to_gpu(&[4.0f32, 5.0, -6.0], &d).unwrap();
    close(gpu_add(&a, &b, &d), &d, &[5.0, 3.0, -3.0]);
    close(gpu_sub(&a, &b, &d), &d, &[-3.0, -7.0, 9.0]);
    close(gpu_mul(&a, &b, &d), &d, &[4.0, -10.0, -18.0]);
    close(gpu_maximum(&a, &b, &d), &d, &[4.0, 5.0, 3.0]);
    close(gpu_scaled_difference(&a, &b, 2.0, &d), &d, &[-6.0, -14.0, 18.0]);
}

#[test]
fn functions_of_one_input() {
    let d = device();
    let x = cpu_to_gpu(&[1.0f32, 4.0], &d).unwrap();
    close(gpu_neg(&x, &d), &d, &[-1.0, -4.0]);
    close(gpu_abs(&x, &d), &d, &[1.0, 4.0]);
    close(gpu_exp(&x, &d), &d, &[1.0f32.exp(), 4.0f32.exp()]);
    close(gpu_sqrt(&x, &d), &d, &[1.0, 2.0]);
    close(gpu_scale(&x, 3.0, &d), &d, &[3.0, 12.0]);
}

#[test]
fn activations_and_the_gradient_of_relu() {
    let d = device();
    let x = cpu_to_gpu(&[-1.0f32, 2.0], &d).unwrap();
    close(gpu_relu(&x, &d), &d, &[0.0, 2.0]);
    close(gpu_relu_backward(&x, &x, &d), &d, &[0.0, 2.0]);
    close(gpu_sigmoid(&x, &d), &d, &[0.26894, 0.88079]);
    close(gpu_tanh(&x, &d), &d, &[-0.76159, 0.96402]);
    close(gpu_softsign(&x, &d), &d, &[-0.5, 0.66667]);
    close(gpu_elu(&x, &d), &d, &[-0.63212, 6.38906]);
    close(gpu_step(&x, &d), &d, &[0.0, 1.0]);
}

#[test]
fn double_precision_adds() {
    let d = device();
    let a = cpu_to_gpu(&[1.0f64, 2.0], &d).unwrap();
    let sum = gpu_add_f64(&a, &a, &d).expect("the kernel runs");
    assert_eq!(gpu_to_cpu(&sum, &d).unwrap(), vec![2.0, 4.0]);
}
