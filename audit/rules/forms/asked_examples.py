"""Examples of `unstructured-error`: dtypes that callers have asked for, or have not."""

from __future__ import annotations

from audit.rules.base import Example

_OPERATOR = """
impl CustomOp1 for LayerNorm {
    fn metal_fwd(&self, x: &MetalStorage, l: &Layout) -> Result<(MetalStorage, Shape)> {
        let name = match x.dtype() {
            DType::F32 => "layer_norm_f32",
            DType::F16 => "layer_norm_f16",
            dtype => candle::bail!("layer norm: unsupported dtype {dtype:?}"),MARK
        };
        dispatch(name, x, l)
    }
}
"""

ASKED_INVALID = (
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
                DType::U8 => bytes(x),
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
        + _OPERATOR.replace("MARK", "  //~ FT016").replace("\n", "\n            ")
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
        + _OPERATOR.replace("MARK", "  //~ FT016")
        + """
pub fn layer_norm(x: &Tensor) -> Result<Tensor> {
    x.apply_op1(LayerNorm)
}
""",
        path="src/metal/norm.rs",
        profile="candle",
    ),
)

ASKED_VALID = (
    Example(
        "dtypes that each caller of a private function has asked for",
        """
        fn norm_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => launch_half(x),
                DType::F32 => launch_single(x),
                dtype => candle::bail!("norm: unsupported dtype {dtype:?}"),
            }
        }

        pub fn by_guard(x: &CudaStorage) -> Result<CudaStorage> {
            if !x.is_large() || !matches!(x.dtype(), DType::F16 | DType::F32) {
                return Err(Error::UnsupportedDTypeForOp(x.dtype(), "norm"));
            }
            norm_cuda(x)
        }

        pub fn by_branch(x: &CudaStorage, is_fast: bool) -> Result<CudaStorage> {
            let dtype = x.dtype();
            if dtype == DType::F16 && is_fast {
                norm_cuda(x)
            } else if dtype != DType::F32 {
                slow(x)
            } else {
                norm_cuda(x)
            }
        }

        pub fn by_setting(x: &CudaStorage) -> Result<CudaStorage> {
            let dtype = configured();
            if dtype == DType::F16 {
                return norm_cuda(x);
            }
            slow(x)
        }

        pub fn by_local(x: &CudaStorage) -> Result<CudaStorage> {
            let is_fast = matches!(x.dtype(), DType::F16);
            if is_fast {
                return norm_cuda(x);
            }
            slow(x)
        }

        pub fn by_arm(x: &CudaStorage) -> Result<CudaStorage> {
            match x.dtype() {
                DType::F16 => norm_cuda(x),
                _ => slow(x),
            }
        }

        pub fn by_query(x: &CudaStorage) -> Result<CudaStorage> {
            if supports(x.dtype()) {
                return norm_cuda(x);
            }
            slow(x)
        }

        fn between(x: &CudaStorage) -> Result<CudaStorage> {
            norm_cuda(x)
        }

        pub fn by_caller_of_caller(x: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() != DType::F16 {
                return slow(x);
            }
            between(x)
        }
        """,
        path="src/cuda/norm.rs",
        profile="candle",
    ),
    Example(
        "operands under other names, each of which the callers ask for",
        """
        impl Cache {
            fn update_cuda(&self, key: &CudaStorage, cache: &CudaStorage) -> Result<()> {
                let kind = match key.dtype() {
                    DType::F16 => 0,
                    DType::F32 => 1,
                    dtype => candle::bail!("update: unsupported dtype {dtype:?}"),
                };
                let cache_kind = match cache.dtype() {
                    DType::F16 => 0,
                    DType::F8E4M3 => 3,
                    dtype => candle::bail!("update: unsupported cache dtype {dtype:?}"),
                };
                let scale_kind = match self.scales.dtype() {
                    DType::F16 => 0,
                    DType::F32 => 1,
                    dtype => candle::bail!("update: unsupported scale dtype {dtype:?}"),
                };
                launch_update(key, cache, kind, cache_kind, scale_kind)
            }

            pub fn update(&self, new: &CudaStorage, kept: &CudaStorage) -> Result<()> {
                if !matches!(kept.dtype(), DType::F16 | DType::F8E4M3) || self.scales.dtype() != DType::F32 {
                    return Err(Error::UnsupportedDTypeForOp(kept.dtype(), "update"));
                }
                match new.dtype() {
                    DType::F16 | DType::F32 => self.update_cuda(new, kept),
                    dtype => Err(Error::UnsupportedDTypeForOp(dtype, "update")),
                }
            }
        }
        """,
        path="src/cuda/cache.rs",
        profile="candle",
    ),
    Example(
        "operator of the crate's own that is made behind a test",
        "struct LayerNorm;\n\nimpl LayerNorm {\n    fn of_default() -> Self {\n        LayerNorm\n    }\n}\n"
        + _OPERATOR.replace("MARK", "")
        + """
pub fn layer_norm(x: &Tensor) -> Result<Tensor> {
    if !matches!(x.dtype(), DType::F32 | DType::F16) {
        return slow(x);
    }
    x.apply_op1(LayerNorm)
}
""",
        path="src/metal/norm.rs",
        profile="candle",
    ),
    Example(
        "public type in a module that nobody hands on",
        """
        mod kernels {
            pub struct LayerNorm;
            """
        + _OPERATOR.replace("MARK", "").replace("\n", "\n            ")
        + """
        }

        pub fn layer_norm(x: &Tensor) -> Result<Tensor> {
            if !matches!(x.dtype(), DType::F32 | DType::F16) {
                return slow(x);
            }
            x.apply_op1(kernels::LayerNorm)
        }
        """,
        path="src/lib.rs",
        profile="candle",
    ),
)
