"""FT006: dispatch-only-dispatch."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement, stand_in_candidate
from audit.scanner.link.entries import Trigger
from audit.scanner.link.paths import HostPath
from audit.scanner.report import Level


class DispatchOnlyDispatch(Rule):
    """
    ## What it does
    Checks for a device test whose GPU branch goes to the host implementation.

    ## Why is this bad?
    PyTorch's dispatcher raises `NotImplementedError` for a device that has no kernel. A branch for the
    GPU that computes on the host says that the operator is supported, and it is not.

    ## Use instead
    Return a structured error from the branch, or launch the kernel there.

    ## Known problems
    A host implementation that reads through a trait object is not seen.
    """

    id = "FT006"
    name = "dispatch-only-dispatch"
    level = Level.ERROR
    message = "sends device data to the host implementation"
    follows_device_data = True
    invalid = (
        Example(
            "device and host in one arm",
            """
            pub fn floor(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                match x.device() {
                    Device::Cpu | Device::Cuda(_) => floored(&x.data_vec()?, x.shape()),  //~ FT006
                    other => Err(FerrotorchError::DeviceMismatch { got: other }),
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "backend default that works on the host",
            """
            pub trait GpuBackend {
                fn gpu_to_cpu(&self, a: &GpuBufferHandle) -> FerrotorchResult<Vec<u8>>;

                fn has_nan_f32(&self, a: &GpuBufferHandle) -> FerrotorchResult<bool> {
                    let bytes = self.gpu_to_cpu(a)?;  //~ FT006
                    Ok(floats(&bytes).iter().any(|v| v.is_nan()))
                }
            }
            """,
            path="ferrotorch-core/src/gpu_dispatch.rs",
        ),
        Example(
            "targets of a compiler that the interpreter runs",
            """
            pub fn executor_for(target: Target, graph: &Graph) -> FerrotorchResult<Box<dyn Compiled>> {
                match target {
                    Target::Cpu => InterpreterBackend.compile(graph),
                    Target::GpuPtx | Target::GpuCuda => InterpreterBackend.compile(graph),  //~ FT006
                }
            }

            impl Codegen for InductorBackend {
                fn compile(&self, graph: &Graph) -> FerrotorchResult<Box<dyn Compiled>> {
                    let _source = generate_ptx_source(graph);
                    InterpreterBackend.compile(graph)  //~ FT006
                }
            }
            """,
            path="ferrotorch-jit/src/lib.rs",
        ),
        Example(
            "host function as the device's implementation",
            """
            pub fn fract(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let implementation = match x.device() {
                    Device::Cuda(_) => fract_on_host,  //~ FT006
                    _ => fract_on_host,
                };
                implementation(x)
            }

            fn fract_on_host(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::on_device(data, x.device())?, x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "branch for the GPU that reads on the host",
            """
            pub fn materialize(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    let data = x.data_vec()?;  //~ FT006
                    let out = data.iter().map(|v| v + 1.0).collect();
                    return Tensor::from_storage(TensorStorage::cpu(out), x.shape().to_vec(), false);
                }
                Ok(x.clone())
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "arms for several devices that all read on the host",
            """
            pub fn reduce(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let data = match x.device() {
                    Device::Cpu => x.data()?.to_vec(),
                    Device::Cuda(_) => x.data_vec()?,  //~ FT006
                    Device::Xpu(_) => x.data_vec()?,
                };
                Tensor::from_storage(TensorStorage::cpu(summed(&data)), vec![1], false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )
    valid = (
        Example(
            "branch for the GPU that refuses",
            """
            pub fn materialize(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    return Err(FerrotorchError::NotImplementedOnCuda { op: "materialize" });
                }
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "branch for the host",
            """
            pub fn materialize(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                match x.device() {
                    Device::Cpu => {
                        let data = x.data_vec()?;
                        Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
                    }
                    Device::Cuda(_) => strided_copy(x),
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the host paths inside explicit device branches."""
        seen: set[tuple[int, int]] = set()
        for path in judgement.paths.all:
            if path.is_backend_default:
                yield judgement.host_path_candidate(path, "trait-default-to-host")
            elif path.trigger is Trigger.DEVICE and path.launch is None and not path.launches_beside:
                if _is_known(path, seen):
                    continue
                yield judgement.host_path_candidate(path, "device-branch-to-host")
        yield from map(stand_in_candidate, judgement.paths.stand_ins.for_all_targets)


def _is_known(path: HostPath, seen: set[tuple[int, int]]) -> bool:
    """Say whether another arm of the same match does the same for another device: that is one cause."""
    if path.test is None or not path.test.pattern:
        return False
    match = (path.function.index, path.test.group)
    is_known = match in seen
    seen.add(match)
    return is_known
