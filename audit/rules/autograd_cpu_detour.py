"""FT007: autograd-cpu-detour."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.report import Level


class AutogradCpuDetour(Rule):
    """
    ## What it does
    Checks for backward passes, and forward-mode tangents, that read device data and compute gradients on
    the host.

    ## Why is this bad?
    Training runs forward on the GPU and backward on the CPU, and the code that calls `backward` can't
    tell. In PyTorch the gradient of a CUDA tensor is computed by CUDA kernels.

    ## Use instead
    Write the gradient with operators that dispatch by device, or with the backward kernel; until then
    refuse device gradients with a structured error.

    ## Known problems
    A backward that is a closure handed to a generic node is judged as part of the function that builds
    it.
    """

    id = "FT007"
    name = "autograd-cpu-detour"
    level = Level.ERROR
    message = "computes the gradient of device data on the host"
    follows_device_data = True
    invalid = (
        Example(
            "gradient computed in a host loop",
            """
            impl GradFn<f32> for SinBackward {
                fn backward(&self, grad: &Tensor<f32>) -> FerrotorchResult<Vec<Option<Tensor<f32>>>> {
                    let g = grad.data_vec()?;  //~ FT007
                    let x = self.input.data_vec()?;
                    let out: Vec<f32> = g.iter().zip(&x).map(|(g, x)| g * x.cos()).collect();
                    Ok(vec![Some(from_vec(out, grad.shape())?)])
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )
    valid = (
        Example(
            "gradient made of operators",
            """
            impl GradFn<f32> for SinBackward {
                fn backward(&self, grad: &Tensor<f32>) -> FerrotorchResult<Vec<Option<Tensor<f32>>>> {
                    Ok(vec![Some(mul(grad, &cos(&self.input)?)?)])
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "device gradients refused",
            """
            impl GradFn<f32> for SinBackward {
                fn backward(&self, grad: &Tensor<f32>) -> FerrotorchResult<Vec<Option<Tensor<f32>>>> {
                    if grad.is_cuda() || self.input.is_cuda() {
                        return Err(FerrotorchError::NotImplementedOnCuda { op: "SinBackward" });
                    }
                    let g = grad.data_vec()?;
                    Ok(vec![Some(from_vec(g, grad.shape())?)])
                }
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the host paths of functions that compute gradients."""
        for path in judgement.paths.all:
            if judgement.paths.is_backward(path.function):
                form = "backward-on-host" if path.upload is None else "backward-on-host-and-upload"
                yield judgement.host_path_candidate(path, form)
