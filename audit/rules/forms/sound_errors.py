"""Examples of errors that are no unsupported GPU case in text."""

from __future__ import annotations

from audit.rules.base import Example

VALID = (
    Example(
        "structured refusal",
        """
        fn require_host(t: &Tensor<f32>, op: &'static str) -> FerrotorchResult<()> {
            if t.is_cuda() {
                return Err(FerrotorchError::NotImplementedOnCuda { op });
            }
            Ok(())
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "wrong argument on the device branch",
        """
        pub fn matmul(a: &Tensor<f32>) -> FerrotorchResult<GpuBufferHandle> {
            if a.is_cuda() {
                if a.ndim() != 2 {
                    return Err(FerrotorchError::InvalidArgument { message: "expected a matrix".into() });
                }
                return launch_matmul(a.gpu_handle()?);
            }
            host_matmul(a.data()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "operands of different dtypes, and a thread that can't be started",
        """
        pub fn add(a: &Tensor<f32>, b: &Tensor<f32>) -> FerrotorchResult<GpuBufferHandle> {
            if a.is_cuda() {
                if a.dtype() != b.dtype() {
                    return Err(FerrotorchError::InvalidArgument { message: "dtypes differ".into() });
                }
                return launch_add(a.gpu_handle()?, b.gpu_handle()?);
            }
            host_add(a.data()?, b.data()?)
        }

        pub fn serve(jobs: Jobs) -> FerrotorchResult<JoinHandle> {
            Builder::new()
                .spawn(move || {
                    for job in jobs {
                        launch(job);
                    }
                })
                .map_err(|e| FerrotorchError::Internal { message: format!("no thread: {e}") })
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "bytes that elements do not fill",
        """
        pub fn host<I: Element>(t: &IntTensor<I>) -> FerrotorchResult<Vec<I>> {
            if t.is_cuda() {
                let bytes = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?.gpu_to_cpu(t)?;
                let elem_size = std::mem::size_of::<I>();
                if bytes.len() % elem_size != 0 {
                    return Err(FerrotorchError::InvalidArgument {
                        message: format!("{} bytes are no whole elements", bytes.len()),
                    });
                }
                return Ok(elements(&bytes));
            }
            Ok(t.data()?.to_vec())
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "mode that does not exist, and a size that is wrong in any case",
        """
        pub fn padded(x: &CudaBuffer<f32>, mode: &str, size: usize) -> FerrotorchResult<CudaBuffer<f32>> {
            match mode {
                "zeros" => pad_zeros(x, size),
                other => Err(FerrotorchError::InvalidArgument {
                    message: format!("unsupported mode {other}"),
                }),
            }
        }

        pub fn divided_bf16(x: &CudaBuffer<bf16>, rounding: &str) -> FerrotorchResult<CudaBuffer<bf16>> {
            match rounding {
                "floor" => divide_floor(x),
                other => Err(FerrotorchError::InvalidArgument {
                    message: format!("unsupported bf16 rounding {other}"),
                }),
            }
        }

        pub fn flip_u16(x: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
            match x.dtype() {
                DType::F16 => flip(unwrap_f16(x)?),
                DType::BF16 => flip(unwrap_bf16(x)?),
                other => Err(FerrotorchError::InvalidArgument {
                    message: format!("flip_u16 expected F16/BF16, got {other}"),
                }),
            }
        }

        pub fn read_header(bytes: &[u8], elem_size: usize) -> FerrotorchResult<Header> {
            match elem_size {
                4 => parse(bytes),
                other => Err(FerrotorchError::InvalidArgument {
                    message: format!("unsupported size of elements {other}"),
                }),
            }
        }
        """,
    ),
    Example(
        "something else that is not there, and a device that is not there told by its variant",
        """
        fn stream(&self, name: &str) -> FerrotorchResult<&Stream> {
            self.streams
                .get(name)
                .ok_or(FerrotorchError::InvalidArgument { message: format!("no stream {name}") })
        }

        fn device(&self, ordinal: usize) -> FerrotorchResult<&Arc<GpuDevice>> {
            self.devices.get(ordinal).ok_or(FerrotorchError::DeviceUnavailable)
        }
        """,
    ),
    Example(
        "work that fails on a library that is open",
        """
        mod nccl_sys {
            pub fn all_reduce(buffer: *mut f32, comm: Comm) -> Result<(), NcclError> {
                unsafe { ncclAllReduce(buffer, comm) }.ok()
            }
        }

        impl Communicator {
            pub fn all_reduce(&self, buffer: *mut f32) -> Result<(), DistributedError> {
                nccl_sys::all_reduce(buffer, self.comm)
                    .map_err(|e| DistributedError::Io { message: format!("allreduce failed: {e}") })
            }
        }
        """,
    ),
    Example(
        "no closed form on any device",
        """
        pub fn entropy(&self) -> FerrotorchResult<Tensor<f32>> {
            Err(FerrotorchError::InvalidArgument { message: "entropy has no closed form".into() })
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "structured errors told apart by a function for map_err",
        """
        fn kept(e: GpuError) -> FerrotorchError {
            match e {
                GpuError::PtxCompileFailed { kernel } => NotImplementedOnCuda { op: kernel },
            }
        }

        pub enum GpuError { PtxCompileFailed { kernel: String } }
        """,
    ),
    Example(
        "dtype told by a test that does not hold",
        """
        pub fn neg<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            if is_f64::<T>() {
                backend.neg_f64(a.gpu_handle()?)
            } else {
                backend.neg_f32(a.gpu_handle()?)
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "dtype told where a private function is called, by a test of another name",
        """
        pub fn neg<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            if kernel_takes_f32::<T>() {
                neg_on_device(a)
            } else {
                Err(FerrotorchError::NotImplementedOnCuda { op: "neg" })
            }
        }

        fn neg_on_device<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            backend.neg_f32(a.gpu_handle()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "dtype told by the arm of a macro",
        """
        pub fn neg<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            dispatch_dtype!(
                T,
                "neg",
                f64 => backend.neg_f64(a.gpu_handle()?),
                f32 => {
                    let copied = backend.copy_f32(a.gpu_handle()?)?;
                    backend.neg_f32(&copied)
                },
            )
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "dtype told before the call",
        """
        pub fn gather<T: Float>(a: &Tensor<T>) -> FerrotorchResult<GpuBufferHandle> {
            if a.is_cuda() && is_f32::<T>() {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                return backend.gather_f32(a.gpu_handle()?);
            }
            Err(FerrotorchError::NotImplementedOnCuda { op: "gather" })
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "arm that no device reaches",
        """
        pub fn free_memory(device: &Device) -> FerrotorchResult<usize> {
            match device {
                Device::Cuda(_) => query_driver(),
                Device::Cpu => Ok(0),
                #[allow(unreachable_patterns)]
                _ => Err(FerrotorchError::InvalidArgument { message: "not supported on this GPU".into() }),
            }
        }
        """,
        path="ferrotorch-gpu/src/lib.rs",
    ),
    Example(
        "failure that hands back what it was given",
        """
        pub fn keep(backend: Box<dyn Backend>) -> Result<(), Box<dyn Backend>> {
            SLOT.set(backend)
        }

        pub fn gpu_init() -> FerrotorchResult<()> {
            keep(backend()).map_err(|e| FerrotorchError::InvalidArgument { message: format!("{e:?}") })
        }
        """,
    ),
    Example(
        "what came back from the device is too short",
        """
        pub fn searchsorted(edges: &Tensor<f32>, values: &Tensor<f32>) -> FerrotorchResult<Vec<usize>> {
            if values.is_cuda() {
                let found = launch_searchsorted(edges.gpu_handle()?, values.gpu_handle()?)?;
                let bytes = gpu_backend()?.gpu_to_cpu(&found)?;
                if bytes.len() < 8 * values.numel() {
                    return Err(FerrotorchError::InvalidArgument {
                        message: format!("searchsorted: the GPU returned {} bytes", bytes.len()),
                    });
                }
                return Ok(indices(&bytes));
            }
            host_searchsorted(edges.data()?, values.data()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "error that is kept whole in a variant of its own",
        """
        impl From<GpuError> for FerrotorchError {
            fn from(error: GpuError) -> Self {
                Self::Internal(error)
            }
        }
        """,
    ),
)
