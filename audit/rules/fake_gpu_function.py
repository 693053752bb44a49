"""FT002: fake-gpu-function."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.entries import Trigger
from audit.scanner.link.uses import Use
from audit.scanner.report import Level


class FakeGpuFunction(Rule):
    """
    ## What it does
    Checks for functions that are named as GPU code, or stand in a GPU crate, and never reach the device:
    their whole body is download, host loop, upload.

    ## Why is this bad?
    The name is a promise. PyTorch has no function in its CUDA backend that computes on the host; who
    calls this one believes the work is on the device.

    ## Use instead
    Write the kernel; or return a structured error; or give the function the name of what it does
    (`.._cpu`).

    ## Known problems
    A launch behind a function pointer or a foreign function with an unknown name is not seen.
    """

    id = "FT002"
    name = "fake-gpu-function"
    level = Level.ERROR
    message = "named or located as GPU code, computes on the host only"
    follows_device_data = True
    invalid = (
        Example(
            "mapped buffer whose values are halved on the host",
            """
            pub fn gpu_halved(device: &Device, x: &Buffer) -> Buffer {
                let host = x.slice(..).get_mapped_range();  //~ FT002
                let halves: Vec<u8> = host.iter().map(|one| one / 2).collect();
                device.create_buffer_init(&halves)
            }
            """,
            path="renderer/src/wgpu/buffers.rs",
            profile="wgpu",
        ),
        Example(
            "whole buffer read for one truth value, behind the default feature",
            """
            #[cfg(feature = "cuda")]
            pub fn gpu_has_nan(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<bool> {
                let host = gpu_to_cpu(a, d)?;  //~ FT002
                Ok(host.iter().any(|v| v.is_nan()))
            }
            """,
        ),
        Example(
            "numbers that are drawn on the host and uploaded",
            """
            pub fn gpu_rand(len: usize, generator: &Generator, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let host: Vec<f32> = (0..len as u64).map(|i| generator.value(i)).collect();  //~ FT002
                cpu_to_gpu(&host, d)
            }
            """,
        ),
        Example(
            "copy of device memory through the host",
            """
            pub fn clone_buffer(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let host = gpu_to_cpu(a, d)?;  //~ FT002
                cpu_to_gpu(&host, d)
            }
            """,
        ),
        Example(
            "device name, host body",
            """
            pub fn gpu_allreduce(t: &Tensor<f32>, peers: &Peers) -> FerrotorchResult<Tensor<f32>> {
                let data = t.data_vec()?;  //~ FT002
                let sum = peers.sum(&data);
                Tensor::from_storage(TensorStorage::cpu(sum), t.shape().to_vec(), false)?.to(t.device())
            }
            """,
            path="ferrotorch-nn/src/lib.rs",
        ),
    )
    valid = (
        Example(
            "mapping of a buffer, and an upload through one",
            """
            impl Context {
                pub fn buffer_map_async(&self, buffer: &Buffer, mode: MapMode, range: Range<u64>) {
                    match self.0.buffer_map_async(buffer.id, range.start, mode) {
                        Ok(()) => (),
                        Err(cause) => self.handle(cause),
                    }
                }
            }

            pub fn buffer_get_mapped_range_mut(buffer: &Buffer) -> Mapped {
                Mapped::of(buffer.slice(..).get_mapped_range())
            }

            pub fn create_buffer_init(device: &Device, contents: &[u8]) -> Buffer {
                let buffer = device.create_buffer(contents.len());
                buffer_get_mapped_range_mut(&buffer).fill_from(contents);
                buffer.unmap();
                buffer
            }
            """,
            path="renderer/src/wgpu/buffers.rs",
            others={
                "renderer/src/global.rs": """
impl Global {
    pub fn buffer_map_async(&self, buffer: &Buffer, offset: u64, mode: MapMode) -> Result<(), Error> {
        buffer.map_async(offset, mode)
    }
}
""",
            },
            profile="wgpu",
        ),
        Example(
            "launch by a function that is handed over by its path",
            """
            pub fn gpu_total(parts: &[CudaBuffer<f32>], d: &GpuDevice) -> GpuResult<Vec<CudaBuffer<f32>>> {
                let sums = with_each(parts, kernels::run_sum)?;
                let sizes = gpu_to_cpu(&sums[0], d)?;
                sums.iter().map(|one| cpu_to_gpu(&sizes[..1], d)).collect()
            }

            fn with_each(
                parts: &[CudaBuffer<f32>],
                run: fn(&CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>>,
            ) -> GpuResult<Vec<CudaBuffer<f32>>> {
                parts.iter().map(run).collect()
            }

            pub mod kernels {
                pub fn run_sum(a: &CudaBuffer<f32>) -> GpuResult<CudaBuffer<f32>> {
                    launch(&kernel("sum")?, a)
                }
            }
            """,
        ),
        Example(
            "upload of what the caller gave",
            """
            pub fn gpu_from_f64(values: &[f64], d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let narrowed: Vec<f32> = values.iter().map(|v| *v as f32).collect();
                cpu_to_gpu(&narrowed, d)
            }
            """,
        ),
        Example(
            "device name, device body",
            """
            pub fn gpu_allreduce(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<()> {
                d.stream().launch_builder(&reduce_kernel(d)?).arg(a).launch(cfg)
            }
            """,
        ),
        Example(
            "state that is handed out to be saved",
            """
            impl GpuCache {
                fn save_to(&self, states: &mut Vec<HostTensor>, d: &GpuDevice) -> GpuResult<()> {
                    states.push(HostTensor::new(gpu_to_cpu(&self.keys, d)?));
                    Ok(())
                }
            }
            """,
        ),
        Example(
            "explicit transfer",
            """
            pub fn gpu_to_cpu(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<Vec<f32>> {
                d.stream().clone_dtoh(a)
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the host paths of functions that promise the device and never reach it."""
        for path in judgement.paths.all:
            if path.trigger is Trigger.DEVICE or path.launch is not None or path.is_backend_default:
                continue
            is_round_trip = path.use in (Use.REWRAPPED, Use.COPIED) and path.upload is not None
            if (path.use is Use.COMPUTED or is_round_trip) and judgement.promises_device(path.function):
                form = "named-gpu-round-trip" if is_round_trip else "named-gpu-host-body"
                yield judgement.host_path_candidate(path, form)
