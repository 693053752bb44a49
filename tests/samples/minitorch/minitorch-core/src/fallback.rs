//! The opt-in gate in front of host implementations.
//!
//! PyTorch raises for an operator without a CUDA kernel; the one exception is
//! `PYTORCH_ENABLE_MPS_FALLBACK`, off by default and loud. This module mirrors
//! that: the variable is read on every call.
//!
//! Reports say "opt-in CPU fallback gated by `FERROTORCH_ENABLE_GPU_FALLBACK`" for //~ ok FT018: the vocabulary of the policy
//! what passes through here, and never anything vaguer.

use crate::dtype::Float;
use crate::error::{TorchError, TorchResult};
use crate::tensor::Tensor;
use crate::tracing;

/// The variable a user sets to accept the slow path.
pub const FALLBACK_ENV_VAR: &str = "FERROTORCH_ENABLE_GPU_FALLBACK";

/// Let the host implementation of `op` run on these inputs.
///
/// Host tensors always pass. A device tensor passes only when the user set
/// [`FALLBACK_ENV_VAR`], and then every call warns.
pub fn check_gpu_fallback_opt_in<T: Float>(inputs: &[&Tensor<T>], op: &'static str) -> TorchResult<()> {
    if !inputs.iter().any(|t| t.is_cuda()) {
        return Ok(());
    }
    if std::env::var(FALLBACK_ENV_VAR).is_ok() {
        tracing::warn!(
            target: "minitorch::gpu_fallback",
            op = op,
            env_var = FALLBACK_ENV_VAR, //~ ok FT013: the gate itself: read per call, named in the warning
            "operator has no device kernel and runs on the host; unset the variable to make this an error",
        );
        return Ok(());
    }
    Err(TorchError::NotImplementedOnCuda { op })
}

/// Refuse device inputs of an operator that is written for the host only.
pub fn ensure_host<T: Float>(input: &Tensor<T>, op: &'static str) -> TorchResult<()> {
    if input.is_cuda() {
        return Err(TorchError::NotImplementedOnCuda { op });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_inputs_pass_without_the_variable() {
        let t = Tensor::<f32>::from_vec(vec![1.0], &[1]).unwrap();
        assert_eq!(check_gpu_fallback_opt_in(&[&t], "relu"), Ok(()));
    }
}
