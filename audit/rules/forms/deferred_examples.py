"""Examples of `deferred-kernel`: more than fit into its module."""

from __future__ import annotations

from audit.rules.base import Example

INVALID = (
    Example(
        "empty buffer in place of a failed launch",
        """
        pub fn gpu_half_normal(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
            match try_launch_abs(x, d) {
                Ok(Some(out)) => Ok(out),
                _ => alloc_zeros_f32(x.len(), d),  //~ FT003
            }
        }
        """,
    ),
    Example(
        "launch whose status only a debug build looks at",
        """
        pub fn gpu_scale_in_place(x: &mut CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
            let f = get_or_compile(d.context(), SCALE_PTX, "scale_kernel")?;
            let status = unsafe { d.stream().launch_builder(&f).arg(x.inner_mut()).launch(cfg(x)) };
            debug_assert!(status.is_ok());  //~ FT003
            Ok(())
        }
        """,
    ),
    Example(
        "backend that awaits nothing",
        """
        impl GpuBackend for CudaBackend {
            fn synchronize(&self, _device: usize) -> FerrotorchResult<()> {
                Ok(())  //~ FT003
            }
        }
        """,
    ),
    Example(
        "empty body that is to be written later",
        """
        impl Guard {
            pub fn alloc_again(&self, bytes: usize) -> GpuResult<CudaBuffer<f32>> {
                self.free_cached();
                self.recovered.fetch_add(1);
                self.alloc(bytes)
            }

            /// Gives cached blocks back. A no-op placeholder so far.
            fn free_cached(&self) {  //~ FT003
                // Hand over to the allocator once it caches.
            }
        }
        """,
    ),
    Example(
        "code generator that keeps one part of what it gets",
        """
        fn emit_ptx_body(out: &mut String, stmts: &[Stmt]) {
            for stmt in stmts {
                match stmt {
                    Stmt::Loop { body, .. } => emit_ptx_body(out, body),  //~ FT003
                    Stmt::Add(register) => out.push_str("    add.f32 %acc, %acc, %t0;"),
                }
            }
        }
        """,
        path="ferrotorch-jit/src/lib.rs",
    ),
    Example(
        "stub in a GPU function",
        """
        pub fn gpu_erf(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
            todo!("write the kernel")  //~ FT003
        }
        """,
    ),
    Example(
        "initialisation that asks for a device and registers nothing",
        """
        pub fn init_backend() -> GpuResult<()> {
            if !cuda_available() {
                return Err(GpuError::DeviceUnavailable);
            }
            // The kernels come later.
            Ok(())  //~ FT003
        }
        """,
    ),
    Example(
        "device handle that opens no device",
        """
        impl MpsDevice {
            pub fn new(ordinal: usize) -> GpuResult<Self> {
                if !is_mps_available() {
                    return Err(GpuError::DeviceUnavailable);
                }
                Ok(Self { ordinal })  //~ FT003
            }
        }
        """,
    ),
    Example(
        "device error that becomes success",
        """
        pub fn inverse_ex(x: &Tensor<f32>) -> FerrotorchResult<(Tensor<f32>, i32)> {
            match gpu_inverse(x) {
                Ok(inverse) => Ok((inverse, 0)),
                Err(_) => Ok((creation::zeros(x.shape())?, 1)),  //~ FT003
            }
        }

        fn gpu_inverse(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            wrap(backend.inverse_f32(x.gpu_handle()?)?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "launch whose result is dropped",
        """
        pub fn gpu_fill(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
            let _ = d.stream().launch_builder(&fill(d)?).arg(a).launch(cfg);  //~ FT003
            Ok(())
        }
        """,
    ),
    Example(
        "initialisation that does nothing",
        """
        pub fn init_backend() -> GpuResult<()> {
            Ok(())  //~ FT003
        }
        """,
    ),
    Example(
        "device match that hands the input back",
        """
        pub fn to(&self, device: Device) -> FerrotorchResult<Tensor<f32>> {
            match (self.device(), device) {
                (Device::Cpu, Device::Cuda(ordinal)) => self.upload(ordinal),
                _ => Ok(self.clone()),  //~ FT003
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "check that returns at once for the device",
        """
        pub fn check_finite(x: &Tensor<f32>) -> FerrotorchResult<()> {
            if x.is_cuda() {  //~ FT003
                return Ok(());
            }
            scan(x.data()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "kernel generator that drops what it does not know",
        """
        fn emit_ptx_statement(out: &mut String, statement: &Statement) {
            match statement {
                Statement::Add => out.push_str("    add.f32 %val, %val, %t0;"),
                _ => {}  //~ FT003
            }
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "case of quantised operands that a caller has",
        """
        pub fn q_expand(x: CudaBuffer<f32>) -> CudaBuffer<f32> {
            expand(x)
        }

        fn expand(x: CudaBuffer<f32>) -> CudaBuffer<f32> {
            if x.qparams.is_some() {
                todo!()  //~ FT003
            }
            broadcast(x)
        }
        """,
    ),
    Example(
        "dtype of the kind at hand, and a device, that nobody wrote the kernel for",
        """
        impl DType {
            pub fn is_float(&self) -> bool {
                matches!(self, DType::F32 | DType::F16)
            }
        }

        pub fn gpu_exp(x: &CudaBuffer<f32>, dtype: DType) -> GpuResult<CudaBuffer<f32>> {
            match dtype {
                DType::F32 => launch_exp(x),
                _ => unimplemented!("unsupported dtype"),  //~ FT003
            }
        }

        fn narrow(x: &Tensor<f32>) -> Tensor<f32> {
            match x.device() {
                Device::Cuda(_) => launch_narrow(x),
                _ => panic!("narrow is not implemented for this device"),  //~ FT003
            }
        }
        """,
    ),
)

VALID = (
    Example(
        "argument of another kind, and variants that nobody lets through",
        """
        impl DType {
            pub fn is_float(&self) -> bool {
                matches!(self, DType::F32 | DType::F16)
            }

            pub fn scale(self) -> Option<DType> {
                match self {
                    DType::U8 => None,
                    other => Some(other),
                }
            }
        }

        pub fn gpu_exp(x: &CudaBuffer<f32>, dtype: DType) -> GpuResult<CudaBuffer<f32>> {
            match dtype {
                DType::F32 | DType::F16 => launch_exp(x),
                _ => unimplemented!("unsupported dtype"),
            }
        }

        pub fn gpu_scale(x: &CudaBuffer<f32>, dtype: DType) -> GpuResult<CudaBuffer<f32>> {
            match dtype {
                DType::U8 => unimplemented!("not supported yet"),
                other => launch_scale(x, other.scale().unwrap_or_else(|| unimplemented!("no kernel"))),
            }
        }
        """,
    ),
    Example(
        "reads that an interface asks of a write-only view, and a wrong use of it",
        """
        impl View for OutputView {
            fn read(&self, at: usize) -> f32 {
                todo!()
            }

            fn write(&self, at: usize, value: f32) {
                self.buffer.set(at, value)
            }

            fn quantised(&self) -> f32 {
                unimplemented!("not supported for writing")
            }
        }
        """,
    ),
    Example(
        "check for quantised operands that no caller has",
        """
        pub fn float_expand(x: CudaBuffer<f32>) -> CudaBuffer<f32> {
            expand(x)
        }

        fn expand(x: CudaBuffer<f32>) -> CudaBuffer<f32> {
            if x.qparams.is_some() {
                todo!()
            }
            broadcast(x)
        }
        """,
    ),
    Example(
        "operands on different devices",
        """
        pub fn gather(x: &Tensor<f32>, ids: &Tensor<f32>) -> Tensor<f32> {
            match x.device() {
                Device::Cuda(_) => match (x.device(), ids.device()) {
                    (Device::Cuda(_), Device::Cuda(_)) => launch_gather(x, ids),
                    _ => panic!("not implemented for a mix of devices"),
                },
                Device::Cpu => host_gather(x, ids),
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "empty body that needs nothing, and one that nobody calls",
        """
        impl Guard {
            pub fn close(self) {
                self.release();
            }

            /// Nothing to do: dropping the buffer is enough.
            fn release(&self) {}

            /// A placeholder.
            fn trace(&self) {}
        }
        """,
    ),
    Example(
        "resource that is given back",
        """
        pub fn gpu_spmm(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
            let out = launch(&kernel()?, a)?;
            let _ = cusparseDestroyDnMat(descriptor);
            Ok(out)
        }
        """,
    ),
    Example(
        "pause between two questions",
        """
        pub fn wait_for_slot(pool: &Pool) -> GpuResult<()> {
            while pool.is_full() {
                std::thread::sleep(PAUSE);
            }
            Ok(())
        }
        """,
    ),
    Example(
        "error instead of a stub",
        """
        pub fn gpu_erf(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
            Err(GpuError::Unsupported { op: "erf" })
        }
        """,
    ),
    Example(
        "stub in a test",
        """
        #[test]
        fn later() {
            todo!()
        }
        """,
    ),
    Example(
        "device error passed on",
        """
        pub fn inverse_ex(x: &Tensor<f32>) -> FerrotorchResult<(Tensor<f32>, i32)> {
            match gpu_inverse(x) {
                Ok(inverse) => Ok((inverse, 0)),
                Err(error) => Err(error),
            }
        }

        fn gpu_inverse(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            wrap(backend.inverse_f32(x.gpu_handle()?)?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "initialisation that opens the device",
        """
        pub fn init_backend() -> GpuResult<()> {
            register(GpuDevice::new(0)?);
            Ok(())
        }
        """,
    ),
    Example(
        "device handle that opens the device",
        """
        impl GpuDevice {
            pub fn new(ordinal: usize) -> GpuResult<Self> {
                if !cuda_available() {
                    return Err(GpuError::DeviceUnavailable);
                }
                Ok(Self { context: open(ordinal)? })
            }
        }
        """,
    ),
    Example(
        "invariant that a device test guards",
        """
        pub fn select(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            match x.device() {
                Device::Cuda(_) => launch(x),
                Device::Cpu => host(x),
                _ => unreachable!("checked above"),
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
)
