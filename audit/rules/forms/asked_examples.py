"""Examples of `unstructured-error`: dtypes that every caller has asked for."""

from __future__ import annotations

from audit.rules.base import Example

OPERATOR = """
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

ASKED_VALID = (
    Example(
        "dtype that the function itself has asked for, by one name or another",
        """
        pub fn top_cuda(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() != DType::F32 {
                return Err(Error::UnsupportedDTypeForOp(x.dtype(), "top"));
            }
            match x.dtype() {
                DType::F32 => launch_top(x, w),
                dtype => candle::bail!("top: unsupported dtype {dtype:?}"),
            }
        }
        """,
        path="src/cuda/top.rs",
        profile="candle",
    ),
    Example(
        "query of the kernel's own, which speaks for all operands",
        """
        fn multiply_cuda(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            if !matches!(x.dtype(), DType::F16 | DType::F32) {
                candle::bail!("multiply: unsupported dtype {:?}", x.dtype());
            }
            match w.dtype() {
                DType::F16 => launch_half(x, w),
                dtype => candle::bail!("multiply: unsupported weight dtype {dtype:?}"),
            }
        }

        pub fn multiply(a: &CudaStorage, b: &CudaStorage) -> Result<CudaStorage> {
            if !supports(b.dtype()) || !is_enabled() {
                return slow(a, b);
            }
            multiply_cuda(a, b)
        }

        fn rotate_cuda(x: &CudaStorage, w: &CudaStorage) -> Result<CudaStorage> {
            if !matches!(x.dtype(), DType::F16 | DType::F32) {
                candle::bail!("rotate: unsupported dtype {:?}", x.dtype());
            }
            match w.dtype() {
                DType::F16 => launch_half(x, w),
                dtype => candle::bail!("rotate: unsupported angle dtype {dtype:?}"),
            }
        }

        pub fn rotate(a: &CudaStorage, b: &CudaStorage, config: &Config) -> Result<CudaStorage> {
            if should_use_rotation(config) {
                return rotate_cuda(a, b);
            }
            slow(a, b)
        }
        """,
        path="src/cuda/multiply.rs",
        profile="candle",
    ),
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

        pub fn by_predicate(x: &CudaStorage) -> Result<CudaStorage> {
            if x.is_f32() {
                return norm_cuda(x);
            }
            slow(x)
        }

        fn scale_cuda(x: &CudaStorage) -> Result<CudaStorage> {
            if !supports(x.dtype()) {
                candle::bail!("scale: unsupported dtype {:?}", x.dtype());
            }
            launch_scale(x)
        }

        pub fn scale(x: &CudaStorage) -> Result<CudaStorage> {
            if x.dtype() == DType::F16 {
                return scale_cuda(x);
            }
            slow(x)
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
        + OPERATOR.replace("MARK", "")
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
        + OPERATOR.replace("MARK", "").replace("\n", "\n            ")
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
