"""Examples of `unstructured-error`: macros and variants of the code's own that make an error of text."""

from __future__ import annotations

from audit.rules.base import Example

MACRO_INVALID = (
    Example(
        "dtype that no kernel takes, refused twice, and the one of another operand",
        """
        impl CustomOp2 for Atan2 {
            fn cuda_fwd(&self, y: &CudaStorage, x: &CudaStorage) -> Result<CudaStorage> {
                let name = match y.dtype() {
                    DType::F16 => "atan2_f16",
                    DType::F32 => "atan2_f32",
                    dtype => candle::bail!("atan2: unsupported dtype {dtype:?}"),  //~ FT016
                };
                let code = match x.dtype() {
                    DType::F16 => 0,
                    DType::F32 => 1,
                    dtype => candle::bail!("atan2: unsupported dtype {dtype:?}"),  //~ FT016
                };
                match (&y.slice, &x.slice) {
                    (CudaStorageSlice::F16(y), CudaStorageSlice::F16(x)) => launch_half(name, y, x, code),
                    (CudaStorageSlice::F32(y), CudaStorageSlice::F32(x)) => launch_single(name, y, x, code),
                    _ => candle::bail!("atan2: unsupported storage"),
                }
            }

            fn narrower(&self, y: &CudaStorage) -> Result<CudaStorage> {
                let name = match y.dtype() {
                    DType::F16 => "narrow_f16",
                    DType::F32 => "narrow_f32",
                    dtype => candle::bail!("narrow: unsupported dtype {dtype:?}"),  //~ FT016
                };
                match y.dtype() {
                    DType::F32 => launch_single(name, y),
                    dtype => candle::bail!("narrow: unsupported dtype {dtype:?}"),  //~ FT016
                }
            }

            fn both(&self, y: &CudaStorage, is_fast: bool) -> Result<CudaStorage> {
                if is_fast {
                    return match y.dtype() {
                        DType::F32 => launch_fast(y),
                        dtype => candle::bail!("fast: unsupported dtype {dtype:?}"),  //~ FT016
                    };
                }
                match y.dtype() {
                    DType::F32 => launch_slow(y),
                    dtype => candle::bail!("slow: unsupported dtype {dtype:?}"),  //~ FT016
                }
            }
        }
        """,
        path="src/cuda/atan2.rs",
        profile="candle",
    ),
    Example(
        "model that has no kernels for a dtype, told by a text in an error type of its own",
        """
        pub enum BackendError { NoBackend, Start(String), Library(String) }

        pub fn started(device: &Device, dtype: DType) -> std::result::Result<Model, BackendError> {
            match device {
                Device::Cuda(_) => {
                    if dtype != DType::F16 {
                        return Err(BackendError::Start("only supported in f16".to_string()));  //~ FT016
                    }
                    Ok(Model::flash(device))
                }
                _ => Ok(Model::plain(device)),
            }
        }
        """,
        profile="candle",
    ),
    Example(
        "dtype that the storage of a device has no kernel for, told by a macro",
        """
        impl BackendStorage for MetalStorage {
            fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
                let name = match self.dtype {
                    DType::F32 => "affine_f32",
                    DType::F16 => "affine_f16",
                    dtype => crate::bail!("Metal affine {dtype:?} not implemented"),  //~ FT016
                };
                call_affine(&self.device, name, layout, mul, add)
            }
        }
        """,
        path="src/metal_backend/mod.rs",
        profile="candle",
    ),
    Example(
        "size that a kernel does not take, told by a macro",
        """
        impl CustomOp1 for Attention {
            fn cuda_fwd(&self, q: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
                let head_size = layout.dims()[3];
                if head_size > 256 {
                    candle::bail!("only supports head dimension at most 256 (got {head_size})")  //~ FT016
                }
                launch_attention(q, layout)
            }
        }
        """,
        path="src/attention.rs",
        profile="candle",
    ),
    Example(
        "function named after the device that leaves a dtype of its tensors out",
        """
        pub fn cuda_topk(logits: &Tensor, k: usize) -> Result<Tensor> {
            if !matches!(logits.dtype(), DType::BF16 | DType::F32) {
                candle::bail!("cuda_topk: unsupported dtype {:?}", logits.dtype());  //~ FT016
            }
            launch_topk(logits, k)
        }
        """,
        path="src/ops.rs",
        profile="candle",
    ),
    Example(
        "dtypes that code of the device's builds leaves out, and kernels that a build has not",
        """
        #[cfg(feature = "cuda")]
        pub fn moe_gemm(input: &Tensor, weights: &Tensor) -> Result<Tensor> {
            match input.dtype() {
                DType::F16 | DType::BF16 => launch_gemm(input, weights),
                _ => candle::bail!("moe_gemm only accepts f16/bf16 inputs"),  //~ FT016
            }
        }

        mod cuda_backend {
            pub fn quantize(weight: &Tensor) -> Result<Tensor> {
                if !matches!(weight.dtype(), DType::F16 | DType::BF16) {
                    candle::bail!("quantize: input dtype must be F16 or BF16");  //~ FT016
                }
                if !ffi::HAVE_KERNELS {
                    candle::bail!("Do not have FP8 quantization kernels.");  //~ FT016
                }
                launch_quantize(weight)
            }
        }

        impl BackendStorage for CudaStorage {
            fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self> {
                match dtype {
                    DType::F32 => launch_cast(self, layout),
                    DType::I16 => Err(CudaError::InternalError("i16 is not supported").into()),  //~ FT016
                }
            }
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "dtypes that are left over in a kernel's arms, whatever the macro says",
        """
        impl CustomOp1 for Silu {
            fn cuda_fwd(&self, s: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
                match s.dtype() {
                    DType::F32 => launch_silu(s, "f32"),
                    DType::F16 => launch_silu(s, "f16"),
                    other => candle::bail!("expected f32 or f16, got {other:?}"),  //~ FT016
                }
            }
        }
        """,
        path="src/silu.rs",
        profile="candle",
    ),
    Example(
        "refusals of a move, of dtypes beside a kernel's, and of sizes, in the branch for the device",
        """
        pub fn moved(x: &Tensor, device: &Device) -> Result<Tensor> {
            if x.device().is_cuda() {
                candle::bail!("expected a tensor on the cpu: CUDA is not implemented yet")  //~ FT016
            }
            copied(x, device)
        }

        pub fn silu(x: &Tensor) -> Result<Tensor> {
            match x.device() {
                Device::Cuda(_) => match x.dtype() {
                    DType::F32 => launch_silu(x, "f32"),
                    DType::F16 => launch_silu(x, "f16"),
                    other => candle::bail!("expected f32 or f16, got {other:?}"),  //~ FT016
                },
                _ => silu_on_host(x),
            }
        }

        pub fn attend(q: &Tensor, vb: VarBuilder) -> Result<Tensor> {
            if q.device().is_cuda() {
                if q.dim(3)? > 256 {
                    candle::bail!("sizes above 256 are not supported");  //~ FT016
                }
                return launch_attention(q, vb);
            }
            attend_on_host(q, vb)
        }
        """,
        path="src/ops.rs",
        profile="candle",
    ),
)

MACRO_VALID = (
    Example(
        "build without the device that says so",
        """
        impl LayerNorm {
            pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
                match x.device() {
                    Device::Cuda(_) => {
                        #[cfg(feature = "cuda")]
                        {
                            x.apply_op1(self.kernel())
                        }
                        #[cfg(not(feature = "cuda"))]
                        candle::bail!("`cuda` feature is not enabled")
                    }
                    Device::Metal(_) => {
                        #[cfg(target_os = "macos")]
                        {
                            x.apply_op1(self.kernel())
                        }
                        #[cfg(not(target_os = "macos"))]
                        {
                            candle::bail!("Metal is not supported on this platform")
                        }
                    }
                    _ => x.plain(),
                }
            }
        }
        """,
        profile="candle",
    ),
    Example(
        "error of a read that is any error",
        """
        use anyhow::{Error as E, Result};

        pub fn sizes(grid: &Tensor) -> Result<Vec<Vec<u32>>> {
            grid.to_vec2().map_err(|error| E::msg(error.to_string()))
        }

        pub fn started(device: &Device) -> Result<Model> {
            match device {
                Device::Cuda(_) => Err(E::msg("not supported on CUDA")),
                _ => Ok(Model::plain(device)),
            }
        }
        """,
        path="src/cuda/sizes.rs",
        profile="candle",
    ),
    Example(
        "variant that names what failed and what the driver said, and a type that is no error",
        """
        pub enum BackendError { Unsupported { op: &'static str }, Library(String) }
        pub enum Notice { Start(String) }

        pub fn library(device: &Device, source: &str) -> std::result::Result<Library, BackendError> {
            launch_compiler(device, source).map_err(|error| BackendError::Library(error.to_string()))
        }

        pub fn started(device: &Device, dtype: DType) -> std::result::Result<Model, Notice> {
            match device {
                Device::Cuda(_) => Err(Notice::Start("only supported in f16".to_string())),
                _ => Ok(Model::plain(device)),
            }
        }
        """,
        profile="candle",
    ),
    Example(
        "argument that is wrong on any device, told by a macro",
        """
        impl CustomOp1 for Gather {
            fn cuda_fwd(&self, x: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
                if self.ids.dtype() != DType::U32 {
                    candle::bail!("ids must be u32, got {:?}", self.ids.dtype());
                }
                if self.scale.dtype() != DType::F32 || self.shift.dtype() != DType::F32 {
                    candle::bail!("scale and shift must be f32");
                }
                if self.ids.dtype() != DType::U32 && self.has_scales {
                    candle::bail!("gather only accepts scales for u32 ids");
                }
                if layout.dims().len() != 2 {
                    candle::bail!("unexpected input shape for gather {:?}", layout.dims());
                }
                launch_gather(x, &self.ids)
            }
        }

        pub fn attend(q: &Tensor, slopes: &Tensor) -> Result<Tensor> {
            match q.device() {
                Device::Cuda(_) => {
                    if slopes.dtype() != DType::F32 {
                        candle::bail!("dtype mismatch of slopes {:?}, expected f32", slopes.dtype());
                    }
                    launch_attention(q, slopes)
                }
                _ => attend_on_host(q, slopes),
            }
        }
        """,
        path="src/gather.rs",
        profile="candle",
    ),
    Example(
        "data of the host that are asked for, and a device that is the wrong argument",
        """
        pub fn quantize_onto(src: &Tensor, device: &Device) -> Result<QTensor> {
            if src.device().is_cuda() {
                candle::bail!("`quantize_onto` expects a `src` to be on the cpu, got {:?}", src.device());
            }
            upload(quantize(src), device)
        }
        """,
        path="src/quantized.rs",
        profile="candle",
    ),
    Example(
        "part that a model has not, on whatever device it is loaded to",
        """
        pub fn load(vb: VarBuilder, config: &Config, kind: ModelKind) -> Result<FlashModel> {
            match vb.device() {
                Device::Cuda(_) => {
                    if kind == ModelKind::Classifier {
                        candle::bail!("a `classifier` is not supported for this model");
                    }
                    FlashModel::new(vb, config)
                }
                _ => Err(Error::NotCompiledWithCudaSupport),
            }
        }
        """,
        path="src/models.rs",
        profile="candle",
    ),
    Example(
        "host data refused by a kernel of two operands, and a mode and a length that are wrong",
        """
        pub fn cuda_attend(q: &Storage, k: &Storage) -> Result<Tensor> {
            let (Storage::Cuda(a), Storage::Cuda(b)) = (q, k) else {
                candle::bail!("cuda_attend is only supported on CUDA tensors")
            };
            launch_attention(a, b)
        }

        #[cfg(feature = "cuda")]
        pub fn pad(x: &Tensor, mode: &str) -> Result<Tensor> {
            match mode {
                "zeros" => launch_pad(x),
                other => candle::bail!("pad does not support mode {other}"),
            }
        }

        impl CudaStorage {
            fn part(&self, length: usize) -> Result<CudaView> {
                if length > self.length {
                    candle::bail!("only lengths up to {} are supported", self.length);
                }
                Ok(self.view(length))
            }
        }
        """,
        path="src/cuda/ops.rs",
        profile="candle",
    ),
    Example(
        "text of a macro that all of the crate's errors are made with",
        """
        use anyhow as ah;
        use anyhow::*;

        pub fn cuda_topk(logits: &Tensor, k: usize) -> Result<Tensor> {
            if logits.dtype() != DType::F32 {
                bail!("cuda_topk: unsupported dtype {:?}", logits.dtype());
            }
            if k > 64 {
                ah::bail!("cuda_topk: no dtype of that many is supported");
            }
            launch_topk(logits, k)
        }
        """,
        path="src/ops.rs",
        profile="candle",
    ),
    Example(
        "text where every error is text",
        """
        use anyhow::{bail, Result};

        pub fn cuda_topk(logits: &Tensor, k: usize) -> Result<Tensor> {
            if logits.dtype() != DType::F32 {
                bail!("cuda_topk: unsupported dtype {:?}", logits.dtype());
            }
            launch_topk(logits, k)
        }
        """,
        path="src/ops.rs",
        profile="candle",
    ),
    Example(
        "device kernel that refuses the host's data",
        """
        pub fn cuda_topk(logits: &Tensor, k: usize) -> Result<Tensor> {
            if logits.device().is_cpu() {
                candle::bail!("cuda_topk is only supported on the GPU");
            }
            launch_topk(logits, k)
        }
        """,
        path="src/ops.rs",
        profile="candle",
    ),
)
