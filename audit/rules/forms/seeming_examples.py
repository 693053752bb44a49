"""Examples of `unstructured-error`: dtypes that only seem to have been asked for."""

from __future__ import annotations

from audit.rules.base import Example
from audit.rules.forms.asked_examples import OPERATOR

SEEMING_INVALID = (
    Example(
        "operand that only seems to have been asked for before",
        """
        pub fn in_a_pair(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            match (x.dtype(), w.dtype()) {
                (DType::F32, _) => match w.dtype() {
                    DType::F32 => launch_pair(x, w),
                    dtype => candle::bail!("pair: unsupported dtype {dtype:?}"),  //~ FT016
                },
                _ => slow(x),
            }
        }

        pub fn shadowed(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            let dtype = x.dtype();
            if dtype != DType::F32 {
                return Err(Error::UnsupportedDTypeForOp(dtype, "shadowed"));
            }
            let dtype = w.dtype();
            match dtype {
                DType::F32 => launch_pair(x, w),
                other => candle::bail!("shadowed: unsupported dtype {other:?}"),  //~ FT016
            }
        }

        pub fn bound_again(x: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() != DType::F32 {
                return slow(x);
            }
            let x = &x.multiplied_in_half()?;
            match x.dtype() {
                DType::F32 => launch_single(x),
                other => candle::bail!("bound again: unsupported dtype {other:?}"),  //~ FT016
            }
        }

        pub fn of_one_root(p: &Pair) -> Result<CudaStorage> {
            match p.x.dtype() {
                DType::F32 => match p.w.dtype() {
                    DType::F32 => launch_pair(p),
                    other => candle::bail!("of one root: unsupported dtype {other:?}"),  //~ FT016
                },
                _ => slow(p),
            }
        }
        """,
        path="src/cuda/seeming.rs",
        profile="candle",
    ),
    Example(
        "function that is handed about, and one for which something else was asked",
        """
        fn norm_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F32 => launch_single(x),
                dtype => candle::bail!("norm: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn careful(x: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() != DType::F32 {
                return slow(x);
            }
            norm_cuda(x)
        }

        pub fn all(xs: &[CudaStorage]) -> Result<Vec<CudaStorage>> {
            xs.iter().map(norm_cuda).collect()
        }

        fn scale_cuda(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F32 => launch_scale(x, w),
                dtype => candle::bail!("scale: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn of_the_other(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            if w.dtype() != DType::F32 {
                return slow(x);
            }
            scale_cuda(x, w)
        }

        fn shift_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F32 => launch_shift(x),
                dtype => candle::bail!("shift: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn of_another_query(x: &CudaStorage) -> Result<CudaStorage> {
            if x.device().supports_graphs() {
                return shift_cuda(x);
            }
            slow(x)
        }

        fn fill_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F32 => launch_fill(x),
                dtype => candle::bail!("fill: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn of_any_type<T: Element>(x: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() == T::DTYPE {
                return fill_cuda(x);
            }
            slow(x)
        }

        fn sum_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F32 => launch_sum(x),
                dtype => candle::bail!("sum: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn of_some(x: &CudaStorage, xs: &[CudaStorage]) -> Result<CudaStorage> {
            if xs.iter().any(|one| one.dtype() == DType::F32) {
                return sum_cuda(x);
            }
            slow(x)
        }

        fn cap_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F32 => launch_cap(x),
                dtype => candle::bail!("cap: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn of_a_setting(x: &CudaStorage, dtype: Option<DType>) -> Result<CudaStorage> {
            match dtype {
                Some(DType::F32) | None => cap_cuda(x),
                _ => slow(x),
            }
        }
        """,
        path="src/cuda/seeming.rs",
        profile="candle",
    ),
    Example(
        "operator that an alias or a static makes",
        "struct LayerNorm;\ntype Norm = LayerNorm;\n"
        + OPERATOR.replace("MARK", "  //~ FT016")
        + """
pub fn layer_norm(x: &Tensor) -> Result<Tensor> {
    if !matches!(x.dtype(), DType::F32 | DType::F16) {
        return slow(x);
    }
    x.apply_op1(LayerNorm)
}

pub fn any_norm(x: &Tensor) -> Result<Tensor> {
    x.apply_op1(Norm)
}
""",
        path="src/metal/norm.rs",
        profile="candle",
    ),
)
