//! Portable operators. They need an installed runtime and fail without one.

use minitorch::cubecl::{kernels, ops, CubeRuntime};
use minitorch::xpu::{ops as xpu_ops, XpuDevice};
use minitorch::Tensor;

#[test]
fn sums_and_products_agree() {
    let rt = CubeRuntime::new().expect("a compute runtime"); //~ ok FT010: fails without a runtime
    let x = Tensor::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    assert_eq!(ops::portable_add(&x, &x, &rt).unwrap().data().unwrap(), &[2.0, 4.0]);
    assert_eq!(ops::portable_mul(&x, &x, &rt).unwrap().data().unwrap(), &[1.0, 4.0]);
    assert_eq!(ops::portable_exp(&x, &rt).unwrap().shape(), &[2]);
    assert_eq!(ops::portable_neg(&x, &rt).unwrap().data().unwrap(), &[-1.0, -2.0]);
}

#[test]
fn handles_stay_resident() {
    let rt = CubeRuntime::new().expect("a compute runtime");
    let x = rt.client().create(&[1.0, 2.0]).unwrap();
    let sum = kernels::run_add(rt.client(), &x, &x).unwrap();
    let out = ops::neg_handle(&ops::exp_handle(&sum, &rt).unwrap(), &rt).unwrap();
    assert_eq!(ops::read_handle(&out, &[2], &rt).unwrap().shape(), &[2]);
    assert_eq!(kernels::run_mul(rt.client(), &x, &x).unwrap().len, 2);
}

#[test]
fn xpu_operators_tag_their_results() {
    let xpu = XpuDevice::new(0).expect("a compute runtime");
    let x = Tensor::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
    assert_eq!(xpu_ops::xpu_mul(&x, &x, &xpu).unwrap().device(), xpu.device());
    assert_eq!(xpu_ops::xpu_exp(&x, &xpu).unwrap().device(), xpu.device());
    assert_eq!(xpu_ops::xpu_sin(&x, &xpu).unwrap().device(), xpu.device());
    let handle = xpu.runtime().client().create(&[1.0]).unwrap();
    assert_eq!(xpu_ops::xpu_exp_resident(&handle, &xpu).unwrap().len, 1);
}
