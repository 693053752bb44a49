"""What the project calls the things that the policy asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyNames:
    """The names that plans, rationales and after-forms use; ferrotorch's unless given."""

    error_enum: str = "GpuError"
    unsupported: str = "Unsupported"
    compile_failed: str = "PtxCompileFailed"
    logging_crate: str = "tracing"
    opt_in_variable: str = "FERROTORCH_ENABLE_GPU_FALLBACK"
    gate_helper: str = "check_gpu_fallback_opt_in"
    error_crate: str = "ferrotorch-gpu"
    gpu_feature: str = "cuda"

    @property
    def unsupported_error(self) -> str:
        """The full path of the variant for unsupported cases."""
        return f"{self.error_enum}::{self.unsupported}"

    @property
    def compile_error(self) -> str:
        """The full path of the variant for kernels that do not compile."""
        return f"{self.error_enum}::{self.compile_failed}"
