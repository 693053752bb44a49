"""Examples of `unstructured-error`: dtypes that some caller has not asked for, or not of that operand."""

from __future__ import annotations

from audit.rules.base import Example
from audit.rules.forms.asked_examples import OPERATOR

UNASKED_INVALID = (
    Example(
        "dtype that other crates may ask for, and one that a caller admits for another reason",
        """
        pub fn gather_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => launch_half(x),
                DType::F32 => launch_single(x),
                dtype => candle::bail!("gather: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        fn scatter_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => launch_half(x),
                DType::F32 => launch_single(x),
                dtype => candle::bail!("scatter: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn both(x: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() == DType::U8 {
                return bytes(x);
            }
            if x.is_large() && (x.dtype() == DType::F32 || x.is_small()) {
                return scatter_cuda(x);
            }
            gather_cuda(x)
        }
        """,
        path="src/cuda/gather.rs",
        profile="candle",
    ),
    Example(
        "one caller that asks, and one that does not",
        """
        fn norm_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => launch_half(x),
                DType::F32 => launch_single(x),
                dtype => candle::bail!("norm: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn careful(x: &CudaStorage) -> Result<CudaStorage> {
            if !matches!(x.dtype(), DType::F16 | DType::F32) {
                return Err(Error::UnsupportedDTypeForOp(x.dtype(), "norm"));
            }
            norm_cuda(x)
        }

        pub fn careless(x: &CudaStorage) -> Result<CudaStorage> {
            norm_cuda(x)
        }

        fn scale_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => launch_half(x),
                DType::F32 => launch_single(x),
                dtype => candle::bail!("scale: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn for_the_rest(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => half(x),
                _ => scale_cuda(x),
            }
        }

        fn shift_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => launch_half(x),
                DType::F32 => launch_single(x),
                dtype => candle::bail!("shift: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn either(x: &CudaStorage) -> Result<CudaStorage> {
            if x.is_flat() || x.is_large() && x.dtype() == DType::F32 {
                return shift_cuda(x);
            }
            slow(x)
        }
        """,
        path="src/cuda/norm.rs",
        profile="candle",
    ),
    Example(
        "dtype of another operand than the one that the callers ask for",
        """
        impl Cache {
            fn update_cuda<T>(&self, key: &CudaStorage, cache: &CudaStorage) -> Result<()> {
                let kind = match key.dtype() {
                    DType::F16 => 0,
                    DType::F32 => 1,
                    dtype => candle::bail!("update: unsupported dtype {dtype:?}"),
                };
                let cache_kind = match cache.dtype() {
                    DType::F16 => 0,
                    DType::F8E4M3 => 3,
                    dtype => candle::bail!("update: unsupported cache dtype {dtype:?}"),  //~ FT016
                };
                let scale_kind = match self.scales.dtype() {
                    DType::F16 => 0,
                    DType::F32 => 1,
                    dtype => candle::bail!("update: unsupported scale dtype {dtype:?}"),  //~ FT016
                };
                launch_update(key, cache, kind, cache_kind, scale_kind)
            }

            pub fn update(&self, new: &CudaStorage, kept: &CudaStorage) -> Result<()> {
                match new.dtype() {
                    DType::F16 => self.update_cuda::<f16>(new, kept),
                    DType::F32 => self.update_cuda::<f32>(new, kept),
                    dtype => Err(Error::UnsupportedDTypeForOp(dtype, "update")),
                }
            }
        }
        """,
        path="src/cuda/cache.rs",
        profile="candle",
    ),
    Example(
        "type of the crate's own that a public module hands on",
        """
        mod kernels {
            pub struct LayerNorm;
            """
        + OPERATOR.replace("MARK", "  //~ FT016").replace("\n", "\n            ")
        + """
        }

        pub use kernels::LayerNorm;

        pub fn layer_norm(x: &Tensor) -> Result<Tensor> {
            if !matches!(x.dtype(), DType::F32 | DType::F16) {
                return slow(x);
            }
            x.apply_op1(LayerNorm)
        }
        """,
        path="src/lib.rs",
        profile="candle",
    ),
    Example(
        "more dtypes admitted than the kernel takes, and those of indices",
        """
        fn product_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() != DType::F16 {
                candle::bail!("product: unsupported dtype {:?}", x.dtype())  //~ FT016
            }
            launch_product(x)
        }

        pub fn product(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 | DType::BF16 => product_cuda(x),
                _ => slow(x),
            }
        }

        struct CopyRows;

        impl InplaceOp2 for CopyRows {
            fn cuda_fwd(&self, dst: &mut CudaStorage, src: &CudaStorage) -> Result<()> {
                match dst.dtype() {
                    DType::F16 => launch_half(dst, src),
                    DType::F32 => launch_single(dst, src),
                    dtype => candle::bail!("copy rows: unsupported dtype {dtype:?}"),  //~ FT016
                }
            }
        }

        pub fn copy_rows(dst: &Tensor, src: &Tensor, rows: &Tensor) -> Result<()> {
            if rows.dtype() != DType::U32 {
                return Err(Error::UnexpectedDType(rows.dtype()));
            }
            dst.inplace_op2(src, &CopyRows)
        }
        """,
        path="src/cuda/product.rs",
        profile="candle",
    ),
    Example(
        "functions of one name in two others, one of which asks",
        """
        pub fn careful(x: &CudaStorage) -> Result<CudaStorage> {
            fn cuda_fwd(x: &CudaStorage) -> Result<CudaStorage> {
                match x.dtype() {
                    DType::F16 => launch_half(x),
                    dtype => candle::bail!("careful: unsupported dtype {dtype:?}"),
                }
            }
            match x.dtype() {
                DType::F16 => cuda_fwd(x),
                _ => slow(x),
            }
        }

        pub fn careless(x: &CudaStorage) -> Result<CudaStorage> {
            fn cuda_fwd(x: &CudaStorage) -> Result<CudaStorage> {
                match x.dtype() {
                    DType::F16 => launch_half(x),
                    dtype => candle::bail!("careless: unsupported dtype {dtype:?}"),  //~ FT016
                }
            }
            cuda_fwd(x)
        }
        """,
        path="src/cuda/twins.rs",
        profile="candle",
    ),
    Example(
        "operand that a function refuses after it has asked for another one",
        """
        pub fn multiply_cuda(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            if !supports(w.dtype()) {
                return Err(Error::UnsupportedDTypeForOp(w.dtype(), "multiply"));
            }
            match x.dtype() {
                DType::F16 => launch_half(x, w),
                dtype => candle::bail!("multiply: unsupported dtype {dtype:?}"),  //~ FT016
            }
        }

        pub fn capped_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            let dtype = x.dtype();
            let DType::F32 = dtype else {
                candle::bail!("capped: unsupported dtype {dtype:?}");  //~ FT016
            };
            launch_capped(x)
        }
        """,
        path="src/cuda/multiply.rs",
        profile="candle",
    ),
    Example(
        "limit of a kernel, which a dtype that was asked for tells nothing of",
        """
        fn attend_cuda(x: &CudaStorage, head_dim: usize) -> Result<CudaStorage> {
            if head_dim > 256 {
                candle::bail!("attend: head dims above 256 are not supported by the kernel")  //~ FT016
            }
            launch_attend(x, head_dim)
        }

        pub fn attend(x: &CudaStorage, head_dim: usize) -> Result<CudaStorage> {
            if x.dtype() != DType::F16 {
                return slow(x);
            }
            attend_cuda(x, head_dim)
        }
        """,
        path="src/cuda/attend.rs",
        profile="candle",
    ),
    Example(
        "operator that is made without a look at the dtype",
        "struct LayerNorm;\n"
        + OPERATOR.replace("MARK", "  //~ FT016")
        + """
pub fn layer_norm(x: &Tensor) -> Result<Tensor> {
    x.apply_op1(LayerNorm)
}
""",
        path="src/metal/norm.rs",
        profile="candle",
    ),
)
