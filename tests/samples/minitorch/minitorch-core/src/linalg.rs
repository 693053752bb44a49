//! Dense linear algebra on small matrices.

use crate::dtype::{is_f32, Float};
use crate::error::{TorchError, TorchResult};
use crate::gpu_dispatch::gpu_backend;
use crate::storage::TensorStorage;
use crate::tensor::Tensor;

fn require_cpu<T: Float>(x: &Tensor<T>, op: &str) -> TorchResult<()> {
    if x.is_cuda() {
        return Err(TorchError::InvalidArgument { //~ FT016
            message: format!("{op} does not support CUDA tensors"),
        });
    }
    Ok(())
}

fn square_side<T: Float>(x: &Tensor<T>) -> TorchResult<usize> {
    match x.shape() {
        &[a, b] if a == b => Ok(a),
        other => Err(TorchError::InvalidArgument { message: format!("expected a square matrix, got {other:?}") }), //~ ok FT016: a shape error on every device
    }
}

/// Matrix product.
pub fn matmul<T: Float>(a: &Tensor<T>, b: &Tensor<T>) -> TorchResult<Tensor<T>> {
    let (&[m, k], &[_, n]) = (a.shape(), b.shape()) else {
        return Err(TorchError::ShapeMismatch { message: format!("{:?} by {:?}", a.shape(), b.shape()) });
    };
    if a.is_cuda() {
        let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
        if !is_f32::<T>() {
            return Err(TorchError::InvalidArgument { message: "matmul on GPU: unsupported dtype".into() }); //~ FT016
        }
        let handle = backend.matmul_f32(a.gpu_handle()?, b.gpu_handle()?, m, k, n)?;
        return Tensor::from_storage(TensorStorage::gpu(handle), vec![m, n], false);
    }
    let (x, y) = (a.data()?, b.data()?);
    let dot = |i: usize, j: usize| (0..k).fold(T::zero(), |acc, p| acc + x[i * k + p] * y[p * n + j]);
    Tensor::from_vec((0..m * n).map(|at| dot(at / n, at % n)).collect(), &[m, n])
}

/// Lower Cholesky factor.
pub fn cholesky<T: Float>(x: &Tensor<T>) -> TorchResult<Tensor<T>> {
    require_cpu(x, "cholesky")?;
    let n = square_side(x)?;
    let a = x.data()?;
    let mut l = vec![T::zero(); n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot = (0..j).fold(T::zero(), |acc, p| acc + l[i * n + p] * l[j * n + p]);
            let rest = a[i * n + j] - dot;
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    Tensor::from_vec(l, &[n, n])
}

/// Cholesky that reports failure in `info` instead of an error.
pub fn cholesky_ex<T: Float>(x: &Tensor<T>) -> TorchResult<(Tensor<T>, i32)> {
    match cholesky(x) {
        Ok(l) => Ok((l, 0)),
        Err(_) => { //~ FT003
            let n = x.shape().first().copied().unwrap_or(0);
            Ok((Tensor::from_vec(vec![T::zero(); n * n], &[n, n])?, 1))
        }
    }
}

/// The trace of a square matrix.
pub fn trace<T: Float>(x: &Tensor<T>) -> TorchResult<T> {
    require_cpu(x, "trace")?;
    let n = square_side(x)?;
    let data = x.data_vec()?; //~ ok FT005: require_cpu refused device tensors
    Ok((0..n).fold(T::zero(), |acc, i| acc + data[i * n + i]))
}

/// The determinant by elimination.
pub fn det<T: Float>(x: &Tensor<T>) -> TorchResult<T> {
    let n = square_side(x)?;
    let mut a = x.data_vec()?; //~ FT005
    let mut det = T::one();
    for i in 0..n {
        let pivot = a[i * n + i];
        det = det * pivot;
        for r in i + 1..n {
            let factor = a[r * n + i] / pivot;
            for c in i..n {
                let above = a[i * n + c];
                a[r * n + c] = a[r * n + c] - factor * above;
            }
        }
    }
    Ok(det)
}
