"""FT009: missing-gpu-test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.rules.forms.unknown_examples import UNTESTED_INVALID, UNTESTED_VALID
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.made import MadeFunction
from audit.scanner.link.presumed import is_given_away, presumed_names
from audit.scanner.link.unit import Fn
from audit.scanner.operations import Operations
from audit.scanner.report import Level

# Who opens a device, or the handle of a library on it, or asks what it is, runs nothing there.
_OPENS = re.compile(
    r"^(?:get|set|preload|init|initiali[sz]e|open|connect|create|set_?up)(?:_|$)|(?:^|_)(?:version|name|(?:buffer|workspace)_size)$"
)


class MissingGpuTest(Rule):
    """
    ## What it does
    Checks for GPU operations that no test runs on a device: public functions of a GPU crate that put work on
    the device, functions named as GPU code, and operators with a device branch.

    ## Why is this bad?
    Nobody knows whether the path works, and nothing says so when it breaks. PyTorch makes its operator tests
    once for every device type (`instantiate_device_type_tests`).

    ## Use instead
    A test that opens the device, calls this very operation with operands on it, and compares the values and
    the result's device. For a backward pass the test builds the graph on the device and asks for gradients.

    ## Known problems
    The call graph is static. A test that reaches the operation through a function value, or a trait object
    with many implementations, is not seen; where a project tests so, its profile has such calls presumed to
    run whatever has their name. A path for operands of different shapes (broadcasting) counts as
    untested when nothing but the general operator is tested, though a test may pass such operands. Methods of
    a backend that forward to kernels are left out: the kernel behind them is reported.
    """

    id = "FT009"
    name = "missing-gpu-test"
    level = Level.WARNING
    message = "no test runs this operation on a device"
    follows_device_data = True
    invalid = (
        *UNTESTED_INVALID,
        Example(
            "no test at all",
            """
            pub fn gpu_add(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {  //~ FT009
                d.stream().launch_builder(&add_kernel(d)?).arg(a).launch(cfg)
            }
            """,
        ),
        Example(
            "operator tested on host tensors only",
            """
            pub fn relu(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {  //~ FT009
                if x.is_cuda() {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    return wrap(backend.relu_f32(x.gpu_handle()?)?);
                }
                host_relu(x.data()?)
            }

            #[test]
            fn negative_values_become_zero() {
                assert_eq!(relu(&tensor(&[-1.0])).unwrap().data().unwrap(), &[0.0]);
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "test that nobody runs",
            """
            pub fn gpu_add(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {  //~ FT009
                d.stream().launch_builder(&add_kernel(d)?).arg(a).launch(cfg)
            }

            #[test]
            #[ignore]
            fn adds() {
                let d = GpuDevice::new(0).expect("a CUDA device");
                gpu_add(&cpu_to_gpu(&[1.0], &d).unwrap(), &d).unwrap();
            }
            """,
        ),
        Example(
            "test behind a feature that the manifest does not declare",
            """
            pub fn gpu_add(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {  //~ FT009
                d.stream().launch_builder(&add_kernel(d)?).arg(a).launch(cfg)
            }

            #[cfg(all(test, feature = "gpu-tests"))]
            mod tests {
                use super::*;

                #[test]
                fn adds() {
                    let d = GpuDevice::new(0).expect("a CUDA device");
                    gpu_add(&cpu_to_gpu(&[1.0], &d).unwrap(), &d).unwrap();
                }
            }
            """,
        ),
        Example(
            "forward tested, gradient not",
            """
            impl GradFn<f32> for SinBackward {
                fn backward(&self, grad: &Tensor<f32>) -> FerrotorchResult<Vec<Tensor<f32>>> {  //~ FT009
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    wrap(backend.sin_backward_f32(grad.gpu_handle()?)?)
                }
            }

            pub fn sin(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                tracked(backend.sin_f32(x.gpu_handle()?)?, Arc::new(SinBackward { x: x.clone() }))
            }
            """,
            path="ferrotorch-core/src/lib.rs",
            others={
                "ferrotorch-gpu/tests/sin.rs": """
use ferrotorch_core::sin;

#[test]
fn zero_stays_zero() {
    init_cuda_backend().expect("a CUDA device");
    let x = tensor(&[0.0]).to(Device::Cuda(0)).unwrap();
    assert!(sin(&x).unwrap().is_cuda());
}
""",
            },
        ),
        Example(
            "made by a macro",
            """
            macro_rules! unary {
                ($name:ident, $kernel:literal) => {
                    pub fn $name(x: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                        launch_unary(x, d, $kernel)
                    }
                };
            }

            unary!(gpu_exp, "exp");
            unary!(gpu_log, "log");  //~ FT009

            #[test]
            fn one_for_zero() {
                let d = GpuDevice::new(0).expect("a CUDA device");
                gpu_exp(&cpu_to_gpu(&[0.0], &d).unwrap(), &d).unwrap();
            }
            """,
        ),
    )
    valid = (
        *UNTESTED_VALID,
        Example(
            "kernel tested",
            """
            pub fn gpu_add(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                d.stream().launch_builder(&add_kernel(d)?).arg(a).launch(cfg)
            }

            #[test]
            fn adds() {
                let d = GpuDevice::new(0).expect("a CUDA device");
                gpu_add(&cpu_to_gpu(&[1.0], &d).unwrap(), &d).unwrap();
            }
            """,
        ),
        Example(
            "kernel reached from an operator of another crate, through the backend trait",
            """
            pub fn gpu_relu(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                d.stream().launch_builder(&relu_kernel(d)?).arg(a).launch(cfg)
            }

            impl GpuBackend for CudaBackendImpl {
                fn relu_f32(&self, a: &GpuBufferHandle) -> FerrotorchResult<()> {
                    gpu_relu(buffer_of(a)?, self.device())
                }
            }
            """,
            others={
                "ferrotorch-core/src/lib.rs": """
pub trait GpuBackend {
    fn relu_f32(&self, a: &GpuBufferHandle) -> FerrotorchResult<()>;
}

pub fn relu(x: &Tensor<f32>) -> FerrotorchResult<()> {
    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
    backend.relu_f32(x.gpu_handle()?)
}
""",
                "ferrotorch-gpu/tests/relu.rs": """
use ferrotorch_core::relu;

fn on_card(values: &[f32]) -> Tensor<f32> {
    init_cuda_backend().expect("a CUDA device");
    tensor(values).to(Device::Cuda(0)).unwrap()
}

#[test]
fn runs() {
    relu(&on_card(&[-1.0])).unwrap();
}
""",
            },
        ),
        Example(
            "gradient asked for",
            """
            impl GradFn<f32> for SinBackward {
                fn backward(&self, grad: &Tensor<f32>) -> FerrotorchResult<Vec<Tensor<f32>>> {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    wrap(backend.sin_backward_f32(grad.gpu_handle()?)?)
                }
            }

            pub fn sin(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                tracked(backend.sin_f32(x.gpu_handle()?)?, Arc::new(SinBackward { x: x.clone() }))
            }
            """,
            path="ferrotorch-core/src/lib.rs",
            others={
                "ferrotorch-gpu/tests/sin.rs": """
use ferrotorch_core::sin;

#[test]
fn the_gradient_stays_on_the_card() {
    init_cuda_backend().expect("a CUDA device");
    let x = tensor(&[0.0]).to(Device::Cuda(0)).unwrap();
    sin(&x).unwrap().backward().unwrap();
    assert!(x.grad().unwrap().is_cuda());
}
""",
            },
        ),
        Example(
            "reached through an operator symbol",
            """
            impl Mul<&Tensor<f32>> for &Tensor<f32> {
                fn mul(self, other: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    wrap(backend.mul_f32(self.gpu_handle()?, other.gpu_handle()?)?)
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
            others={
                "ferrotorch-gpu/tests/mul.rs": """
fn on_card(values: &[f32]) -> Tensor<f32> {
    init_cuda_backend().expect("a CUDA device");
    tensor(values).to(Device::Cuda(0)).unwrap()
}

#[test]
fn multiplies() {
    let x = on_card(&[2.0]);
    let y = on_card(&[3.0]);
    assert!((&x * &y).unwrap().is_cuda());
}
""",
            },
        ),
        Example(
            "refusal, gate and allocation",
            """
            pub fn gpu_sort(_a: &CudaBuffer<f32>, _d: &GpuDevice) -> GpuResult<()> {
                Err(GpuError::Unsupported { op: "sort", dtype: "f32" })
            }

            pub fn alloc_zeros(n: usize, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                d.pool().take(n)
            }
            """,
        ),
        Example(
            "opens the library",
            """
            pub fn init_solver(d: &GpuDevice) -> GpuResult<Solver> {
                let handle = cusolverDnCreate(d.stream())?;
                Ok(Solver { handle })
            }

            pub fn gpu_solver_version(d: &GpuDevice) -> (u32, u32) {
                let version = cusolverGetVersion(d.stream());
                (version / 1000, version % 1000)
            }
            """,
        ),
        Example(
            "constructor that compiles a kernel",
            """
            pub struct Fused {
                function: Function,
            }

            impl Fused {
                pub fn new(d: &GpuDevice) -> GpuResult<Self> {
                    Ok(Self { function: get_or_compile(d.context(), FUSED_PTX, "fused", 0)? })
                }
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the GPU operations that no device test runs."""
        reach = judgement.reach
        operations = Operations(judgement)
        presumed = presumed_names(judgement.summaries)
        for function in operations.all:
            if function.index in reach.tested or function.name in presumed:
                continue
            if _OPENS.search(function.name) and not _handles_data(judgement, function):
                continue
            if not is_given_away(judgement.summaries, function.name) and not judgement.orphans.has(
                function.unit
            ):
                yield _candidate(function, operations.form(function))
        for made in reach.made.all:
            if made.name in reach.tested_made or made.name in presumed:
                continue
            if operations.is_made_operation(made) and not _is_presumed_type(judgement, made):
                yield Candidate(
                    made.unit,
                    made.call.start,
                    made.call.end,
                    None,
                    "untested-macro-operation",
                    item=made.symbol,
                )


def _handles_data(judgement: Judgement, function: Fn) -> bool:
    """Say whether device data goes into a function or comes out of it."""
    names = judgement.summaries.operands.names_device_type
    facts = function.facts
    types = [function.self_type if one.name == "self" else one.type for one in facts.parameters]
    return any(map(names, (*types, facts.return_type)))


def _is_presumed_type(judgement: Judgement, made: MadeFunction) -> bool:
    """Say whether what a macro makes is no function that is called, but a type or a value."""
    return not made.name[:1].islower() and bool(judgement.profile.tests.presumed_patterns)


def _candidate(function: Fn, form: str) -> Candidate:
    return Candidate(
        function.unit,
        function.facts.start,
        function.facts.name_start + len(function.name.encode()),
        function,
        form,
    )
