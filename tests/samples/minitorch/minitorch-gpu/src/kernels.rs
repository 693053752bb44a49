//! Operators on lists of positions: gather, scatter, fill.

use crate::buffer::CudaBuffer;
use crate::device::GpuDevice;
use crate::error::{GpuError, GpuResult};
use crate::launch::{launch_cfg, launch_scalar};
use crate::module_cache::get_or_compile;
use crate::ptx::extra::{MASKED_FILL_PTX, SCATTER_ADD_F64_PTX};
use crate::ptx::matrix::GATHER_PTX;
use crate::ptx::unary::FILL_PTX;
use crate::transfer::{alloc_zeros_f32, alloc_zeros_f64, cpu_to_gpu, gpu_to_cpu};

/// `out[i] = x[index[i]]`.
pub fn gpu_gather(x: &CudaBuffer<f32>, index: &[u32], device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> { //~ ok FT009: reached directly
    let f = get_or_compile(device.context(), GATHER_PTX, "gather_kernel", device.ordinal())
        .map_err(|_| GpuError::PtxCompileFailed { kernel: "gather_kernel" })?; //~ ok FT001: structured
    let positions = cpu_to_gpu(index, device)?; //~ ok FT008: the index list is a host argument
    let out = alloc_zeros_f32(index.len(), device)?;
    let n = index.len() as u32;
    // SAFETY: `out` and `positions` hold `n` elements; the caller checked the indices.
    unsafe {
        device.stream().launch_builder(&f).buffer(x.ptr()).buffer(positions.ptr()).buffer(out.ptr()).arg(&n).launch(launch_cfg(index.len())?)?;
    }
    Ok(out)
}

/// A strided view as contiguous memory; offsets are computed here, elements move there.
pub fn gpu_strided_copy(x: &CudaBuffer<f32>, shape: &[usize], strides: &[isize], offset: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let n: usize = shape.iter().product();
    let mut index = Vec::with_capacity(n);
    for mut flat in 0..n {
        let mut at = offset as isize;
        for (&extent, &stride) in shape.iter().zip(strides).rev() {
            at += (flat % extent) as isize * stride;
            flat /= extent;
        }
        index.push(at as u32);
    }
    gpu_gather(x, &index, device) //~ ok FT005: host arithmetic on offsets, the elements stay on the device
}

/// Replace where the mask is set.
pub fn gpu_masked_fill(x: &CudaBuffer<f32>, mask: &CudaBuffer<f32>, value: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = match get_or_compile(device.context(), MASKED_FILL_PTX, "masked_fill_kernel", device.ordinal()) {
        Ok(f) => f,
        Err(_) => {
            let host = gpu_to_cpu(x, device)?; //~ FT001
            let keep = gpu_to_cpu(mask, device)?;
            let out: Vec<f32> = host.iter().zip(&keep).map(|(&v, &m)| if m != 0.0 { value } else { v }).collect();
            return cpu_to_gpu(&out, device);
        }
    };
    let out = alloc_zeros_f32(x.len(), device)?;
    let n = x.len() as u32;
    // SAFETY: the three buffers hold `n` elements.
    unsafe {
        device.stream().launch_builder(&f).buffer(x.ptr()).buffer(mask.ptr()).buffer(out.ptr()).arg(&value).arg(&n).launch(launch_cfg(x.len())?)?;
    }
    Ok(out)
}

/// Sum `src` into slot 0 of `dst`, in place.
pub fn gpu_scatter_add_f64(dst: &mut CudaBuffer<f64>, src: &CudaBuffer<f64>, device: &GpuDevice) -> GpuResult<()> {
    let f = match get_or_compile(device.context(), SCATTER_ADD_F64_PTX, "scatter_add_f64", device.ordinal()) {
        Ok(f) => f,
        Err(e) => {
            let mut totals = gpu_to_cpu(dst, device).map_err(|_| e)?; //~ FT001
            for v in gpu_to_cpu(src, device)? {
                totals[0] += v;
            }
            *dst = cpu_to_gpu(&totals, device)?;
            return Ok(());
        }
    };
    // SAFETY: one block of at most 256 threads, one a source element.
    unsafe { device.stream().launch_builder(&f).buffer(src.ptr()).buffer(dst.ptr()).launch(launch_cfg(src.len().min(256))?) }
}

/// The same value in every element.
pub fn gpu_fill(len: usize, value: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = get_or_compile(device.context(), FILL_PTX, "fill_kernel", device.ordinal())?;
    let out = alloc_zeros_f32(len, device)?;
    let n = len as u32;
    // SAFETY: `out` holds `n` elements.
    unsafe { device.stream().launch_builder(&f).buffer(out.ptr()).arg(&value).arg(&n).launch(launch_cfg(len)?)? };
    Ok(out)
}

/// Ones, by the fill kernel.
pub fn gpu_ones(len: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    gpu_fill(len, 1.0, device)
}

/// A fresh zeroed buffer in double precision.
pub fn gpu_zeros_f64(len: usize, device: &GpuDevice) -> GpuResult<CudaBuffer<f64>> {
    alloc_zeros_f64(len, device)
}

/// `x` with every element multiplied by 2.
pub fn gpu_double(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    launch_scalar(x, 2.0, device, crate::ptx::unary::SCALE_PTX, "scale_kernel")
}
