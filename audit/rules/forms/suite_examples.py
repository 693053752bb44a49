"""Examples of `disabled-gpu-test` in suites whose backend a feature of Cargo chooses."""

from __future__ import annotations

from audit.rules.base import Example

_MANIFEST = (
    '[package]\nname = "suite"\n[features]\ncuda = []\nwgpu = []\nmetal = []\nndarray = []\nstd = []\n'
)
_OTHERS = {"suite/Cargo.toml": _MANIFEST}

SUITE_INVALID = (
    Example(
        "test of the suite that one backend of the host alone compiles",
        """
        #[cfg(feature = "ndarray")]  //~ FT010
        #[test]
        fn should_assign_rows() {
            let tensor = TestTensor::<2>::from_data([[1.0, 2.0]], &Default::default());
            tensor.select_assign(0).into_data().assert_eq(&expected(), false);
        }

        #[cfg(any(  //~ FT010
            feature = "ndarray",
            feature = "flex"
        ))]
        #[test]
        fn should_gather() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
            tensor.gather(0).into_data().assert_eq(&expected(), false);
        }

        #[cfg(feature = "ndarray")]  //~ FT010
        mod scattering {
            #[test]
            fn should_scatter() {
                let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
                tensor.scatter(0).into_data().assert_eq(&expected(), false);
            }
        }

        #[cfg(not(feature = "cuda"))]  //~ FT010
        #[test]
        fn should_add_doubles() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default()).cast(DType::F64);
            tensor.add(1.0).into_data().assert_eq(&expected(), false);
        }

        #[cfg(not(feature = "wgpu"))]  //~ FT010
        #[test]
        fn should_fill_a_slice() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
            tensor.slice_fill(0..1, 2.0).into_data().assert_eq(&expected(), false);
        }

        #[test]
        #[ignore = "not implemented for all backends yet"]  //~ FT010
        fn should_sum() {
            let tensor = TestTensorInt::<1>::from_data([1], &Default::default());
            tensor.sum().into_data().assert_eq(&expected(), false);
        }
        """,
        path="suite/tests/ops.rs",
        others=_OTHERS,
        profile="burn",
    ),
    Example(
        "file of the suite that the host's backends alone compile",
        """
        #![cfg(any(feature = "ndarray", feature = "flex"))]  //~ FT010

        #[test]
        fn should_pool() {
            let tensor = TestTensor::<5>::zeros([1, 1, 4, 4, 4], &Default::default());
            adaptive_avg_pool3d(tensor, [2, 2, 2]).into_data().assert_eq(&expected(), false);
        }
        """,
        path="suite/tests/pool.rs",
        others=_OTHERS,
        profile="burn",
    ),
)

SUITE_VALID = (
    Example(
        "tests of the suite for what a backend of the host does, and for what has no backend",
        """
        #[cfg(feature = "ndarray")]
        #[test]
        fn ndarray_keeps_its_strides() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
            assert!(tensor.is_contiguous());
        }

        #[cfg(feature = "ndarray")]
        #[test]
        fn should_keep_nan_on_the_cpu() {
            let tensor = TestTensor::<1>::from_data([f32::NAN], &Default::default());
            assert!(tensor.max().is_nan());
        }

        #[cfg(not(feature = "wgpu"))]
        #[test]
        fn should_read_a_header() {
            assert_eq!(parse(&[1, 0]), 1);
        }

        #[cfg(not(feature = "metal"))]
        #[test]
        fn should_cast_to_doubles() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
            assert_eq!(tensor.cast(DType::F64).dtype(), DType::F64);
        }

        #[cfg(feature = "ndarray")]
        #[test]
        fn should_multiply() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
            tensor.mul(2.0).into_data().assert_eq(&expected(), true);
        }

        #[cfg(not(feature = "ndarray"))]
        #[test]
        fn should_multiply() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
            tensor.mul(2.0).into_data().assert_eq(&expected(), false);
        }

        #[cfg(feature = "ndarray")]
        mod ndarray_only {
            #[test]
            fn should_view() {
                assert!(TestTensor::<1>::from_data([1.0], &Default::default()).is_view());
            }
        }

        #[cfg(feature = "std")]
        #[test]
        fn should_add() {
            let tensor = TestTensor::<1>::from_data([1.0], &Default::default());
            (tensor.clone() + tensor).into_data().assert_eq(&expected(), false);
        }
        """,
        path="suite/tests/ops.rs",
        others=_OTHERS,
        profile="burn",
    ),
    Example(
        "file for a backend of the host whose tests open no device",
        """
        #![cfg(feature = "ndarray")]

        #[test]
        fn should_compute_strides() {
            assert_eq!(strides(&[2, 3]), [3, 1]);
        }
        """,
        path="suite/tests/strides.rs",
        others=_OTHERS,
        profile="burn",
    ),
    Example(
        "test of a package that has no backend of the host: it is for what happens without a device",
        """
        #[cfg(not(feature = "wgpu"))]
        #[test]
        fn a_device_is_refused() {
            assert!(WgpuDevice::open(0).is_err());
        }
        """,
        path="gpu/tests/devices.rs",
        others={"gpu/Cargo.toml": '[package]\nname = "gpu"\n[features]\nwgpu = []\n'},
        profile="burn",
    ),
)
