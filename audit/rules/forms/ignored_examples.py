"""Examples of `disabled-gpu-test`: tests that are ignored, or left to a build that is not."""

from __future__ import annotations

from audit.rules.base import Example

IGNORED_INVALID = (
    Example(
        "ignored",
        """
        #[test]
        #[ignore = "needs a GPU"]  //~ FT010
        fn adds_on_the_device() {
            let device = GpuDevice::new(0).expect("CUDA device");
            assert!(device.ordinal() == 0);
        }
        """,
    ),
    Example(
        "gated on a feature that the package does not declare",
        """
        #[cfg(test)]
        #[cfg(feature = "hip")]  //~ FT010
        mod tests {
            #[test]
            fn adds_on_the_device() {
                assert!(gpu_add());
            }
        }
        """,
    ),
    Example(
        "gated on a key that no build sets",
        """
        #[test]
        #[cfg(features = "cuda")]  //~ FT010
        fn adds_on_the_device() {
            let device = GpuDevice::new(0).expect("CUDA device");
            assert!(device.ordinal() == 0);
        }
        """,
    ),
    Example(
        "ignored, with a helper that opens the device",
        """
        fn on_card(values: &[f32]) -> CudaBuffer<f32> {
            let device = GpuDevice::new(0).expect("CUDA device");
            cpu_to_gpu(values, &device).unwrap()
        }

        #[test]
        #[ignore = "requires a CUDA device"]  //~ FT010
        fn doubles() {
            assert_eq!(double(&on_card(&[1.0])).len(), 1);
        }
        """,
        path="ferrotorch-gpu/tests/doubles.rs",
    ),
    Example(
        "ignored, and told to need a GPU, though it would run on the host too",
        """
        fn place() -> Device {
            if let Ok(device) = Device::new_cuda(0) {
                return device;
            }
            Device::Cpu
        }

        #[test]
        #[ignore = "needs a GPU and the weights"]  //~ FT010
        fn answers_long_prompts() {
            assert!(!answer(&place(), 4096).is_empty());
        }

        fn card() -> Option<Device> {
            Device::cuda_if_available(0).ok().filter(|device| device.is_cuda())  //~ FT010
        }

        #[test]
        #[ignore]  //~ FT010
        fn answers_on_the_card() {
            assert!(!answer(&card().expect("CUDA"), 16).is_empty());
        }

        #[test]
        #[ignore = "needs the weights"]  //~ FT010
        fn answers_as_before() {
            #[cfg(feature = "cuda")]
            let device = Device::new_cuda(0).unwrap();
            #[cfg(not(feature = "cuda"))]
            let device = Device::Cpu;
            assert_eq!(answer(&device, 16), "yes");
        }
        """,
        path="model/tests/answers.rs",
        profile="candle",
    ),
)

IGNORED_VALID = (
    Example(
        "ignored for want of weights: it runs on whatever device there is",
        """
        fn place() -> Device {
            if let Ok(device) = Device::new_cuda(0) {
                return device;
            }
            Device::Cpu
        }

        #[test]
        #[ignore = "needs the weights"]
        fn answers() {
            assert!(!answer(&place(), 16).is_empty());
        }

        #[test]
        #[ignore = "needs the network"]
        fn answers_in_words() {
            let device = if cuda_is_available() {
                Device::new_cuda(0).unwrap()
            } else {
                Device::Cpu
            };
            assert!(!answer(&device, 16).is_empty());
        }

        #[test]
        #[ignore]
        fn answers_at_once() {
            assert!(!answer(&Device::cuda_if_available(0).unwrap(), 1).is_empty());
        }

        #[test]
        #[ignore]
        fn answers_briefly() {
            let device = Device::new_metal(0).unwrap_or(Device::Cpu);
            assert!(answer(&device, 1).len() < 9);
        }
        """,
        path="model/tests/answers.rs",
        profile="candle",
    ),
    Example(
        "test of a build without the device",
        """
        #[test]
        #[cfg(not(feature = "cuda"))]
        fn refuses_device_tensors() {
            let Ok(x) = from_vec(vec![1.0]).unwrap().cuda() else { return };
            assert!(double(&x).is_err());
        }
        """,
        path="ferrotorch-jit/src/lib.rs",
    ),
    Example(
        "gated on the crate's feature",
        """
        #[cfg(all(test, feature = "cuda"))]
        mod tests {
            #[test]
            fn adds_on_the_device() {
                let device = GpuDevice::new(0).expect("CUDA device");
                assert!(device.ordinal() == 0);
            }
        }
        """,
    ),
    Example(
        "measurement and sweep that are ignored for their length",
        """
        #[test]
        #[ignore = "requires an SM90 GPU and reports latency"]
        fn bench_matmul() {
            let device = GpuDevice::new(0).expect("CUDA device");
            report(&device);
        }

        #[test]
        #[ignore = "sweeps every f32"]
        fn encodes_all() {
            let device = GpuDevice::new(0).expect("CUDA device");
            assert!(sweep(&device));
        }
        """,
    ),
    Example(
        "ignored test of the host",
        """
        #[test]
        #[ignore = "slow"]
        fn converges() {
            assert!(train() < 0.1);
        }
        """,
    ),
)
