"""FT008: host-readback."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.rules.forms.pipeline_ends import ends_pipeline
from audit.rules.forms.remade import operands_made_on_host
from audit.rules.forms.unknown_reads import READBACK_INVALID, READBACK_VALID
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.uses import Use
from audit.scanner.report import Level


class HostReadback(Rule):
    """
    ## What it does
    Checks for operations that do launch on the device, and then take their data through host memory on
    every call: partial results that are summed on the host, results that are downloaded only to be
    wrapped again; and for operands that are computed on the host beside the kernel, and uploaded.

    ## Why is this bad?
    Each read waits for the device and copies over the bus. PyTorch keeps data where it is: a reduction's
    second pass is a kernel too, and attaching a gradient node never copies.

    ## Use instead
    Finish on the device, and hand the device storage on. Where only a length, a shape or a device is
    asked, ask the tensor for it.

    ## Known problems
    A read of a status word of one element looks like a read of data, unless it only decides a branch.
    """

    id = "FT008"
    name = "host-readback"
    level = Level.WARNING
    message = "takes device data through host memory on every call"
    follows_device_data = True
    invalid = (
        *READBACK_INVALID,
        Example(
            "launch whose outcome is reduced on the host",
            """
            pub fn gpu_rank(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<usize> {
                let pivots = launch(&kernel(d)?, a, d)?;
                let host = gpu_to_cpu(&pivots, d)?;  //~ FT008
                Ok(host.iter().filter(|p| p.abs() > 1e-6).count())
            }

            pub fn gpu_run(input: &[f32], d: &GpuDevice) -> GpuResult<Vec<f32>> {
                cpu_to_gpu(input, d)
                    .and_then(|x| launch(&kernel(d)?, &x, d))
                    .and_then(|out| gpu_to_cpu(&out, d))  //~ FT008
            }
            """,
        ),
        Example(
            "operand that is computed on the host beside the kernel",
            """
            fn noise(n: usize, seed: u64) -> Vec<f32> {
                let mut out = Vec::with_capacity(n);
                for i in 0..n {
                    out.push(hash(seed, i));
                }
                out
            }

            pub fn jitter(x: &Tensor<f32>, seed: u64) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    let out = backend.jitter_f32(x.gpu_handle()?, seed)?;
                    let drawn = noise(x.numel(), seed);  //~ FT008
                    let on_host = Tensor::from_storage(TensorStorage::cpu(drawn), x.shape().to_vec(), false)?;
                    return attach(out, on_host.to(x.device())?);
                }
                host_jitter(x.data()?, seed)
            }
            """,
        ),
        Example(
            "data read again behind the one element that decides",
            """
            pub fn cond(p: &Tensor<f32>, f: Branch, ops: &[Tensor<f32>]) -> TorchResult<Vec<Tensor<f32>>> {
                let outputs = if p.data()?[0] > 0.5 { f.run(ops) } else { ops.to_vec() };
                let mut wrapped = Vec::with_capacity(outputs.len());
                for out in outputs.iter() {
                    let data = out.data_vec()?;  //~ FT008
                    wrapped.push(Tensor::from_operation(TensorStorage::cpu(data), out.shape().to_vec())?);
                }
                Ok(wrapped)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "outcome of an operator, read under a name that is bound again, beside a parameter of the model",
            """
            pub struct Patches {
                conv: Conv,
                token: Tensor<f32>,
                norm: Conv,
            }

            pub struct Conv {
                weight: Tensor<f32>,
            }

            impl Conv {
                pub fn forward(&self, x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    wrap(backend.conv2d_f32(x.gpu_handle()?, self.weight.gpu_handle()?)?)
                }
            }

            impl Patches {
                pub fn forward(&self, image: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                    let device = image.device();
                    let x = self.conv.forward(image)?;
                    let token = self.token.data_vec()?;  //~ FT008
                    let patches = x.data_vec()?;
                    let joined = token.iter().chain(&patches).copied().collect();
                    let x = Tensor::from_storage(TensorStorage::cpu(joined), vec![9, 4], false)?.to(device)?;
                    let values = x.data_vec()?;  //~ FT008
                    let shifted = values.iter().map(|one| one + 1.0).collect();
                    let x = Tensor::from_storage(TensorStorage::cpu(shifted), vec![9, 4], false)?.to(device)?;
                    self.norm.forward(&x)
                }
            }
            """,
            path="ferrotorch-nn/src/lib.rs",
        ),
        Example(
            "outcome of a closure that reads on its way",
            """
            pub fn settle<F>(f: F, start: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>>
            where
                F: Fn(&Tensor<f32>) -> FerrotorchResult<Tensor<f32>>,
            {
                let settled = no_grad(|| {
                    let mut x = start.clone();
                    for _ in 0..9 {
                        let next = f(&x)?;
                        let moved: f32 = next.data_vec()?.iter().sum();  //~ FT008
                        if moved < 1.0 {
                            return Ok(next);
                        }
                        x = next;
                    }
                    Ok(x)
                })?;
                let data = settled.data_vec()?;  //~ FT008
                Tensor::from_operation(TensorStorage::cpu(data), settled.shape().to_vec(), node(&settled))
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "host copies in and out around a solver: one cause, however many parts come back",
            """
            pub fn gpu_convert(ptrs: &[u32], vals: &[f32], d: &GpuDevice) -> GpuResult<(Vec<u32>, Vec<f32>)> {
                let mut d_ptrs = cpu_to_gpu(ptrs, d)?;
                let mut d_vals = cpu_to_gpu(vals, d)?;
                cusparse_convert(&mut d_ptrs, &mut d_vals)?;
                let ptrs_h = d.stream().clone_dtoh(&d_ptrs)?;  //~ FT008
                let vals_h = d.stream().clone_dtoh(&d_vals)?;
                Ok((ptrs_h, vals_h))
            }
            """,
        ),
        Example(
            "model on the device whose outcome, one of several, goes back to the host at each step",
            """
            fn convolved(x: &CudaBuffer<f32>, n: usize) -> FerrotorchResult<(CudaBuffer<f32>, usize)> {
                let out = launch_conv(x, n)?;
                Ok((out, n))
            }

            pub fn forward(sample: &Tensor<f32>, d: &GpuDevice) -> FerrotorchResult<Tensor<f32>> {
                let x = cpu_to_gpu(sample.data()?, d)?;
                let (out, n) = convolved(&x, 3)?;
                let host = gpu_to_cpu(&out, d)?;  //~ FT008
                Tensor::from_storage(TensorStorage::cpu(host), vec![n], false)
            }
            """,
            path="ferrotorch-diffusion/src/gpu/unet.rs",
        ),
        Example(
            "list that is checked whole on the host",
            """
            fn check_bounds(idx: &CudaSlice<i64>, size: i64, d: &Gpu) -> GpuResult<()> {
                launch_sort(idx, d)?;
                let host = d.stream().clone_dtoh(idx)?;  //~ FT008
                for one in &host {
                    if *one >= size {
                        return Err(GpuError::IndexOutOfBounds { size });
                    }
                }
                Ok(())
            }
            """,
        ),
        Example(
            "second pass of a reduction on the host",
            """
            pub fn gpu_reduce_sum(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let f = get_or_compile(d.context(), SUM_PTX, "sum_kernel")?;
                let partials = alloc_zeros(256, d)?;
                d.stream().launch_builder(&f).arg(a).arg(&partials).launch(cfg)?;
                let host = gpu_to_cpu(&partials, d)?;  //~ FT008
                cpu_to_gpu(&[host.iter().sum()], d)
            }
            """,
        ),
    )
    valid = (
        *READBACK_VALID,
        Example(
            "second pass on the device",
            """
            pub fn gpu_reduce_sum(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let f = get_or_compile(d.context(), SUM_PTX, "sum_kernel")?;
                let partials = alloc_zeros(256, d)?;
                d.stream().launch_builder(&f).arg(a).arg(&partials).launch(cfg)?;
                gpu_sum_partials(&partials, d)
            }
            """,
        ),
        Example(
            "copy of shared storage that one of two backends takes through the host",
            """
            impl GpuBackend for CudaBackend {
                fn clone_buffer(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
                    self.stream.clone_dtod(a)
                }
            }

            impl GpuBackend for TracingBackend {
                fn clone_buffer(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
                    record(a);
                    self.inner.clone_buffer(a)
                }
            }

            impl TensorStorage {
                pub fn owned(&self, backend: &dyn GpuBackend) -> FerrotorchResult<TensorStorage> {
                    Ok(TensorStorage::gpu(backend.clone_buffer(&self.handle)?))
                }
            }
            """,
        ),
        Example(
            "list of the caller that is uploaded for a kernel",
            """
            fn widened(mask: &[bool]) -> Vec<f32> {
                let mut out = Vec::with_capacity(mask.len());
                for &one in mask {
                    out.push(f32::from(one));
                }
                out
            }

            pub fn masked(x: &Tensor<f32>, mask: &[bool]) -> FerrotorchResult<GpuBufferHandle> {
                let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                if x.is_cuda() {
                    let out = backend.copy_f32(x.gpu_handle()?)?;
                    let wide = widened(mask);
                    let on_host = Tensor::from_storage(TensorStorage::cpu(wide), x.shape().to_vec(), false)?;
                    return backend.mul_f32(&out, on_host.to(x.device())?.gpu_handle()?);
                }
                host_masked(x.data()?, mask)
            }
            """,
        ),
        Example(
            "flag that the device has set, and where, for an error",
            """
            fn check_bounds(idx: &CudaSlice<i64>, size: usize, device: &GpuDevice) -> GpuResult<()> {
                let stream = device.stream();
                let mut flag = stream.clone_htod(&[0_u32])?;
                let mut bad = stream.clone_htod(&[-1_i64])?;
                stream.launch_builder(&check(device)?).arg(idx).arg(&mut flag).arg(&mut bad).launch(cfg)?;
                let found = stream.clone_dtoh(&flag)?;
                if found[0] == 0 {
                    return Ok(());
                }
                let host = stream.clone_dtoh(&bad)?;
                Err(GpuError::IndexOutOfBounds { index: host[0], size })
            }
            """,
        ),
        Example(
            "size of an answer, which the device has counted",
            """
            fn count_true(mask: &CudaSlice<u8>, d: &Gpu) -> GpuResult<usize> {
                let out = launch_count(mask, d)?;
                let host = d.stream().clone_dtoh(&out)?;
                Ok(host[0] as usize)
            }

            pub fn select(x: &CudaSlice<f32>, mask: &CudaSlice<u8>, d: &Gpu) -> GpuResult<CudaSlice<f32>> {
                let n = count_true(mask, d)?;
                launch_compact(x, mask, n, d)
            }
            """,
        ),
        Example(
            "function whose result is host data",
            """
            pub fn norms(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<Vec<f32>> {
                let f = get_or_compile(d.context(), NORM_PTX, "norm_kernel")?;
                d.stream().launch_builder(&f).arg(a).launch(cfg)?;
                gpu_to_cpu(a, d)
            }
            """,
        ),
        Example(
            "element that decides a branch",
            """
            pub fn unscale(s: &mut State, a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                let scaled = launch_scale(a, d)?;
                let total = launch_sum(&scaled, d)?;
                let bytes = gpu_to_cpu(&total, d)?;
                let sum = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                if !sum.is_finite() {
                    s.found_inf = true;
                }
                Ok(scaled)
            }
            """,
        ),
        Example(
            "function whose result is a record of host data",
            """
            pub struct ProfileResult {
                pub steps: usize,
                pub norms: Vec<f32>,
            }

            pub fn profile(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<ProfileResult> {
                let f = get_or_compile(d.context(), NORM_PTX, "norm_kernel")?;
                d.stream().launch_builder(&f).arg(a).launch(cfg)?;
                Ok(ProfileResult { steps: 1, norms: gpu_to_cpu(a, d)? })
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the host paths that a launch precedes."""
        for path in judgement.paths.all:
            if ends_pipeline(judgement, path):
                continue
            if path.use in (Use.REWRAPPED, Use.MEASURED, Use.COPIED):
                yield judgement.host_path_candidate(path, f"{path.use}-on-host")
            elif path.use is Use.ASKED:
                continue
            elif path.launch is not None or path.launches_beside or (path.is_host_body and path.goes_on):
                form = "readback-and-upload" if path.upload is not None else "readback"
                yield judgement.host_path_candidate(path, form)
        yield from operands_made_on_host(judgement)
