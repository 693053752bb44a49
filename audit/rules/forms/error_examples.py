"""The examples of `unstructured-error`: more than fit into its module."""

from __future__ import annotations

from audit.rules.base import Example

INVALID = (
    Example(
        "device memory refused in text",
        """
        pub fn send(x: &CudaBuffer<f32>) -> FerrotorchResult<()> {
            Err(FerrotorchError::InvalidArgument { message: "not implemented on GPU".into() })  //~ FT016
        }
        """,
        path="ferrotorch-distributed/src/lib.rs",
    ),
    Example(
        "batches for which the kernel is still to be written",
        """
        fn sample(params: &CudaBuffer<f32>, shape: [usize; 4]) -> FerrotorchResult<CudaBuffer<f32>> {
            if shape[0] != 1 {
                return Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: format!("only B=1 is supported; B > 1 requires a strided kernel"),
                });
            }
            launch_sample(params)
        }
        """,
        path="ferrotorch-diffusion/src/gpu/vae.rs",
    ),
    Example(
        "operation that a backend answers with text, whatever it says",
        """
        impl GpuBackend for MtlBackend {
            fn neg_f32(&self, _a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
                Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: "neg_f32: see the issue".into(),
                })
            }
        }
        """,
        path="ferrotorch-mps/src/backend.rs",
    ),
    Example(
        "size of elements that the device does not take",
        """
        pub fn upload(bytes: &[u8], elem_size: usize) -> FerrotorchResult<GpuBufferHandle> {
            match elem_size {
                4 => upload_f32(bytes),
                8 => upload_f64(bytes),
                other => Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: format!("unsupported size of elements {other}"),
                }),
            }
        }
        """,
    ),
    Example(
        "pairs of devices between which nothing is moved",
        """
        pub fn to(&self, device: Device) -> FerrotorchResult<IntTensor> {
            match (self.device(), device) {
                (Device::Cpu, Device::Cuda(ordinal)) => self.uploaded(ordinal),
                (Device::Cuda(_), Device::Cpu) => self.downloaded(),
                (from, to) => Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: format!("unsupported move from {from:?} to {to:?}"),
                }),
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "operation that no kernel is registered for",
        """
        pub fn call(&self, op: &str, key: DispatchKey) -> FerrotorchResult<Tensor<f32>> {
            match self.kernels.get(&(op, key)) {
                Some(kernel) => kernel(self),
                None => Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: format!("{op}: no kernel registered for {key:?}"),
                }),
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "device that is not there",
        """
        fn device(&self, ordinal: usize) -> FerrotorchResult<&Arc<GpuDevice>> {
            self.devices
                .get(ordinal)
                .ok_or(FerrotorchError::InvalidArgument {  //~ FT016
                    message: format!("CUDA device {ordinal} not available"),
                })
        }
        """,
    ),
    Example(
        "trait default of the backend",
        """
        pub trait GpuBackend {
            fn erf_f64(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
                Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: "erf_f64 not implemented".into(),
                })
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "refusal of device tensors",
        """
        fn require_host(t: &Tensor<f32>, op: &str) -> FerrotorchResult<()> {
            if t.is_cuda() {
                return Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: format!("{op} does not take GPU tensors"),
                });
            }
            Ok(())
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "refusal of a dtype on the device branch",
        """
        pub fn qr<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            if a.is_cuda() {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                return if is_f32::<T>() {
                    backend.qr_f32(a.gpu_handle()?)
                } else {
                    Err(FerrotorchError::InvalidArgument { message: "qr needs f32".into() })  //~ FT016
                };
            }
            host_qr(a.data()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "structured errors made text",
        """
        impl From<GpuError> for FerrotorchError {
            fn from(e: GpuError) -> Self {
                FerrotorchError::InvalidArgument { message: e.to_string() }  //~ FT016
            }
        }

        pub enum GpuError { PtxCompileFailed { kernel: String } }
        """,
    ),
    Example(
        "library that can't be opened",
        """
        mod nccl_sys {
            pub fn open(rank: usize) -> Result<Comm, NcclError> {
                unsafe { ncclCommInitRank(rank) }.ok()
            }
        }

        impl Communicator {
            pub fn new(rank: usize) -> Result<Self, DistributedError> {
                let comm = nccl_sys::open(rank)
                    .map_err(|e| DistributedError::Io { message: format!("none: {e}") })?;  //~ FT016
                Ok(Self { comm })
            }
        }
        """,
    ),
    Example(
        "structured errors made text by a function for map_err",
        """
        fn text_of(e: GpuError) -> FerrotorchError {
            FerrotorchError::InvalidArgument { message: format!("gpu: {e}") }  //~ FT016
        }

        pub enum GpuError { PtxCompileFailed { kernel: String } }
        """,
    ),
    Example(
        "kernel of one dtype in the else of a test that asks more",
        """
        pub fn matmul<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            if is_f32::<T>() && reduced_precision() {
                backend.matmul_f16_f32(a.gpu_handle()?)
            } else {
                backend.matmul_f32(a.gpu_handle()?)  //~ FT016
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "kernel of one dtype behind the arms of a macro",
        """
        pub fn neg<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            let copied = dispatch_dtype!(T, f64 => backend.copy_f64(a), f32 => backend.copy_f32(a))?;
            backend.neg_f32(&copied)  //~ FT016
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "kernel of one dtype for any",
        """
        pub fn gather<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            if a.is_cuda() {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                return backend.gather_f32(a.gpu_handle()?);  //~ FT016
            }
            host_gather(a.data()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "handle that is of neither dtype, and a backend that is another one",
        """
        fn to_host(&self, handle: &GpuBufferHandle) -> FerrotorchResult<Vec<u8>> {
            if let Ok(buffer) = Self::unwrap_buffer(handle) {
                copy_f32(buffer)
            } else if let Ok(buffer) = Self::unwrap_buffer_f64(handle) {
                copy_f64(buffer)
            } else {
                Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: "the handle is neither CudaBuffer<f32> nor CudaBuffer<f64>".into(),
                })
            }
        }

        pub fn cuda_backend() -> FerrotorchResult<&'static CudaBackend> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            backend.as_any().downcast_ref().ok_or(FerrotorchError::InvalidArgument {  //~ FT016
                message: "the GPU backend is not CudaBackend".into(),
            })
        }
        """,
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
        "dtypes that are left over, whatever the text says, and an operator that has no kernel yet",
        """
        pub fn conv<T: Float>(x: &Tensor<T>) -> FerrotorchResult<Tensor<T>> {
            if x.is_cuda() {
                if !is_f32::<T>() {
                    return Err(FerrotorchError::InvalidArgument {  //~ FT016
                        message: "expected f32 or f64".into(),
                    });
                }
                return launch_conv_f32(x);
            }
            host_conv(x.data()?)
        }

        pub fn svd(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() {
                return Err(FerrotorchError::InvalidArgument {  //~ FT016
                    message: "svd: expected a tensor on the cpu, CUDA is not implemented yet".into(),
                });
            }
            host_svd(x.data()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
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
