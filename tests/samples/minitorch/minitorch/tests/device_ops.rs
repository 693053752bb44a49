//! Tensor operators on a registered CUDA backend. Without a card they fail.

use minitorch::core::autograd::backward;
use minitorch::core::grad_fns::{activation, reduction};
use minitorch::core::methods::{contiguous, narrow, view};
use minitorch::core::ops::{cumulative, elementwise, rearrange};
use minitorch::core::{anomaly, linalg, stride_tricks};
use minitorch::nn::conv::PointwiseConv;
use minitorch::nn::dropout::Dropout;
use minitorch::nn::embedding::Embedding;
use minitorch::nn::{attention, norm, utils};
use minitorch::{Device, Tensor};

fn on_card(values: &[f32], shape: &[usize]) -> Tensor<f32> {
    minitorch::gpu::init_cuda_backend(0).expect("a CUDA device");
    Tensor::from_vec(values.to_vec(), shape).unwrap().to(Device::Cuda(0)).expect("an upload")
}

#[test]
fn elementwise_results_stay_on_the_card() {
    let x = on_card(&[1.0, -2.0], &[2]);
    let results = [
        elementwise::add(&x, &x),
        elementwise::mul(&x, &x),
        elementwise::neg(&x),
        elementwise::square(&x),
        elementwise::double(&x),
        activation::relu(&x),
        activation::sigmoid(&x),
        activation::tanh(&x),
    ];
    for result in results {
        let out = result.expect("the operator has a kernel");
        assert!(out.is_cuda());
        assert_eq!(out.data_vec().unwrap().len(), 2);
    }
}

#[test]
fn reductions_stay_on_the_card() {
    let x = on_card(&[3.0, 1.0], &[1, 2]);
    assert!(reduction::sum(&x).unwrap().is_cuda());
    assert!(reduction::amin(&x).unwrap().is_cuda());
    assert!(norm::mean(&x).unwrap().is_cuda());
    assert!(cumulative::cummax(&x).unwrap().values.is_cuda());
    assert!(reduction::prod(&x).is_err());
    assert!(anomaly::check_gradients_finite(&[x.clone()]).unwrap());
    assert!(utils::grads_finite(&[x]).unwrap());
}

#[test]
fn layouts_stay_on_the_card() {
    let x = on_card(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let flat = on_card(&[1.0, 2.0, 3.0], &[3]);
    assert!(rearrange::transpose2d(&x).unwrap().is_cuda());
    assert!(rearrange::flip(&flat).unwrap().is_cuda());
    assert!(rearrange::roll(&flat, 1).unwrap().is_cuda());
    assert!(rearrange::chunk_rows(&x, 2).unwrap()[1].is_cuda());
    assert!(contiguous(&narrow(&flat, 1, 2).unwrap()).unwrap().is_cuda());
    assert!(view(&x, &[4]).unwrap().is_cuda());
    assert!(stride_tricks::as_strided_copy(&stride_tricks::unfold(&flat, 2, 1).unwrap()).unwrap().is_cuda());
}

#[test]
fn layers_stay_on_the_card() {
    let x = on_card(&[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let conv = PointwiseConv { weight: x.clone() };
    assert!(linalg::matmul(&x, &x).unwrap().is_cuda());
    assert!(conv.forward(&x).unwrap().is_cuda());
    assert!(attention::scores(&x, &x).unwrap().is_cuda());
    assert!(attention::gated_values(&x, &x).unwrap().is_cuda());
    assert!(Dropout::new(0.5).unwrap().forward(&x).unwrap().is_cuda());
    assert!(Dropout::new(0.5).unwrap().forward_fused(&x).unwrap().is_cuda());
    let table = Embedding { table: x, padding: 0 };
    assert!(table.frozen_padding().unwrap().is_cuda());
}

#[test]
fn gradients_of_relu_and_sum() {
    let x = on_card(&[1.0, -2.0], &[2]).with_requires_grad();
    let loss = reduction::sum(&activation::relu(&x).unwrap()).unwrap();
    backward(&loss, &on_card(&[1.0], &[])).unwrap();
    assert!(x.grad().expect("a gradient").is_cuda());
}
