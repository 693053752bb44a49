"""Examples of `deferred-kernel`: figures that nobody has measured, and devices that nobody has asked for."""

from __future__ import annotations

from audit.rules.base import Example

FIGURES_INVALID = (
    Example(
        "number in place of a time that could not be measured",
        """
        pub fn finish(start: &CudaEvent, end: &CudaEvent) -> u64 {
            match start.elapsed_ms(end) {
                Ok(ms) if ms > 0.0 => (ms * 1000.0) as u64,
                _ => 0,  //~ FT003
            }
        }

        pub fn replay_ms(start: &CudaEvent, end: &CudaEvent) -> f32 {
            start.elapsed_ms(end).unwrap_or(0.0)  //~ FT003
        }
        """,
    ),
    Example(
        "zeros in place of the memory of a device that did not answer",
        """
        pub fn memory() -> (usize, usize) {
            driver::mem_get_info().unwrap_or((0, 0))  //~ FT003
        }

        pub fn free_memory() -> usize {
            driver::mem_get_info().map(|(free, _)| free).unwrap_or(0)  //~ FT003
        }
        """,
    ),
    Example(
        "literals as measured figures",
        """
        pub fn query_occupancy(_device: &GpuDevice, _kernel: &str) -> GpuResult<Occupancy> {
            Ok(Occupancy { blocks: 32, percent: 87.5 })  //~ FT003
        }

        pub fn replay_graph(nodes: usize) -> GpuResult<Duration> {
            let start = Instant::now();
            std::thread::sleep(Duration::from_micros(10));  //~ FT003
            Ok(start.elapsed())
        }
        """,
    ),
    Example(
        "device that the build assumes",
        """
        pub fn is_card_there() -> bool {
            cfg!(feature = "cuda")
        }

        pub fn device_count() -> usize {
            if is_card_there() {
                1  //~ FT003
            } else {
                0
            }
        }
        """,
    ),
    Example(
        "backend default that invents a state",
        """
        pub trait GpuBackend {
            fn dropout_f32(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle>;

            fn dropout_seeded(&self, a: &GpuBufferHandle) -> FerrotorchResult<(GpuBufferHandle, Rng)> {
                let out = self.dropout_f32(a)?;
                Ok((out, Rng { counter: 0, seed: 0 }))  //~ FT003
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
)

FIGURES_VALID = (
    Example(
        "memory that may be unknown, and that of the host",
        """
        pub fn free_memory() -> Option<usize> {
            driver::mem_get_info().map(|(free, _)| free).ok()
        }

        pub fn free_on_the_host() -> (usize, usize) {
            system::host_mem_info().unwrap_or((0, 0))
        }

        pub fn total(path: &Path) -> GpuResult<usize> {
            let known = path.size_info().unwrap_or((0, 0));
            Ok(known.1 + driver::mem_get_info()?.1)
        }
        """,
    ),
    Example(
        "memory of the host, for a loader of files",
        """
        pub fn free_memory() -> usize {
            system::memory_info().map(|(free, _)| free).unwrap_or(0)
        }
        """,
        path="ferrotorch-nn/src/files.rs",
    ),
    Example(
        "time of the host, and one whose failure is told",
        """
        pub fn age(file: &Meta) -> Duration {
            file.modified.elapsed().unwrap_or_default()
        }

        pub fn finish(start: &CudaEvent, end: &CudaEvent) -> (f32, bool) {
            match start.elapsed_ms(end) {
                Ok(ms) => (ms, false),
                Err(_) => (0.0, true),
            }
        }
        """,
    ),
    Example(
        "devices that the driver counts, or that a build has none of",
        """
        #[cfg(feature = "cuda")]
        pub fn device_count() -> usize {
            if driver_sys::cu_init(0) == 0 {
                1
            } else {
                0
            }
        }

        #[cfg(not(feature = "cuda"))]
        pub fn device_count() -> usize {
            0
        }
        """,
    ),
)
