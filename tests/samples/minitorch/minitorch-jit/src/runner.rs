//! Running generated PTX.

use minitorch_core::{TorchError, TorchResult};
use minitorch_gpu::launch::launch_cfg;
use minitorch_gpu::module_cache::{get_or_compile, Function};
use minitorch_gpu::{cpu_to_gpu, gpu_to_cpu, CudaBuffer, GpuDevice, GpuResult};

use crate::codegen_gpu::generate_ptx_source;
use crate::graph::{CompiledGraph, Graph, Interpreter};

/// A compiled chain on the first card.
pub struct PtxGraph {
    graph: Graph,
    device: GpuDevice,
    function: Function,
}

// SAFETY: function handles may be used from any thread.
unsafe impl Sync for PtxGraph {}

impl PtxGraph {
    pub fn new(graph: &Graph) -> TorchResult<Self> {
        let device = GpuDevice::new(0)?;
        let text: &'static str = Box::leak(generate_ptx_source(graph).into_boxed_str());
        let function = get_or_compile(device.context(), text, "fused", 0)?;
        Ok(Self { graph: graph.clone(), device, function })
    }

    /// Run on a device buffer.
    pub fn run_on_device(&self, x: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
        let out = CudaBuffer::zeros(x.len(), &self.device)?;
        let n = x.len() as u32;
        // SAFETY: both buffers hold `n` elements.
        unsafe {
            self.device.stream().launch_builder(&self.function).buffer(x.ptr()).buffer(out.ptr()).arg(&n).launch(launch_cfg(x.len())?)?;
        }
        Ok(out) //~ ok FT008: device buffers in and out
    }
}

impl CompiledGraph for PtxGraph {
    fn run(&self, input: &[f32]) -> Vec<f32> {
        let launched = cpu_to_gpu(input, &self.device)
            .and_then(|x| self.run_on_device(&x))
            .and_then(|out| gpu_to_cpu(&out, &self.device)); //~ ok FT008: host values in, host values out
        launched.unwrap_or_else(|_| Interpreter { graph: self.graph.clone() }.run(input)) //~ FT001
    }

    fn target(&self) -> &'static str {
        "ptx"
    }
}

/// Run on host values and leave the result on the device, or hand the error on.
pub fn run_checked(compiled: &PtxGraph, input: &[f32], device: &GpuDevice) -> TorchResult<CudaBuffer<f32>> { //~ FT009
    let out = compiled.run_on_device(&cpu_to_gpu(input, device)?)?; //~ ok FT008: uploads its argument, reads nothing back
    if out.len() != input.len() {
        return Err(TorchError::Internal { message: format!("{} of {} values", out.len(), input.len()) });
    }
    Ok(out)
}
