"""The examples of `silent-fallback`: more than fit into its module."""

from __future__ import annotations

from audit.rules.base import Example

INVALID = (
    Example(
        "operator that only has the name of an export",
        """
        pub fn gpu_slice_write(
            src: &CudaBuffer<f32>,
            dst: &mut CudaBuffer<f32>,
            d: &GpuDevice,
        ) -> GpuResult<()> {
            let f = match get_or_compile(d.context(), SLICE_WRITE_PTX, "slice_write_kernel") {
                Ok(f) => f,
                Err(_) => {
                    let host = gpu_to_cpu(src, d)?;  //~ FT001
                    *dst = cpu_to_gpu(&written(&host), d)?;
                    return Ok(());
                }
            };
            launch(&f, src, dst)
        }
        """,
    ),
    Example(
        "closure that runs when the launch failed",
        """
        pub fn gpu_exp(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            try_launch_unary(a, d, EXP_PTX)?
                .map_or_else(|| cpu_fallback_unary(a, d, f32::exp), Ok)  //~ FT001
        }

        pub fn gpu_double(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            launch(&kernel(d)?, a, d).or_else(|_| {
                let host = gpu_to_cpu(a, d)?;  //~ FT001
                cpu_to_gpu(&host.iter().map(|v| v + v).collect::<Vec<_>>(), d)
            })
        }

        fn cpu_fallback_unary(
            a: &CudaBuffer<f32>,
            d: &GpuDevice,
            f: impl Fn(f32) -> f32,
        ) -> GpuResult<CudaBuffer<f32>> {
            let host = gpu_to_cpu(a, d)?;
            cpu_to_gpu(&host.into_iter().map(f).collect::<Vec<_>>(), d)
        }
        """,
    ),
    Example(
        "status of the launch, and a tail behind is_ok()",
        """
        pub fn gpu_gemm(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            let rc = unsafe { cublas_sgemm_raw(a, d) };
            if rc != 0 {
                let host = gpu_to_cpu(a, d)?;  //~ FT001
                return cpu_to_gpu(&multiply(&host), d);
            }
            Ok(output(d))
        }

        pub fn gpu_transpose(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            let launched = launch(&kernel(d)?, a, d);
            if launched.is_ok() {
                return launched;
            }
            let host = gpu_to_cpu(a, d)?;  //~ FT001
            cpu_to_gpu(&transposed(&host), d)
        }
        """,
    ),
    Example(
        "warnings that tell of something else, and a question that only a build for the device can ask",
        """
        pub fn opened() -> Device {
            tracing::warn!("this version looks for a GPU first");
            Device::new_cuda(0).unwrap_or(Device::Cpu)  //~ FT001
        }

        pub fn configured() -> Device {
            match Device::new_cuda(0) {
                Ok(device) => device,
                Err(_) => {
                    tracing::warn!("the option `ordinal` is deprecated");
                    Device::Cpu  //~ FT001
                }
            }
        }

        pub fn compatible() -> Result<Device> {
            match is_compatible() {
                Ok(_) => Device::new_cuda(0),
                Err(_) => Ok(Device::Cpu),  //~ FT001
            }
        }

        #[cfg(feature = "cuda")]
        fn is_compatible() -> Result<bool> {
            Ok(runtime_version()? >= VERSION)
        }
        """,
        profile="candle",
    ),
    Example(
        "host's device where the device could not be asked",
        """
        pub fn device() -> Result<Device> {
            if let Ok(capability) = cuda_capability() {
                Device::new_cuda(capability.ordinal)
            } else {
                Ok(Device::Cpu)  //~ FT001
            }
        }
        """,
        profile="candle",
    ),
    Example(
        "host work over host inputs when there is no device",
        """
        pub fn best_device() -> Device {
            GpuDevice::new(0).map(|d| Device::Cuda(d.ordinal())).unwrap_or(Device::Cpu)  //~ FT001
        }

        pub fn gpu_scale_shared(values: &[f32], factor: f32) -> GpuResult<Vec<f32>> {
            match shared() {
                Some(device) => launch_scale(values, factor, device),
                None => Ok(values.iter().map(|v| v * factor).collect()),  //~ FT001
            }
        }

        fn shared() -> Option<GpuDevice> {
            GpuDevice::new(0).ok()
        }
        """,
    ),
    Example(
        "function of the host that makes what the device was asked for",
        """
        impl<T: Float> SparseTensor<T> {
            pub fn dense(&self, device: Device) -> FerrotorchResult<Tensor<T>> {
                if let Device::Cuda(ordinal) = device {
                    if self.ndim() == 2 {
                        let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                        return wrap(backend.sparse_to_dense_f32(&self.rows, &self.values, ordinal)?);
                    }
                    let made = self.dense_cpu()?;  //~ FT001
                    return made.to(device);
                }
                self.dense_cpu()
            }

            fn dense_cpu(&self) -> FerrotorchResult<Tensor<T>> {
                Tensor::from_storage(TensorStorage::cpu(self.scattered()), self.shape.clone(), false)
            }
        }
        """,
        path="ferrotorch-core/src/sparse.rs",
    ),
    Example(
        "answer that is also missing where there is no backend",
        """
        pub fn clamp<T: Float>(x: &Tensor<T>, low: T) -> FerrotorchResult<Tensor<T>> {
            if let Some(out) = clamp_on_device(x, low)? {
                return Ok(out);
            }
            let data = x.data_vec()?;  //~ FT001
            Tensor::from_storage(TensorStorage::cpu(clamped(&data, low)), x.shape().to_vec(), false)
        }

        fn clamp_on_device<T: Float>(x: &Tensor<T>, low: T) -> FerrotorchResult<Option<Tensor<T>>> {
            if !x.is_cuda() {
                return Ok(None);
            }
            let Some(backend) = gpu_backend() else {
                return Ok(None);
            };
            Ok(Some(wrap(backend.clamp_f32(x.gpu_handle()?, low)?)?))
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "device error that `.ok()` drops before a host path",
        """
        pub fn step(&mut self, param: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if param.is_cuda() {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                let moments = backend.alloc_zeros(param.numel()).ok();  //~ FT001
                if let Some(moments) = &moments {
                    return wrap(backend.fused_adam_f32(param.gpu_handle()?, moments)?);
                }
            }
            let values = param.data_vec()?;  //~ FT001
            Tensor::from_storage(TensorStorage::cpu(values), param.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-optim/src/lib.rs",
    ),
    Example(
        "operands sent through the host to other processes",
        """
        pub fn send<T: Float>(x: &Tensor<T>, to: usize, backend: &dyn Backend) -> FerrotorchResult<()> {
            let data = x.data_vec()?;  //~ FT001
            backend.send(&floats_to_bytes(&data), to)
        }
        """,
        path="ferrotorch-distributed/src/lib.rs",
    ),
    Example(
        "error arm of a compile that computes on the host",
        """
        pub fn gpu_scale(a: &CudaBuffer<f32>, s: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            let f = match get_or_compile(device.context(), SCALE_PTX, "scale_kernel") {
                Ok(f) => f,
                Err(_) => {
                    let host = gpu_to_cpu(a, device)?;  //~ FT001
                    let out: Vec<f32> = host.iter().map(|x| x * s).collect();
                    return cpu_to_gpu(&out, device);
                }
            };
            launch(&f, a, device)
        }
        """,
    ),
    Example(
        "closure for a failure that answers with host results and more",
        """
        pub fn gpu_label(a: &CudaBuffer<f32>, d: &GpuDevice) -> (CudaBuffer<f32>, Stats) {
            launch_label(a, d).unwrap_or_else(|_| {
                let (labels, stats) = host::label(a);
                (cpu_to_gpu(&labels, d), stats)  //~ FT001
            })
        }
        """,
    ),
    Example(
        "launch that is tried, then a helper on the host",
        """
        fn cpu_fallback(a: &CudaBuffer<f32>, d: &GpuDevice, op: fn(f32) -> f32) -> GpuResult<Buffer> {
            let host = gpu_to_cpu(a, d)?;
            let out: Vec<f32> = host.iter().map(|&x| op(x)).collect();
            cpu_to_gpu(&out, d)
        }

        pub fn gpu_neg(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            if let Some(out) = try_launch_unary(a, d, NEG_PTX)? {
                return Ok(out);
            }
            cpu_fallback(a, d, |x| -x)  //~ FT001
        }
        """,
    ),
    Example(
        "refusal of device data that is undone",
        """
        fn host_data(x: &Tensor<f32>) -> FerrotorchResult<Vec<f32>> {
            match x.data() {
                Ok(slice) => Ok(slice.to_vec()),
                Err(_) => x.data_vec(),  //~ FT001
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
)

VALID = (
    Example(
        "answer that is missing for host data only",
        """
        pub fn clamp<T: Float>(x: &Tensor<T>, low: T) -> FerrotorchResult<Tensor<T>> {
            if let Some(out) = clamp_on_device(x, low)? {
                return Ok(out);
            }
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(clamped(&data, low)), x.shape().to_vec(), false)
        }

        pub fn clamp_low<T: Float>(x: &Tensor<T>, low: T) -> FerrotorchResult<Tensor<T>> {
            match clamp_on_device(x, low)? {
                Some(out) => Ok(out),
                None => {
                    let data = x.data_vec()?;
                    Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
                }
            }
        }

        fn clamp_on_device<T: Float>(x: &Tensor<T>, low: T) -> FerrotorchResult<Option<Tensor<T>>> {
            if !x.is_cuda() {
                return Ok(None);
            }
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            Ok(Some(wrap(backend.clamp_f32(x.gpu_handle()?, low)?)?))
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "error of a launch that becomes another error",
        """
        pub fn gpu_abs(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            launch(&kernel(d)?, a, d).or_else(|_| Err(GpuError::PtxCompileFailed { kernel: "abs" }))
        }

        pub fn require_device() -> GpuResult<Device> {
            GpuDevice::new(0).map(|d| Device::Cuda(d.ordinal()))
        }
        """,
    ),
    Example(
        "error arm that names the kernel",
        """
        pub fn gpu_scale(a: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            let f = match get_or_compile(device.context(), SCALE_PTX, "scale_kernel") {
                Ok(f) => f,
                Err(_) => return Err(GpuError::PtxCompileFailed { kernel: "scale_kernel" }),
            };
            launch(&f, a, device)
        }
        """,
    ),
    Example(
        "refusal of device data that is passed on",
        """
        fn host_data(x: &Tensor<f32>) -> FerrotorchResult<Vec<f32>> {
            match x.data() {
                Ok(slice) => Ok(slice.to_vec()),
                Err(error) if x.is_cuda() => Err(error),
                Err(_) => Ok(Vec::new()),
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "fallback that the user opted in to",
        """
        fn check_opt_in(op: &'static str) -> GpuResult<()> {
            if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                tracing::warn!(op, "computing on the host");
                return Ok(());
            }
            Err(GpuError::Unsupported { op })
        }

        pub fn gpu_neg(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            if let Some(out) = try_launch_unary(a, d, NEG_PTX)? {
                return Ok(out);
            }
            check_opt_in("neg")?;
            let host = gpu_to_cpu(a, d)?;
            cpu_to_gpu(&host.iter().map(|x| -x).collect::<Vec<_>>(), d)
        }
        """,
    ),
    Example(
        "failure that runs layers one by one",
        """
        pub fn gpu_project(&self, x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<Vec<CudaBuffer<f32>>> {
            let Ok(fused) = launch_fused(x, d) else {
                return self.layers.iter().map(|layer| layer.forward(x)).collect();
            };
            Ok(fused)
        }
        """,
    ),
    Example(
        "failure that tries another kernel",
        """
        pub fn gpu_add(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            match get_or_compile(d.context(), ADD_VEC4_PTX, "add_vec4") {
                Ok(f) => launch(&f, a, d),
                Err(_) => launch(&scalar_kernel(d)?, a, d),
            }
        }
        """,
    ),
    Example(
        "attempt that asks for the opt-in before it gives up",
        """
        impl Optimizer<f32> for Momentum {
            fn step(&mut self, x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    let made = try_launch_state(x);
                    if made.is_err() && std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_err() {
                        return Err(FerrotorchError::DeviceUnavailable);
                    }
                    if let Ok(state) = made {
                        return launch_step(x, &state);
                    }
                }
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(moved(&data)), x.shape().to_vec(), false)
            }
        }
        """,
        path="ferrotorch-optim/src/momentum.rs",
    ),
    Example(
        "device that is refused unless the caller's flag is set",
        """
        pub fn rescale(x: &Tensor<f32>, options: &Options) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() && !options.cpu_fallback {
                return Err(FerrotorchError::NotImplementedOnCuda { op: "rescale" });
            }
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(moved(&data)), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
)
