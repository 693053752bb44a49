"""Examples of `disabled-gpu-test`: more than fit into its module."""

from __future__ import annotations

from audit.rules.base import Example

INVALID = (
    Example(
        "test named after the GPU that opens no device",
        """
        #[test]
        fn test_gpu_relu() {  //~ FT010
            let x = Tensor::from_vec(vec![-1.0f32, 2.0], &[2]).unwrap();
            assert_eq!(ferrotorch_core::relu(&x).unwrap().shape(), &[2]);
        }
        """,
        path="ferrotorch-core/tests/activations.rs",
        others={
            "ferrotorch-core/src/lib.rs": """
            pub fn relu(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                wrap(backend.relu_f32(x.gpu_handle()?)?)
            }
            """,
        },
    ),
    Example(
        "early return that a macro brings",
        """
        fn has_gpu() -> bool {
            GpuDevice::new(0).is_ok()
        }

        macro_rules! require_gpu {
            () => {
                if !has_gpu() {  //~ FT010
                    return;
                }
            };
        }

        #[test]
        fn adds() {
            require_gpu!();
            assert!(add_on_device().is_ok());
        }
        """,
        path="ferrotorch-gpu/tests/sums.rs",
    ),
    Example(
        "returns when no device is found",
        """
        #[test]
        fn adds_on_the_device() {
            let Ok(device) = GpuDevice::new(0) else {  //~ FT010
                return;
            };
            assert!(device.ordinal() == 0);
        }
        """,
    ),
    Example(
        "probe that turns a missing device into nothing",
        """
        #[cfg(test)]
        mod tests {
            fn context() -> Option<Arc<CudaContext>> {
                CudaContext::new(0).ok()  //~ FT010
            }

            #[test]
            fn records_an_event() {
                let Some(ctx) = context() else { return };  //~ FT010
                assert!(ctx.default_stream().is_null());
            }
        }
        """,
    ),
    Example(
        "helper that turns a tensor which can't be moved into nothing",
        """
        #[cfg(test)]
        mod tests {
            fn on_device<T: Float>(data: Vec<T>) -> Option<Tensor<T>> {
                let host = from_vec(data).expect("host tensor");  //~ FT010
                host.cuda().ok()
            }

            #[test]
            fn doubles() {
                let Some(x) = on_device::<f32>(vec![1.0]) else { return };  //~ FT010
                assert!(double(&x).is_cuda());
            }

            #[test]
            fn halves() {
                let Ok(x) = from_vec(vec![1.0]).unwrap().to(Device::Cuda(0)) else {  //~ FT010
                    return;
                };
                assert!(half(&x).is_cuda());
            }
        }
        """,
        path="ferrotorch-jit/src/lib.rs",
    ),
    Example(
        "leaves when the backend finds no device",
        """
        impl GpuBackend for MtlBackend {
            fn add_f32(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
                self.launch(a)
            }
        }

        #[test]
        fn keeps_the_dtype() {
            let backend = match MtlBackend::new() {  //~ FT010
                Ok(backend) => backend,
                Err(FerrotorchError::DeviceUnavailable) => return,
                Err(e) => panic!("{e}"),
            };
            assert_eq!(backend.dtype(), 4);
        }
        """,
        path="ferrotorch-mps/src/backend.rs",
    ),
    Example(
        "left unless the environment says so",
        """
        #[test]
        fn adds_on_the_device() {
            if std::env::var("RUN_CUDA_TESTS").is_err() {  //~ FT010
                return;
            }
            gpu_add();
        }
        """,
    ),
    Example(
        "left through a macro that returns",
        """
        macro_rules! give_up {
            ($reason:literal) => {{
                eprintln!("{}", $reason);
                return;
            }};
        }

        #[test]
        fn adds() {
            let device = match GpuDevice::new(0) {  //~ FT010
                Ok(device) => device,
                Err(_) => give_up!("no device"),
            };
            assert!(add_on(&device).is_ok());
        }
        """,
        path="ferrotorch-gpu/tests/sums.rs",
    ),
    Example(
        "green when the operation is refused",
        """
        #[test]
        fn scatters_f64() {
            let device = GpuDevice::new(0).expect("CUDA device");
            let outcome = scatter(&device, &[1.0f64]);
            if let Ok(values) = outcome {  //~ FT010
                assert_eq!(values.len(), 1);
            } else {
                eprintln!("f64 is not there yet");
            }
        }
        """,
        path="ferrotorch-gpu/tests/scatters.rs",
    ),
    Example(
        "macro that opens the device, and leaves where there is none",
        """
        macro_rules! device {
            () => {
                match GpuDevice::new(0) {  //~ FT010
                    Ok(device) => device,
                    Err(error) => {
                        eprintln!("no device ({error})");
                        return;
                    }
                }
            };
        }

        #[test]
        fn has_an_ordinal() {
            let device = device!();
            assert_eq!(device.ordinal(), 0);
        }
        """,
        path="ferrotorch-gpu/tests/devices.rs",
    ),
    Example(
        "left early on the device that was there in place of the GPU",
        """
        #[test]
        fn matches_the_reference() -> Result<()> {
            let device = Device::cuda_if_available(0)?;
            if !device.is_cuda() {  //~ FT010
                return Ok(());
            }
            check(&device)
        }

        #[test]
        fn matches_it_again() -> Result<()> {
            let device = Device::cuda_if_available(0)?;
            if matches!(device, Device::Cpu) {  //~ FT010
                return Ok(());
            }
            check(&device)
        }

        #[test]
        fn matches_it_still() -> Result<()> {
            let device = Device::cuda_if_available(0)?;
            if device.is_cpu() {  //~ FT010
                return Ok(());
            }
            check(&device)
        }
        """,
        path="model/tests/answers.rs",
        profile="candle",
    ),
)

VALID = (
    Example(
        "test of what happens without a device",
        """
        fn has_gpu() -> bool {
            GpuDevice::new(0).is_ok()
        }

        #[test]
        fn a_missing_driver_is_an_error() {
            if has_gpu() {
                return;
            }
            assert!(GpuDevice::new(0).is_err());
        }
        """,
        path="ferrotorch-gpu/tests/errors.rs",
    ),
    Example(
        "fails when no device is found",
        """
        #[test]
        fn adds_on_the_device() {
            let device = GpuDevice::new(0).expect("CUDA device");
            assert!(device.ordinal() == 0);
        }
        """,
    ),
    Example(
        "fails when the tensor can't be moved",
        """
        #[test]
        fn doubles() -> FerrotorchResult<()> {
            let x = from_vec(vec![1.0])?.cuda()?;
            let Some(y) = double(&x)?.max() else { return Ok(()) };
            assert!(y > 1.0);
            Ok(())
        }
        """,
        path="ferrotorch-jit/tests/sums.rs",
    ),
    Example(
        "skips for want of another tool",
        """
        #[test]
        fn compiles_c() {
            if !have_c_compiler() {
                return;
            }
            assert!(compile());
        }
        """,
    ),
    Example(
        "device of a project whose types are not known, opened by a helper",
        """
        fn card() -> Backend<Cuda> {
            Backend::<Cuda>::default().unwrap()
        }

        #[test]
        fn test_gpu_relu() {
            let x = on(&card(), &[-1.0f32, 2.0]);
            assert_eq!(ferrotorch_core::relu(&x).unwrap().shape(), &[2]);
        }
        """,
        path="ferrotorch-core/tests/activations.rs",
        others={
            "ferrotorch-core/src/lib.rs": """
            pub fn relu(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                wrap(backend.relu_f32(x.gpu_handle()?)?)
            }
            """,
        },
    ),
    Example(
        "fails when the operation is refused",
        """
        #[test]
        fn scatters_f64() {
            let device = GpuDevice::new(0).expect("CUDA device");
            if let Ok(values) = scatter(&device, &[1.0f64]) {
                assert_eq!(values.len(), 1);
            } else {
                panic!("f64 is not there yet");
            }
        }
        """,
        path="ferrotorch-gpu/tests/scatters.rs",
    ),
    Example(
        "macro that fails the test",
        """
        macro_rules! bail {
            ($reason:literal) => {{
                return Err(Error::msg($reason));
            }};
        }

        #[test]
        fn adds() -> Result<()> {
            let device = match GpuDevice::new(0) {
                Ok(device) => device,
                Err(_) => bail!("a device is mandatory for this test"),
            };
            assert!(add_on(&device).is_ok());
            Ok(())
        }
        """,
        path="ferrotorch-gpu/tests/sums.rs",
    ),
    Example(
        "macro that returns for another reason",
        """
        macro_rules! give_up {
            () => {{
                return;
            }};
        }

        #[test]
        fn reads_the_fixture() {
            let text = match std::fs::read("fixture.json") {
                Ok(text) => text,
                Err(_) => give_up!(),
            };
            assert!(!text.is_empty());
        }
        """,
        path="ferrotorch-gpu/tests/fixtures.rs",
    ),
)
