//! Factorisations, convolutions, random numbers, streams.
#![cfg(feature = "cuda")] //~ ok FT010: a feature that is declared and on by default

use minitorch_gpu::conv::*;
use minitorch_gpu::half::gpu_axpy_bf16;
use minitorch_gpu::pool::*;
use minitorch_gpu::random::*;
use minitorch_gpu::solver::*;
use minitorch_gpu::sparse::*;
use minitorch_gpu::stream::*;
use minitorch_gpu::{cpu_to_gpu, gpu_to_cpu, GpuDevice, GpuError};

#[test]
fn triangles_solve() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    let a = cpu_to_gpu(&[4.0f32, 0.0, 0.0, 9.0], &d).unwrap();
    let l = gpu_cholesky(&a, 2, &d).unwrap();
    assert_eq!(gpu_to_cpu(&l, &d).unwrap(), vec![2.0, 0.0, 0.0, 3.0]);
    let b = cpu_to_gpu(&[2.0f32, 3.0], &d).unwrap();
    assert_eq!(gpu_to_cpu(&gpu_solve_lower(&l, &b, &d).unwrap(), &d).unwrap(), vec![1.0, 1.0]);
    assert_eq!(gpu_gram(&[1.0, 0.0, 0.0, 1.0], 2, &d).unwrap()[0], 1.0);
    assert_eq!(gpu_gram_resident(&a, 2, &d).unwrap().len(), 4);
    assert_eq!(gpu_rank(&a, 2, &d), Ok(2));
    assert!(matches!(gpu_eigvals(&a, 2, &d), Err(GpuError::Unsupported { .. })));
}

#[test]
#[should_panic(expected = "Jacobi")]
fn singular_values_are_not_there() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    let _ = gpu_svdvals(&cpu_to_gpu(&[1.0f32], &d).unwrap(), 1, &d);
}

#[test]
fn convolutions_slide() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    let x = cpu_to_gpu(&[1.0f32, 2.0, 3.0], &d).unwrap();
    let w = cpu_to_gpu(&[1.0f32, 1.0], &d).unwrap();
    let conv = Conv1d { length: 3, kernel: 2, stride: 1, dilation: 1 };
    let y = gpu_conv1d(&x, &w, conv, &d).unwrap();
    assert_eq!(gpu_to_cpu(&y, &d).unwrap(), vec![3.0, 5.0]);
    assert_eq!(gpu_to_cpu(&gpu_conv1d_backward_input(&y, &w, conv, &d).unwrap(), &d).unwrap(), vec![3.0, 8.0, 5.0]);
    assert!(gpu_conv1d_grouped(&x, &w, conv, 2, &d).is_err());
}

#[test]
fn random_numbers_are_uniform() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    let mut generator = CudaGenerator::new(7);
    let u = gpu_rand(4, &mut generator, &d).unwrap();
    assert!(gpu_to_cpu(&u, &d).unwrap().iter().all(|v| (0.0..1.0).contains(v)));
    assert_eq!(gpu_dropout(&u, &u, 0.5, &d).unwrap().len(), 4);
    assert_eq!(gpu_half_normal(&u, &d).unwrap().len(), 4);
    assert!(gpu_multinomial(&u, 1, &d).is_err());
}

#[test]
fn the_shared_device_works() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    assert!(require_device().is_ok());
    let x = cpu_to_gpu(&[1.0f32], &d).unwrap();
    assert_eq!(gpu_scale_shared(&[1.0], 2.0).unwrap(), vec![2.0]);
    assert_eq!(gpu_add_shared(&x, &x).unwrap().len(), 1);
    assert_eq!(gpu_double_or_host(&x, &d).unwrap().len(), 1);
    assert_eq!(gpu_density(&x, &d).unwrap().len(), 1);
    assert_eq!(gpu_compress_24(&x, &d).unwrap().len(), 1);
    assert_eq!(gpu_axpy(2.0, &x, &x, &d).unwrap().len(), 1);
    assert!(x.duplicate(&d).is_ok() && x.detach_copy(&d).is_ok());
    assert!(gpu_sparse_matmul(&x, &x, 1, &d).is_err() || cfg!(feature = "tensor-cores"));
}

#[test]
fn bf16_pairs_add() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    let x = cpu_to_gpu(&[0x3F80_3F80u32], &d).unwrap();
    gpu_axpy_bf16(&x, &x, &d).unwrap();
    assert_eq!(gpu_to_cpu(&x, &d).unwrap(), vec![0x4000_4000]);
}

#[test]
fn streams_are_waited_for() {
    let d = GpuDevice::new(0).expect("a CUDA device");
    let mut x = cpu_to_gpu(&[1.0f32], &d).unwrap();
    warm_up(&x, &d);
    gpu_scale_in_place(&mut x, 2.0, &d).unwrap();
    synchronize_stream(d.stream()).unwrap();
    synchronize_device(&d).unwrap();
    assert_eq!(gpu_to_cpu(&x, &d).unwrap(), vec![2.0]);
}
