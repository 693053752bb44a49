"""A small workspace with a GPU crate, in git, for what asks which tests prove what."""

from __future__ import annotations

from pathlib import Path

from audit.models import Commit, Repository, RepositoryKind
from tests.factories import make_repository
from tests.git import commit_files

GPU_LIB = """
pub mod ops;
"""
OPS = """
use crate::driver::{GpuDevice, get_or_compile};

pub fn gpu_relu(device: &GpuDevice, x: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
    let kernel = get_or_compile(device, RELU_PTX, "relu_kernel")?;
    helper(device);
    launch(kernel, x)
}

pub fn gpu_exp(device: &GpuDevice, x: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
    let kernel = get_or_compile(device, EXP_PTX, "exp_kernel")?;
    launch(kernel, x)
}

pub fn gpu_never_tested(device: &GpuDevice) -> GpuResult<()> {
    let kernel = get_or_compile(device, NEVER_PTX, "never_kernel")?;
    launch(kernel, device)
}

fn helper(device: &GpuDevice) -> u32 { 1 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relu_matches_the_host() {
        let device = GpuDevice::new(0).unwrap();
        let got = gpu_relu(&device, &upload(&device, &[1.0])).unwrap();
        assert_eq!(download(&got), vec![1.0]);
    }

    #[test]
    fn relu_of_half_is_refused() {
        let device = GpuDevice::new(0).unwrap();
        assert!(matches!(gpu_relu(&device, &half()), Err(GpuError::Unsupported { .. })));
    }

    #[test]
    #[ignore]
    fn relu_of_much() {
        let device = GpuDevice::new(0).unwrap();
        gpu_relu(&device, &upload(&device, &[1.0])).unwrap();
    }

    #[test]
    fn relu_without_a_device() {
        let device = fake();
        gpu_relu(&device, &none()).unwrap();
    }
}
"""
INTEGRATION = """
use mini_gpu::ops::gpu_exp;

#[test]
fn exp_runs() {
    let device = GpuDevice::new(0).unwrap();
    gpu_exp(&device, &upload(&device, &[1.0])).unwrap();
}
"""
FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["mini-gpu"]\n',
    "mini-gpu/Cargo.toml": '[package]\nname = "mini-gpu"\nversion = "0.1.0"\n[features]\ncuda = []\n',
    "mini-gpu/src/lib.rs": GPU_LIB,
    "mini-gpu/src/ops.rs": OPS,
    "mini-gpu/tests/exp.rs": INTEGRATION,
}


def make_workspace(folder: Path) -> tuple[Repository, Commit]:
    """Make the workspace's repository, with one commit on its branch."""
    work = folder / "workspace"
    object_id = commit_files(work, FILES)
    repository = make_repository(
        "mini", kind=RepositoryKind.GIT_PATH, location=str(work), profile="ferrotorch"
    )
    return repository, Commit.objects.create(repository=repository, object_id=object_id)
