"""Examples of the rule `comment-only-gap`."""

from __future__ import annotations

from audit.rules.base import Example

INVALID = (
    Example(
        "what is lacking, at the line that says it",
        """
        /// Running sum of each row.
        ///
        /// There is no GPU kernel for this yet, CUDA inputs go through the host.  //~ FT014
        pub fn cumsum(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(running_sum(&data)), x.shape().to_vec(), false)
        }

        // Higher ranks are materialised in host memory.  //~ FT014
        pub fn dense(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() && x.ndim() <= 8 {
                return launch_copy(x);
            }
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::on_device(data, x.device())?, x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "gap that the documentation tells twice: at the operator, not at the helper that only it calls",
        """
        /// Copies on the device. Higher ranks or missing backends fall back to the host.  //~ FT014
        pub fn dense(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() && x.ndim() <= 8 {
                return launch_copy(x);
            }
            dense_cpu(x)
        }

        /// CPU path, used as a fallback when the fast path declines.
        fn dense_cpu(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::on_device(data, x.device())?, x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "dtype gap in a comment",
        """
        pub fn split(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() && is_f32(x) {
                return launch_split(x);
            }
            // CPU path (also serves as fallback for non-f32 or missing backend).  //~ FT014
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "case that is routed to the host",
        """
        pub fn irfft(x: &Tensor<f32>, n: usize) -> FerrotorchResult<Tensor<f32>> {
            // Other lengths wait: that case still routes through the host below.  //~ FT014
            if x.is_cuda() && n == x.numel() {
                return launch_irfft(x);
            }
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "gap in the documentation",
        """
        /// Gathers on the device up to rank 8. Higher ranks fall back to the  //~ FT014
        /// host if there is no backend.
        pub fn gather(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() && x.ndim() <= 8 {
                return launch_gather(x);
            }
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "fallbacks that happen, in words that also deny",
        """
        pub fn step(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            // No CUDA kernel for f16 yet: runs on the CPU.  //~ FT014
            wrap(x.data_vec()?)
        }

        pub fn sum(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            // When the kernel declines, fall back to the CPU copy of the GPU product.  //~ FT014
            wrap(x.data_vec()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
)

VALID = (
    Example(
        "refusal that the text tells as the case's answer",
        """
        /// `T = f64` on CUDA falls through to the structured `Err` path, as the kernel is not yet
        /// implemented: rather than host work in silence, the dispatcher raises.
        pub fn step(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "what broke down is no case that could be asked about",
        """
        pub fn step(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if let Some(buffer) = room_for(x) {
                return launch_step(x, buffer);
            }
            // Fall through to the CPU path if the allocation failed.
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "constant that is made on the host",
        """
        pub fn spread(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let first = x.data_vec()?[0];
            // Fills on the device; falls back to the CPU build and an upload for other dtypes.
            if let Some(filled) = try_fill(x, first)? {
                return Ok(filled);
            }
            wrap(vec![first; x.numel()])?.to(x.device())
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "stale comment beside a refusal",
        """
        pub fn split(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() {
                return Err(FerrotorchError::NotImplementedOnCuda { op: "split" });
            }
            // CPU path (also serves as fallback for non-f32 or missing backend).
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "case that the host notices",
        """
        /// The empty case is detected on the host.
        pub fn mean(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "falling back to another way in a text that names the host for something else",
        """
        pub fn rearrange(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            // General way: permute, then copy. Its memory comes from the CPU allocator.
            // If an operator declines the shape, we fall back to the index walk below.
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "falling back that is denied",
        """
        /// For other dtypes it gives `NotImplementedOnCuda` instead of falling through to a host fold.
        pub fn fold(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() && is_f32(x) {
                return launch_fold(x);
            }
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "fallbacks that do not happen, would happen, or are on the device",
        """
        /// Gaps of dtypes surface as errors instead of a silent host fallback.
        pub fn scale(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            wrap(x.data_vec()?)
        }

        /// The fallback for a mask that is on the host is therefore unreachable.
        pub fn scatter(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            wrap(x.data_vec()?)
        }

        pub fn step(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            // For other dtypes falling through to the CPU lane would put the step there.
            wrap(x.data_vec()?)
        }

        pub fn sparse(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            // When the library declines, fall back to the dense GPU product. No CUDA input returns
            // to the CPU.
            wrap(x.data_vec()?)
        }

        pub fn pack(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            // The layout itself is host-resident.
            wrap(x.data_vec()?)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "branch of who opted in",
        """
        pub fn split(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() && is_f32(x) {
                return launch_split(x);
            }
            if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                // Other dtypes fall through to the CPU path if they get here.
                tracing::warn!("split on the host");
            }
            // If FERROTORCH_ENABLE_GPU_FALLBACK was set, other dtypes fall through to the CPU path.
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "heading",
        """
        pub fn scale(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() {
                return launch_scale(x);
            }
            // CPU path
            let data = x.data()?;
            Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "comment above a fallback that is a result of its own",
        """
        pub fn penalized(logits: &Tensor, penalty: f32) -> Result<Tensor> {
            // Fall back to the CPU when no AMD GPU is present.
            let device = Device::new_cuda(0).unwrap_or(Device::Cpu);
            let values = logits.to_vec1::<f32>()?;
            let values = values.iter().map(|one| one / penalty).collect::<Vec<f32>>();
            Tensor::from_vec(values, logits.shape(), &device)
        }
        """,
        profile="candle",
    ),
)
