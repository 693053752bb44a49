"""FT011: shape-bypass."""

from __future__ import annotations

from collections.abc import Iterator

from audit.rules.base import Example, Rule
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.entries import Trigger
from audit.scanner.report import Level

# The files of a crate of which each example adds one.
_STORE = {
    "store/src/lib.rs": """
mod cuda;
mod held;
mod storage;
""",
    "store/src/held.rs": """
pub struct CudaStorage {
    parts: Parts,
}

pub struct QCudaStorage {
    data: CudaSlice<u8>,
    kind: Kind,
    device: Device,
}
""",
}


class ShapeBypass(Rule):
    """
    ## What it does
    Checks for operators whose device path covers some shapes, layouts, dtypes or settings, and which
    compute the rest on the host.

    ## Why is this bad?
    A change of dtype or a transposed input moves the work to the host, and nothing says so. PyTorch
    covers the case with another kernel, makes the input contiguous on the device, or raises.

    ## Use instead
    Cover the case on the device (the strided copy kernels serve any layout), or refuse it with a
    structured error.

    ## Known problems
    A limit that is kept in a field and tested elsewhere is not seen.
    """

    id = "FT011"
    name = "shape-bypass"
    level = Level.ERROR
    message = "leaves the shapes, layouts or dtypes that the device path does not cover to the host"
    follows_device_data = True
    invalid = (
        Example(
            "storage of the device, whose types no profile knows, unpacked on the host for the other dtypes",
            """
            impl QCudaStorage {
                pub fn dequantize(&self, n: usize) -> Result<CudaStorage> {
                    let fast_kernel = matches!(self.dtype, Kind::Q4 | Kind::Q8);
                    if fast_kernel {
                        return launch_dequantize(&self.data, n, &self.device);
                    }
                    let buffer = self.device.dtoh_sync_copy(&self.data)?;  //~ FT011
                    let mut out = vec![0.0; n];
                    widen(&buffer, &mut out);
                    self.device.storage_of(&out)
                }
            }
            """,
            path="store/src/cuda.rs",
            others=_STORE,
            profile="generic",
        ),
        Example(
            "size, mode or rank that the device does not take",
            """
            pub fn gpu_dot(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                if a.len() < 1024 {
                    let x = gpu_to_cpu(a, d)?;  //~ FT011
                    return cpu_to_gpu(&[x.iter().sum::<f32>()], d);
                }
                launch(&kernel(d)?, a, d)
            }

            pub fn gpu_conv(a: &CudaBuffer<f32>, dilation: u32, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                if dilation == 1 {
                    return launch(&kernel(d)?, a, d);
                }
                let x = gpu_to_cpu(a, d)?;  //~ FT011
                cpu_to_gpu(&dilated(&x, dilation), d)
            }

            pub fn gpu_spread(a: &CudaBuffer<f32>, rank: usize, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                match rank {
                    0..=4 => launch(&kernel(d)?, a, d),
                    _ => {
                        let x = gpu_to_cpu(a, d)?;  //~ FT011
                        cpu_to_gpu(&tiled(&x, rank), d)
                    }
                }
            }
            """,
        ),
        Example(
            "data that are read in two types, in one place",
            """
            pub fn penalized(logits: &Tensor, penalty: f32) -> Result<Tensor> {
                let values = if logits.dtype() != DType::F32 {
                    logits.to_dtype(DType::F32)?.to_vec1::<f32>()?  //~ FT011
                } else {
                    logits.to_vec1::<f32>()?
                };
                let values = values.iter().map(|one| one / penalty).collect::<Vec<f32>>();
                Tensor::from_vec(values, logits.shape(), logits.device())
            }

            pub fn repeated(logits: &Tensor, penalty: f32) -> Result<Tensor> {
                let values = if logits.dtype() == DType::F32 {
                    logits.to_vec1::<f32>()?  //~ FT011
                } else {
                    logits.to_dtype(DType::F32)?.to_vec1::<f32>()?
                };
                let values = values.iter().map(|one| one * penalty).collect::<Vec<f32>>();
                Tensor::from_vec(values, logits.shape(), logits.device())
            }
            """,
            path="src/lib.rs",
            profile="candle",
        ),
        Example(
            "data that are read in two branches for another operand's dtype",
            """
            pub fn either(x: &Tensor, y: &Tensor) -> Result<Tensor> {
                if y.dtype() == DType::F32 {
                    let values = x.to_vec1::<f32>()?;  //~ FT011
                    Tensor::from_vec(exponentials(&values), x.shape(), x.device())
                } else {
                    let values = x.to_dtype(DType::F64)?.to_vec1::<f64>()?;  //~ FT011
                    Tensor::from_vec(logarithms(&values), x.shape(), x.device())
                }
            }
            """,
            path="src/lib.rs",
            profile="candle",
        ),
        Example(
            "one dtype on the device, the rest on the host",
            """
            pub fn conv(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && is_f32::<f32>() {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    return wrap(backend.conv_f32(x.gpu_handle()?)?);
                }
                let data = x.data_vec()?;  //~ FT011
                Tensor::from_storage(TensorStorage::cpu(im2col(&data)), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "layout that is copied on the host",
            """
            pub fn flatten(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if !x.is_contiguous() {
                    let data = x.data_vec()?;  //~ FT011
                    return Tensor::from_storage(TensorStorage::cpu(data), vec![x.numel()], false);
                }
                x.view(vec![x.numel()])
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
    )
    valid = (
        Example(
            "dispatch by storage, beside the storage that has the limit",
            """
            impl QStorage {
                fn dequantize(&self, n: usize) -> Result<Storage> {
                    match self {
                        QStorage::Cpu(storage) => Ok(Storage::Cpu(storage.dequantize(n)?)),
                        QStorage::Metal(storage) => Ok(Storage::Metal(storage.dequantize(n)?)),
                        QStorage::Cuda(storage) => Ok(Storage::Cuda(storage.dequantize(n)?)),
                    }
                }
            }
            """,
            path="store/src/storage.rs",
            others={
                **_STORE,
                "store/src/cuda.rs": """
impl QCudaStorage {
    pub fn dequantize(&self, n: usize) -> Result<CudaStorage> {
        let fast_kernel = matches!(self.dtype, Kind::Q4 | Kind::Q8);
        if fast_kernel {
            return launch_dequantize(&self.data, n, &self.device);
        }
        let buffer = self.device.dtoh_sync_copy(&self.data)?;
        let mut out = vec![0.0; n];
        widen(&buffer, &mut out);
        self.device.storage_of(&out)
    }
}
""",
            },
            profile="generic",
        ),
        Example(
            "rest refused",
            """
            pub fn conv(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() && is_f32::<f32>() {
                    let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
                    return wrap(backend.conv_f32(x.gpu_handle()?)?);
                }
                if x.is_cuda() {
                    return Err(FerrotorchError::NotImplementedOnCuda { op: "conv" });
                }
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(im2col(&data)), x.shape().to_vec(), false)
            }
            """,
            path="ferrotorch-core/src/lib.rs",
        ),
        Example(
            "rest for which there is no type",
            """
            pub trait GpuFloat: Float {}
            impl GpuFloat for f32 {}
            impl GpuFloat for f64 {}

            pub fn neg<T: GpuFloat>(x: &GpuTensor<T>) -> GpuResult<GpuTensor<T>> {
                if is_f32::<T>() {
                    gpu_neg(x)
                } else if is_f64::<T>() {
                    gpu_neg_f64(x)
                } else {
                    let host = gpu_to_cpu(&x.buffer, &x.device)?;
                    cpu_to_gpu(&negated(&host), &x.device)
                }
            }
            """,
        ),
        Example(
            "other kernel for small shapes",
            """
            pub fn gpu_matmul(a: &CudaBuffer<f32>, n: usize, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
                if n < 128 {
                    return launch(&small_kernel(d)?, a, d);
                }
                cublas_sgemm(a, n, d)
            }
            """,
        ),
    )

    def check(self, judgement: Judgement) -> Iterator[Candidate]:
        """Yield the host paths that a limited device path, or a layout test, leads to."""
        for path in judgement.paths.all:
            if path.trigger is Trigger.LIMIT:
                yield judgement.host_path_candidate(path, "limit-to-host")
