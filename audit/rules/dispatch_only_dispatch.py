"""FT006: dispatch-only-dispatch."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement, stand_in_candidate
from audit.scanner.link.entries import Trigger
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
    invalid = (
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
        for path in judgement.paths.all:
            if path.is_backend_default:
                yield judgement.host_path_candidate(path, "trait-default-to-host")
            elif path.trigger is Trigger.DEVICE and path.launch is None and not path.launches_beside:
                yield judgement.host_path_candidate(path, "device-branch-to-host")
        for function in judgement.product_functions:
            for stand_in in judgement.paths.stand_ins.for_targets(function):
                yield stand_in_candidate(stand_in)
