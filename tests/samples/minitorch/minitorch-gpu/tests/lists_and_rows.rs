//! Gather, reductions, softmax and matrices, on a card.

use minitorch_gpu::blas::*;
use minitorch_gpu::broadcast::*;
use minitorch_gpu::indexing::*;
use minitorch_gpu::kernels::*;
use minitorch_gpu::reduce::*;
use minitorch_gpu::scan::*;
use minitorch_gpu::softmax::*;
use minitorch_gpu::{cpu_to_gpu, gpu_to_cpu, CudaBuffer, GpuDevice};

fn open() -> GpuDevice {
    let device = GpuDevice::new(0);
    assert!(device.is_ok(), "these tests need a CUDA device"); //~ ok FT010: fails without a device
    device.unwrap()
}

fn host(buffer: &CudaBuffer<f32>, device: &GpuDevice) -> Vec<f32> {
    gpu_to_cpu(buffer, device).expect("a copy")
}

#[test]
fn positions_are_gathered() {
    let d = open();
    let x = cpu_to_gpu(&[10.0f32, 20.0, 30.0], &d).unwrap();
    assert_eq!(host(&gpu_gather(&x, &[2, 0], &d).unwrap(), &d), vec![30.0, 10.0]);
    assert_eq!(host(&gpu_strided_copy(&x, &[2], &[2], 0, &d).unwrap(), &d), vec![10.0, 30.0]);
    assert_eq!(host(&gpu_embedding(&x, &[1], 1, &d).unwrap(), &d), vec![20.0]);
    assert_eq!(host(&gpu_one_hot(&[1], 2, &d).unwrap(), &d), vec![0.0, 1.0]);
    assert_eq!(host(&gpu_zero_row(&x, 0, 1, &d).unwrap(), &d), vec![0.0, 20.0, 30.0]);
    assert_eq!(host(&gpu_scatter_host(&[5.0], &[1], 2, &d).unwrap(), &d), vec![0.0, 5.0]);
    assert_eq!(host(&gpu_segment_sum(&x, &[0, 0, 1], 2, &d).unwrap(), &d), vec![30.0, 30.0]);
    assert_eq!(gpu_to_cpu(&gpu_nonzero(&x, &d).unwrap(), &d).unwrap(), vec![0, 1, 2]);
    assert_eq!(host(&gpu_sort(&x, &d).unwrap(), &d), vec![10.0, 20.0, 30.0]);
}

#[test]
fn fills_and_masks() {
    let d = open();
    let x = gpu_ones(2, &d).unwrap();
    assert_eq!(host(&gpu_fill(2, 3.0, &d).unwrap(), &d), vec![3.0, 3.0]);
    assert_eq!(host(&gpu_double(&x, &d).unwrap(), &d), vec![2.0, 2.0]);
    assert_eq!(host(&gpu_full_mask(2, &d).unwrap(), &d), vec![1.0, 1.0]);
    let mask = cpu_to_gpu(&[0.0f32, 1.0], &d).unwrap();
    assert_eq!(host(&gpu_masked_fill(&x, &mask, 9.0, &d).unwrap(), &d), vec![1.0, 9.0]);
    let mut total = gpu_zeros_f64(1, &d).unwrap();
    gpu_scatter_add_f64(&mut total, &cpu_to_gpu(&[1.0f64, 2.0], &d).unwrap(), &d).unwrap();
    assert_eq!(gpu_to_cpu(&total, &d).unwrap(), vec![3.0]);
}

#[test]
fn reductions_agree_with_the_host() {
    let d = open();
    let x = cpu_to_gpu(&[1.0f32, 2.0, 3.0, 4.0], &d).unwrap();
    assert_eq!(host(&gpu_reduce_sum(&x, &d).unwrap(), &d), vec![10.0]);
    assert_eq!(host(&gpu_reduce_min(&x, &d).unwrap(), &d), vec![1.0]);
    assert_eq!(host(&gpu_reduce_max(&x, &d).unwrap(), &d), vec![4.0]);
    assert_eq!(host(&gpu_reduce_prod(&x, &d).unwrap(), &d), vec![24.0]);
    assert_eq!(host(&gpu_mean(&x, &d).unwrap(), &d), vec![2.5]);
    assert_eq!(host(&gpu_sum_rows(&x, 2, &d).unwrap(), &d), vec![3.0, 7.0]);
    assert_eq!(host(&gpu_normalize(&x, &d).unwrap(), &d)[3], 0.4);
    assert_eq!(host(&gpu_row_spread(&x, &gpu_ones(4, &d).unwrap(), 2, &d).unwrap(), &d).len(), 2);
    assert_eq!(host(&gpu_cummax(&x, 2, &d).unwrap().1, &d), vec![0.0, 1.0, 0.0, 1.0]);
    assert_eq!(read_sum(&x, &d), Ok(10.0));
    assert_eq!(read_histogram(&x, 2, &d).unwrap(), vec![0, 4]);
    assert_eq!(gpu_check_finite(&x, &d), Ok(()));
}

#[test]
fn softmax_sums_to_one() {
    let d = open();
    let x = cpu_to_gpu(&[0.0f32, 1.0], &d).unwrap();
    let total: f32 = host(&gpu_softmax(&x, &d).unwrap(), &d).iter().sum();
    assert!((total - 1.0).abs() < 1e-4);
    assert_eq!(gpu_logsumexp(&x, &d).unwrap().len(), 1);
    assert_eq!(gpu_exp_scores(&x, &d).unwrap().len(), 2);
    assert_eq!(gpu_exp_gated(&x, &d).unwrap().len(), 2);
    assert_eq!(gpu_threshold_scores(&x, 0.5, &d).unwrap().len(), 2);
}

#[test]
fn matrices_multiply() {
    let d = open();
    let a = cpu_to_gpu(&[1.0f32, 2.0, 3.0, 4.0], &d).unwrap();
    let identity = cpu_to_gpu(&[1.0f32, 0.0, 0.0, 1.0], &d).unwrap();
    let dims = Dims { m: 2, k: 2, n: 2 };
    assert_eq!(host(&gpu_matmul_f32(&a, &identity, dims, &d).unwrap(), &d), vec![1.0, 2.0, 3.0, 4.0]);
    assert_eq!(host(&gpu_matvec(&a, &gpu_ones(2, &d).unwrap(), 2, &d).unwrap(), &d), vec![3.0, 7.0]);
    assert_eq!(host(&gpu_transpose(&a, 2, 2, &d).unwrap(), &d), vec![1.0, 3.0, 2.0, 4.0]);
    assert_eq!(host(&gpu_diagonal(&a, 2, &d).unwrap(), &d), vec![1.0, 4.0]);
    let mut out = gpu_fill(4, 0.0, &d).unwrap();
    gpu_gemm(&a, &identity, &mut out, dims, &d).unwrap();
    assert_eq!(host(&out, &d)[3], 4.0);
    let batch = gpu_bmm(&[a], &[identity], dims, &d).unwrap();
    assert_eq!(host(&batch[0], &d)[0], 1.0);
}

#[test]
fn shapes_broadcast() {
    let d = open();
    let m = cpu_to_gpu(&[1.0f32, 2.0, 3.0, 4.0], &d).unwrap();
    let row = cpu_to_gpu(&[10.0f32, 20.0], &d).unwrap();
    assert_eq!(host(&gpu_add_row(&m, &row, &d).unwrap(), &d), vec![11.0, 22.0, 13.0, 24.0]);
    assert_eq!(host(&gpu_mul_row(&m, &row, &d).unwrap(), &d), vec![10.0, 40.0, 30.0, 80.0]);
    assert_eq!(host(&gpu_add_nd(&m, &row, &[2, 2], &[0, 1], &d).unwrap(), &d), vec![11.0, 22.0, 13.0, 24.0]);
    assert_eq!(host(&gpu_outer_add(&row, &row, &d).unwrap(), &d), vec![20.0, 30.0, 30.0, 40.0]);
    assert_eq!(host(&gpu_dot(&row, &row, &d).unwrap(), &d), vec![500.0]);
    assert_eq!(host(&gpu_dot_any(&row, &row, &d).unwrap(), &d), vec![500.0]);
}
