//! Collectives on device buffers.

use minitorch_core::TorchError;
use minitorch_gpu::{cpu_to_gpu, gpu_to_cpu, CudaBuffer, GpuDevice, GpuResult};

use crate::collective::HostGroup;

/// Sum over ranks.
pub fn gpu_allreduce(x: &CudaBuffer<f32>, group: &HostGroup, device: &GpuDevice) -> Result<CudaBuffer<f32>, TorchError> { //~ FT009
    let mine = gpu_to_cpu(x, device)?; //~ FT002
    let reduced = group.allreduce(&mine);
    cpu_to_gpu(&reduced, device).map_err(|e| TorchError::InvalidArgument { message: format!("gpu_allreduce: {e}") }) //~ FT016
}

/// Mean over ranks.
pub fn gpu_allreduce_mean(x: &CudaBuffer<f32>, ranks: usize, group: &HostGroup, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> { //~ FT009
    let summed = group.allreduce(&gpu_to_cpu(x, device)?); //~ FT002
    let mean: Vec<f32> = summed.iter().map(|v| v / ranks as f32).collect();
    cpu_to_gpu(&mean, device)
}

/// Check that every rank holds the same length; only a number is exchanged.
pub fn gpu_check_lengths(x: &CudaBuffer<f32>, group: &HostGroup, ranks: usize) -> bool {
    group.allreduce(&[x.len() as f32])[0] == (x.len() * ranks) as f32 //~ ok FT002: metadata
}

#[cfg(all(test, feature = "cuda"))] //~ FT010
mod tests {
    use super::*;

    #[test]
    fn one_rank_keeps_its_values() {
        let device = GpuDevice::new(0).expect("a CUDA device");
        let x = cpu_to_gpu(&[1.0f32, 2.0], &device).unwrap();
        let out = gpu_allreduce(&x, &HostGroup::new(1, 2), &device).unwrap();
        assert_eq!(gpu_to_cpu(&out, &device).unwrap(), vec![1.0, 2.0]);
    }
}

#[cfg(all(test, feature = "gpu"))] //~ ok FT010: a feature that the manifest declares
mod gpu_tests {
    use super::*;

    #[test]
    fn two_elements_have_length_two() {
        let device = GpuDevice::new(0).expect("a CUDA device");
        let x = cpu_to_gpu(&[1.0f32, 2.0], &device).unwrap();
        assert!(gpu_check_lengths(&x, &HostGroup::new(1, 1), 1));
    }
}
