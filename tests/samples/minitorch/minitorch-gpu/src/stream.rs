//! Events, timing and graph capture.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::buffer::CudaBuffer;
use crate::device::{CudaContext, CudaStream, GpuDevice};
use crate::error::{GpuError, GpuResult};
use crate::launch::{launch_cfg, try_launch_unary};
use crate::module_cache::get_or_compile;
use crate::ptx::unary::{NEG_PTX, SCALE_PTX};

/// Launch the warm-up kernel so that the first timed call is a fair one.
pub fn warm_up(x: &CudaBuffer<f32>, device: &GpuDevice) {
    let _ = try_launch_unary(x, device, NEG_PTX, "neg_kernel"); //~ FT003
}

/// Scale in place; the status of the launch is looked at in debug builds.
pub fn gpu_scale_in_place(x: &mut CudaBuffer<f32>, factor: f32, device: &GpuDevice) -> GpuResult<()> {
    let f = get_or_compile(device.context(), SCALE_PTX, "scale_kernel", device.ordinal())?;
    let n = x.len() as u32;
    // SAFETY: one buffer of `n` elements is read and written.
    let status = unsafe {
        device.stream().launch_builder(&f).buffer(x.ptr()).buffer(x.ptr()).arg(&factor).arg(&n).launch(launch_cfg(x.len())?)
    };
    debug_assert_eq!(status, Ok(())); //~ FT003
    Ok(())
}

/// Wait for the work of a stream.
pub fn synchronize_stream(_stream: &CudaStream) -> GpuResult<()> {
    Ok(()) //~ FT003
}

/// Wait for the device.
pub fn synchronize_device(device: &GpuDevice) -> GpuResult<()> {
    device.stream().synchronize() //~ ok FT003: waits
}

/// Occupancy of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Occupancy {
    pub blocks: u32,
    pub percent: f32,
}

/// Ask how well a kernel fills the device.
pub fn query_occupancy(_device: &GpuDevice, _kernel: &str) -> GpuResult<Occupancy> {
    Ok(Occupancy { blocks: 32, percent: 87.5 }) //~ FT003
}

/// Replay a captured graph.
pub fn replay_graph(nodes: usize) -> GpuResult<Duration> {
    let start = Instant::now();
    std::thread::sleep(Duration::from_micros(10 * nodes as u64)); //~ FT003
    Ok(start.elapsed())
}

/// Capture needs a driver call this binding doesn't have.
pub fn begin_capture(_device: &GpuDevice) -> GpuResult<()> {
    Err(GpuError::Unsupported { op: "graph capture", dtype: "any" }) //~ ok FT003: structured
}

/// Marks a point on the host's clock after the device is idle.
pub struct Event {
    context: Arc<CudaContext>,
    at: Option<Instant>,
}

impl Event {
    pub fn new(device: &GpuDevice) -> Self {
        Self { context: device.context().clone(), at: None }
    }

    pub fn record(&mut self) -> GpuResult<()> {
        self.context.driver.synchronize()?;
        self.at = Some(Instant::now());
        Ok(()) //~ ok FT003: the wait above is the work
    }

    pub fn elapsed_since(&self, start: &Event) -> GpuResult<Duration> {
        match (self.at, start.at) {
            (Some(end), Some(begin)) => Ok(end.saturating_duration_since(begin)),
            _ => Err(GpuError::InvalidState { message: "event was not recorded".into() }),
        }
    }
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    fn device() -> Option<GpuDevice> {
        GpuDevice::new(0).ok() //~ FT010
    }

    #[test]
    fn an_event_is_recorded() {
        let Some(device) = device() else { return }; //~ FT010
        let mut event = Event::new(&device);
        event.record().expect("recorded");
    }

    #[test]
    fn elapsed_time_is_not_negative() {
        let device = match GpuDevice::new(0) { //~ FT010
            Ok(device) => device,
            Err(_) => return,
        };
        let (mut a, mut b) = (Event::new(&device), Event::new(&device));
        a.record().expect("first");
        b.record().expect("second");
        assert!(b.elapsed_since(&a).is_ok());
    }

    #[test]
    fn an_event_must_be_recorded_first() {
        let device = GpuDevice::new(0).expect("a CUDA device"); //~ ok FT010: fails without a device
        let (a, b) = (Event::new(&device), Event::new(&device));
        assert!(b.elapsed_since(&a).is_err());
    }

    #[test]
    fn capture_is_refused() {
        let device = GpuDevice::new(0).expect("a CUDA device");
        assert!(matches!(begin_capture(&device), Err(GpuError::Unsupported { .. })));
    }
}
