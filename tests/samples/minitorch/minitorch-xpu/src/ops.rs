//! The operators, made by two macros.

use minitorch_core::{Tensor, TorchResult};
use minitorch_cubecl::ops as portable;
use minitorch_cubecl::runtime::CubeHandle;

use crate::device::{check_operand, XpuDevice};

fn make_xpu_tensor(data: Vec<f32>, shape: &[usize], xpu: &XpuDevice) -> TorchResult<Tensor<f32>> {
    Tensor::from_vec(data, shape)?.to(xpu.device())
}

macro_rules! xpu_binary {
    ($name:ident, $op:path, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(a: &Tensor<f32>, b: &Tensor<f32>, xpu: &XpuDevice) -> TorchResult<Tensor<f32>> {
            check_operand(a, xpu)?;
            check_operand(b, xpu)?;
            let result = $op(a, b, xpu.runtime())?;
            let data = result.data_vec()?; //~ FT008
            make_xpu_tensor(data, result.shape(), xpu)
        }
    };
}

macro_rules! xpu_unary {
    ($name:ident, $op:path, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(x: &Tensor<f32>, xpu: &XpuDevice) -> TorchResult<Tensor<f32>> {
            check_operand(x, xpu)?;
            let result = $op(x, xpu.runtime())?;
            make_xpu_tensor(result.data_vec()?, result.shape(), xpu) //~ FT008
        }
    };
}

macro_rules! xpu_resident {
    ($name:ident, $op:path, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(x: &CubeHandle, xpu: &XpuDevice) -> TorchResult<CubeHandle> {
            $op(x, xpu.runtime()) //~ ok FT008: handles in and out
        }
    };
}

macro_rules! xpu_host_map {
    ($name:ident, $f:expr, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(x: &Tensor<f32>, xpu: &XpuDevice) -> TorchResult<Tensor<f32>> {
            check_operand(x, xpu)?;
            let mapped = x.data_vec()?.into_iter().map($f).collect(); //~ FT002
            make_xpu_tensor(mapped, x.shape(), xpu)
        }
    };
}

xpu_binary!(xpu_add, portable::portable_add, "`a + b` on the XPU.");
xpu_binary!(xpu_mul, portable::portable_mul, "`a * b` on the XPU.");

xpu_unary!(xpu_exp, portable::portable_exp, "`exp(x)` on the XPU."); //~ ok FT009: reached under its expanded name
xpu_unary!(xpu_neg, portable::portable_neg, "`-x` on the XPU."); //~ FT009

xpu_resident!(xpu_exp_resident, portable::exp_handle, "`exp(x)` of a handle.");
xpu_resident!(xpu_neg_resident, portable::neg_handle, "`-x` of a handle."); //~ FT009

xpu_host_map!(xpu_sin, f32::sin, "`sin(x)` on the XPU.");
xpu_host_map!(xpu_cos, f32::cos, "`cos(x)` on the XPU."); //~ FT009

#[cfg(test)]
mod tests {
    use super::*;

    fn xpu() -> Option<XpuDevice> {
        XpuDevice::new(0).map_err(|e| eprintln!("no XPU here: {e}")).ok() //~ ok FT012: a notice of a test helper //~ FT010
    }

    #[test]
    fn sums_agree() {
        let Some(xpu) = xpu() else { return }; //~ FT010
        let a = Tensor::from_vec(vec![1.0, 2.0], &[2]).unwrap();
        let out = xpu_add(&a, &a, &xpu).unwrap();
        assert_eq!(out.shape(), &[2]);
    }

    #[test]
    #[ignore = "reports the latency of one sum"] //~ ok FT010: a measurement
    fn bench_sum() {
        let xpu = XpuDevice::new(0).expect("an XPU");
        let a = Tensor::from_vec(vec![1.0; 1024], &[1024]).unwrap();
        let start = std::time::Instant::now();
        xpu_add(&a, &a, &xpu).unwrap();
        println!("{:?}", start.elapsed());
    }

    #[test]
    fn a_device_needs_a_runtime() {
        assert!(XpuDevice::new(0).is_err()); //~ ok FT010: tests the refusal, no device is needed
    }
}
