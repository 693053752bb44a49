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
)
