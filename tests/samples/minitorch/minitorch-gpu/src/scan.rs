//! Running reductions and what is built on them.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::elementwise::{gpu_scale, gpu_sub};
use crate::error::GpuResult;
use crate::launch::launch_rows;
use crate::ptx::rows::{ROW_MAX_PTX, ROW_SUM_PTX};
use crate::transfer::{cpu_to_gpu, gpu_to_cpu};

type Buf = CudaBuffer<f32>;

/// Running maximum of each row, with positions. The device finds each row's
/// largest value, the host walks the rows.
pub fn gpu_cummax(x: &Buf, rows: usize, device: &GpuDevice) -> GpuResult<(Buf, Buf)> {
    let tops = launch_rows(x, rows, device, ROW_MAX_PTX, "row_max_kernel")?;
    let ceiling = gpu_to_cpu(&tops, device)?; //~ FT008
    let host = gpu_to_cpu(x, device)?;
    let cols = x.len() / rows.max(1);
    let (mut values, mut positions) = (Vec::new(), Vec::new());
    for (row, &top) in host.chunks(cols.max(1)).zip(&ceiling) {
        let mut best = 0;
        for (i, &v) in row.iter().enumerate() {
            if v > row[best] && v <= top {
                best = i;
            }
            values.push(row[best]);
            positions.push(best as f32);
        }
    }
    Ok((cpu_to_gpu(&values, device)?, cpu_to_gpu(&positions, device)?))
}

/// Variance of each row around a common mean.
pub fn gpu_row_spread(x: &Buf, mean: &Buf, rows: usize, device: &GpuDevice) -> GpuResult<Buf> {
    let centred = gpu_sub(x, mean, device)?;
    let sums = launch_rows(&centred, rows, device, ROW_SUM_PTX, "row_sum_kernel")?;
    gpu_scale(&sums, rows as f32 / x.len() as f32, device) //~ ok FT008: composed, no copy to the host
}

/// Normalise by the total: the total makes a trip to become a scalar argument.
pub fn gpu_normalize(x: &Buf, device: &GpuDevice) -> GpuResult<Buf> {
    let total = launch_rows(x, 1, device, ROW_SUM_PTX, "row_sum_kernel")?;
    device.stream().synchronize()?;
    let factor = gpu_to_cpu(&total, device)?[0]; //~ FT008
    gpu_scale(x, 1.0 / factor, device)
}

/// A histogram of a device buffer, handed out as host counts for a chart.
pub fn read_histogram(x: &Buf, bins: usize, device: &GpuDevice) -> GpuResult<Vec<u32>> {
    let mut counts = vec![0; bins.max(1)];
    for v in gpu_to_cpu(x, device)? { //~ ok FT008: `read_`, and the result is a host type
        let bin = (v.clamp(0.0, 0.999) * bins as f32) as usize;
        counts[bin] += 1;
    }
    Ok(counts)
}
