//! Elementwise helpers and the operators that are nothing but a map.

use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::fallback::{check_gpu_fallback_opt_in, ensure_host};
use crate::gpu_dispatch::gpu_backend;
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

/// Apply `f` to every element on the host and put the result where the input was.
pub(crate) fn unary_map<T: Float>(input: &Tensor<T>, f: impl Fn(T) -> T) -> TorchResult<Tensor<T>> {
    let mapped: Vec<T> = input.data_vec()?.into_iter().map(f).collect(); //~ ok FT005: the helper; what its callers do with device tensors is judged at the call
    Tensor::from_storage(TensorStorage::on_device(mapped, input.device())?, input.shape().to_vec(), false)
}

/// Apply `f` pairwise; both inputs must be host tensors.
pub(crate) fn binary_map_host<T: Float>(a: &Tensor<T>, b: &Tensor<T>, f: impl Fn(T, T) -> T) -> TorchResult<Tensor<T>> {
    let out = a.data()?.iter().zip(b.data()?).map(|(&x, &y)| f(x, y)).collect(); //~ ok FT005: data() refuses device memory
    Tensor::from_vec(out, a.shape())
}

fn same_shape<T: Float>(a: &Tensor<T>, b: &Tensor<T>) -> TorchResult<()> {
    if a.shape() == b.shape() {
        return Ok(());
    }
    Err(TorchError::ShapeMismatch { message: format!("{:?} and {:?}", a.shape(), b.shape()) })
}

/// `a + b`.
pub fn add<T: Float>(a: &Tensor<T>, b: &Tensor<T>) -> TorchResult<Tensor<T>> {
    same_shape(a, b)?;
    if a.is_cuda() && b.is_cuda() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let sum = if is_f32::<T>() {
            backend.add_f32(a.gpu_handle()?, b.gpu_handle()?)?
        } else {
            backend.add_f64(a.gpu_handle()?, b.gpu_handle()?)?
        };
        return Tensor::from_storage(TensorStorage::gpu(sum), a.shape().to_vec(), false);
    }
    binary_map_host(a, b, |x, y| x + y) //~ ok FT001: device tensors returned above or are refused by data()
}

/// `a * b`.
pub fn mul<T: Float>(a: &Tensor<T>, b: &Tensor<T>) -> TorchResult<Tensor<T>> {
    same_shape(a, b)?;
    if a.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let product = backend.mul_f32(a.gpu_handle()?, b.gpu_handle()?)?;
        return Tensor::from_storage(TensorStorage::gpu(product), a.shape().to_vec(), false);
    }
    ensure_host(a, "mul")?;
    ensure_host(b, "mul")?;
    binary_map_host(a, b, |x, y| x * y) //~ ok FT011: other dtypes are refused by the two guards
}

/// `-x`.
pub fn neg<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    if x.is_cuda() && is_f32::<T>() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        let handle = backend.neg_f32(x.gpu_handle()?)?;
        return Tensor::from_storage(TensorStorage::gpu(handle), x.shape().to_vec(), false);
    }
    let out = x.data()?.iter().map(|&v| -v).collect(); //~ ok FT011: data() refuses device memory
    Tensor::from_vec(out, x.shape())
}

/// `x * x`, a composite.
pub fn square<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    mul(x, x) //~ ok FT005: composed from a dispatched operator
}

/// `2x`, a composite.
pub fn double<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    add(x, x)
}

/// `exp(x) - 1`.
pub fn expm1<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    unary_map(x, |v| v.exp() - T::one()) //~ FT005
}

/// `1 / x`.
pub fn reciprocal<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let one = T::one();
    unary_map(x, |v| one / v) //~ FT005
}

/// `sqrt(x)`; device tensors are refused.
pub fn sqrt<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    ensure_host(x, "sqrt")?;
    unary_map(x, T::sqrt) //~ ok FT005: guarded by ensure_host
}

/// `ln(x)`, on the host only after the user opted in.
pub fn log<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    check_gpu_fallback_opt_in(&[x], "log")?;
    unary_map(x, T::ln) //~ ok FT005: behind the opt-in gate
}

/// Where `condition` holds take `a`, else `b`.
pub fn where_<T: Float>(condition: &[bool], a: &Tensor<T>, b: &Tensor<T>) -> TorchResult<Tensor<T>> {
    same_shape(a, b)?;
    let (x, y) = (a.data_vec()?, b.data_vec()?); //~ FT005
    let out = condition.iter().zip(x.iter().zip(&y)).map(|(&c, (&p, &q))| if c { p } else { q }).collect();
    Tensor::from_vec(out, a.shape())
}

/// Linear interpolation between two tensors, by a weight.
pub fn lerp<T: Float>(start: &Tensor<T>, end: &Tensor<T>, weight: f64) -> TorchResult<Tensor<T>> {
    if start.is_cuda() || end.is_cuda() {
        return Err(TorchError::NotImplementedOnCuda { op: "lerp" });
    }
    let (s, e) = (start.data_vec()?, end.data_vec()?); //~ ok FT005: device tensors were refused above
    let w = T::from_f64(weight);
    Tensor::from_vec(s.iter().zip(&e).map(|(&x, &y)| x + w * (y - x)).collect(), start.shape())
}
