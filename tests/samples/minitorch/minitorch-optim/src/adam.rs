//! Adam.

use std::collections::HashMap;

use minitorch_core::gpu_dispatch::gpu_backend;
use minitorch_core::storage::{GpuBufferHandle, TensorStorage};
use minitorch_core::{Tensor, TorchError, TorchResult};

/// Moments of one parameter, where the parameter lives.
#[derive(Debug, Default)]
struct State {
    device_moments: Option<(GpuBufferHandle, GpuBufferHandle)>,
    host_moments: Vec<(f64, f64)>,
    step: i32,
}

/// Adam without weight decay.
#[derive(Debug)]
pub struct Adam {
    pub lr: f64,
    pub amsgrad: bool,
    state: HashMap<usize, State>,
}

impl Adam {
    pub fn new(lr: f64) -> Self {
        Self { lr, amsgrad: false, state: HashMap::new() }
    }

    /// One step of one parameter; returns its new value.
    pub fn step(&mut self, key: usize, param: &Tensor<f32>, grad: &Tensor<f32>) -> TorchResult<Tensor<f32>> { //~ FT009
        let state = self.state.entry(key).or_default();
        state.step += 1;
        if param.is_cuda() && !self.amsgrad { //~ FT011
            let backend = gpu_backend().ok_or(TorchError::DeviceUnavailable)?;
            if state.device_moments.is_none() {
                let n = param.numel();
                let m = backend.alloc_zeros(n, 4, param.device()).ok(); //~ FT001
                let v = backend.alloc_zeros(n, 4, param.device()).ok();
                state.device_moments = m.zip(v);
            }
            if let Some((m, v)) = &state.device_moments {
                let out = backend.fused_adam_f32(param.gpu_handle()?, grad.gpu_handle()?, m, v, self.lr as f32)?;
                return Tensor::from_storage(TensorStorage::gpu(out), param.shape().to_vec(), false);
            }
        }
        // amsgrad is not supported on the GPU and takes the CPU path. //~ FT014
        let values = param.data_vec()?; //~ FT001
        let grads = grad.data_vec()?;
        state.host_moments.resize(values.len(), (0.0, 0.0));
        let (c1, c2) = (1.0 - 0.9f64.powi(state.step), 1.0 - 0.999f64.powi(state.step));
        let mut out = Vec::with_capacity(values.len());
        for ((value, g), (m, v)) in values.iter().zip(&grads).zip(&mut state.host_moments) {
            *m = 0.9 * *m + 0.1 * f64::from(*g);
            *v = 0.999 * *v + 0.001 * f64::from(*g).powi(2);
            out.push((f64::from(*value) - self.lr * (*m / c1) / ((*v / c2).sqrt() + 1e-8)) as f32);
        }
        Tensor::from_storage(TensorStorage::on_device(out, param.device())?, param.shape().to_vec(), false)
    }

    /// Moments for a checkpoint.
    pub fn state_dict(&self, key: usize) -> Vec<(f64, f64)> {
        self.state.get(&key).map(|s| s.host_moments.clone()).unwrap_or_default()
    }
}
