"""Examples under other profiles: trees of which nothing is known, or whose words are a library's."""

from __future__ import annotations

from audit.rules.base import Example

DISABLED_VALID = (
    Example(
        "file in a folder of the tests that no module declares: it is never built",
        """
        #[test]
        fn sums_are_kept() {
            let Ok(device) = CudaContext::new(0) else { return };
            assert!(sums(&device).is_ok());
        }
        """,
        path="sums/tests/kept/sums.rs",
        others={"sums/src/lib.rs": "pub mod totals;\n", "sums/tests/all.rs": "mod other;\n"},
        profile="generic",
    ),
    Example(
        "how this package opens a device is not known",
        """
        //! Tests of the random numbers, on a GPU.

        #[test]
        fn gpu_uniform_is_in_range() {
            let ctx = driver::Context::new(&driver::Device::get(0).unwrap()).unwrap();
            let mut numbers = room(&ctx, 64);
            launch_uniform(&mut numbers).unwrap();
            assert!(numbers.all_below(1.0));
        }
        """,
        path="random/tests/gpu_smoke.rs",
        others={
            "random/src/lib.rs": """
pub fn launch_uniform(x: &mut CudaSlice<f32>) -> Result<(), Error> {
    curand_generate_uniform(x)
}
""",
        },
        profile="generic",
    ),
    Example(
        "device that the test tells by name, and an operation that opens the device itself",
        """
        #[test]
        fn opens() {
            CudaDevice::new(0).unwrap();
        }

        #[test]
        fn cuda_copy_keeps_values() {
            let x = Tensor::of(&[1.0, 2.0]).on(Place::CUDA).unwrap();
            assert_eq!(launch_scale(&x).values(), vec![2.0, 4.0]);
        }

        #[test]
        fn cuda_transform_is_its_own_inverse() {
            assert_eq!(transform(&transform(&[1.0, 2.0])), vec![1.0, 2.0]);
        }

        fn transform(values: &[f64]) -> Vec<f64> {
            library::run(values)
        }
        """,
        path="fields/src/lib.rs",
        others={
            "fields/src/library.rs": """
pub fn run(values: &[f64]) -> Vec<f64> {
    launch_transform(values)
}
""",
        },
        profile="cudarc",
    ),
)
STUB_VALID = (
    Example(
        "method whose only callers this type has replaced",
        """
        pub trait Sort {
            fn function(descending: bool) -> Kernel;

            fn sort(keys: &mut CudaSlice<u32>, descending: bool) -> Result<(), Error> {
                launch(Self::function(descending), keys)
            }
        }

        impl Sort for u64 {
            fn function(descending: bool) -> Kernel {
                if descending { DOWN } else { UP }
            }
        }

        impl Sort for Field {
            fn function(_descending: bool) -> Kernel {
                unimplemented!()
            }

            fn sort(keys: &mut CudaSlice<u32>, descending: bool) -> Result<(), Error> {
                u64::sort(keys, descending)
            }
        }
        """,
        path="sorting-cuda/src/lib.rs",
        profile="generic",
    ),
    Example(
        "wait that is named as one",
        """
        pub extern "C" fn sleep_on_host(time: Duration) {
            std::thread::sleep(time);
        }
        """,
        path="scopes-cuda/src/lib.rs",
        profile="generic",
    ),
)
STUB_INVALID = (
    Example(
        "method that the trait's default calls",
        """
        pub trait Sort {
            fn function(descending: bool) -> Kernel;

            fn sort(keys: &mut CudaSlice<u32>, descending: bool) -> Result<(), Error> {
                launch(Self::function(descending), keys)
            }
        }

        impl Sort for Field {
            fn function(_descending: bool) -> Kernel {
                unimplemented!()  //~ FT003
            }
        }
        """,
        path="sorting-cuda/src/lib.rs",
        profile="generic",
    ),
)
PRINT_VALID = (
    Example(
        "something else that is launched, in code that speaks of no device",
        """
        pub fn open_page(address: &str) -> bool {
            match start(address) {
                Ok(()) => true,
                Err(_) => {
                    eprintln!("open {address} yourself");
                    false
                }
            }
        }

        fn start(address: &str) -> Result<(), Error> {
            Browser::find()?.launch(address)
        }
        """,
        path="pages/src/lib.rs",
        profile="generic",
    ),
)
UNTESTED_VALID = (
    Example(
        "file that no module declares: no build compiles it",
        """
        pub fn partial_sums(x: &CudaSlice<f32>, s: &Stream) -> Result<(), Error> {
            s.launch_builder(&SUMS).arg(x).launch(shape())
        }
        """,
        path="sums-cuda/src/partial.rs",
        others={"sums-cuda/src/lib.rs": "pub mod totals;\n"},
        profile="generic",
    ),
    Example(
        "test that reaches an operation through a trait, where no profile fits",
        """
        pub fn partial_sums(x: &CudaSlice<f32>, s: &Stream) -> Result<(), Error> {
            s.launch_builder(&SUMS).arg(x).launch(shape())
        }

        #[test]
        fn sums() {
            check_all!(with_every_backend, partial_sums);
        }
        """,
        path="sums-cuda/src/lib.rs",
        profile="generic",
    ),
    Example(
        "query for the size of a workspace",
        """
        pub fn factor_buffer_size(handle: &Handle, x: &CudaSlice<f32>) -> Result<usize, Error> {
            cusolver_factor_buffer_size(handle, x)
        }
        """,
        path="sums-cuda/src/lib.rs",
        profile="generic",
    ),
)
UNTESTED_INVALID = (
    Example(
        "nobody calls it, in a file that a module behind a path declares",
        """
        pub fn partial_sums(x: &CudaSlice<f32>, s: &Stream) -> Result<(), Error> {  //~ FT009
            s.launch_builder(&SUMS).arg(x).launch(shape())
        }
        """,
        path="sums-cuda/src/partial.rs",
        others={"sums-cuda/src/lib.rs": '#[path = "partial.rs"]\npub mod sums;\n'},
        profile="generic",
    ),
    Example(
        "nobody calls it, where no profile fits",
        """
        pub fn partial_sums(x: &CudaSlice<f32>, s: &Stream) -> Result<(), Error> {  //~ FT009
            s.launch_builder(&SUMS).arg(x).launch(shape())
        }
        """,
        path="sums-cuda/src/lib.rs",
        profile="generic",
    ),
)
