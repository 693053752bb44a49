//! Training steps of a small model, named after the device; every tensor in
//! it is a host tensor.

use minitorch::core::grad_fns::activation::relu;
use minitorch::core::linalg::matmul;
use minitorch::optim::sgd::Sgd;
use minitorch::Tensor;

#[test]
fn gpu_training_lowers_the_loss() { //~ FT010
    let x = Tensor::from_vec(vec![1.0f32, 2.0], &[1, 2]).unwrap();
    let w = Tensor::from_vec(vec![0.5f32, -0.5], &[2, 1]).unwrap();
    let y = relu(&matmul(&x, &w).unwrap()).unwrap();
    let step = Sgd { lr: 0.1, foreach: true }.step(&w, &w).unwrap();
    assert_eq!(y.shape(), &[1, 1]);
    assert_eq!(step.shape(), w.shape());
}
