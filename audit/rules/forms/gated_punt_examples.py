"""Examples of `reference-punt`: host bodies that answer for what their callers ask, or have made."""

from __future__ import annotations

from audit.rules.base import Example

GATED_INVALID = (
    Example(
        "host body that one of its callers calls without the gate",
        """
        fn check_opt_in(inputs: &[&Tensor<f32>], op: &'static str) -> FerrotorchResult<()> {
            if !inputs.iter().any(|t| t.is_cuda()) {
                return Ok(());
            }
            if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                tracing::warn!(op, "on the host; unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
                return Ok(());
            }
            Err(FerrotorchError::NotImplementedOnCuda { op })
        }

        pub fn halved(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            check_opt_in(&[x], "halved")?;
            halves(x)
        }

        pub fn quartered(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            halves(&halves(x)?)
        }

        fn halves(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let out = x.data_vec()?.iter().map(|v| v * 0.5).collect();  //~ FT005
            Tensor::from_storage(TensorStorage::cpu(out), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "host body that one caller calls for any tensor",
        """
        pub fn scan(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() {
                return launch_scan(x);
            }
            scanned(x)
        }

        pub fn scan_twice(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            scanned(&scanned(x)?)
        }

        fn scanned(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;  //~ FT005
            let out = data.iter().map(|v| v + 1.0).collect();
            Tensor::from_storage(TensorStorage::cpu(out), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "private host body that one of its two callers calls without asking",
        """
        fn check_opt_in(inputs: &[&Tensor<f32>], op: &'static str) -> FerrotorchResult<()> {
            if !inputs.iter().any(|t| t.is_cuda()) {
                return Ok(());
            }
            if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                tracing::warn!(op, "on the host; unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
                return Ok(());
            }
            Err(FerrotorchError::NotImplementedOnCuda { op })
        }

        pub struct Spread {
            probs: Tensor<f32>,
        }

        impl Spread {
            pub fn sample(&self, shape: &[usize]) -> FerrotorchResult<Tensor<f32>> {
                check_opt_in(&[&self.probs], "sample")?;
                self.drawn(shape)
            }

            pub fn rsample(&self, shape: &[usize]) -> FerrotorchResult<Tensor<f32>> {
                self.drawn(shape)
            }

            fn drawn(&self, shape: &[usize]) -> FerrotorchResult<Tensor<f32>> {
                let probs = self.probs.data_vec()?;  //~ FT005
                let out = probs.iter().map(|p| p * 0.5).collect();
                Tensor::from_storage(TensorStorage::cpu(out), shape.to_vec(), false)
            }
        }
        """,
        path="ferrotorch-distributions/src/lib.rs",
    ),
    Example(
        "body given to a host helper",
        """
        fn unary_map(x: &Tensor<f32>, f: impl Fn(f32) -> f32) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;
            let out = data.iter().map(|&v| f(v)).collect();
            Tensor::from_storage(TensorStorage::cpu(out), x.shape().to_vec(), false)
        }

        pub fn softsign(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            unary_map(x, |v| v / (1.0 + v.abs()))  //~ FT005
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "read by a helper that fills a list: the operator is reported, not the helper",
        """
        fn fill(values: &mut Vec<f32>, x: &Tensor<f32>) -> FerrotorchResult<()> {
            values.clear();
            values.extend(x.data_vec()?);
            Ok(())
        }

        pub fn norm(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let mut values = Vec::new();
            fill(&mut values, x)?;  //~ FT005
            let total: f32 = values.iter().map(|v| v * v).sum();
            Tensor::from_storage(TensorStorage::cpu(vec![total.sqrt()]), vec![1], false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
)

GATED_VALID = (
    Example(
        "device tensors refused in a helper",
        """
        fn require_cpu(t: &Tensor<f32>, op: &'static str) -> FerrotorchResult<()> {
            if t.is_cuda() {
                return Err(FerrotorchError::NotImplementedOnCuda { op });
            }
            Ok(())
        }

        pub fn det(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            require_cpu(x, "det")?;
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), vec![1], false)
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "host body that its callers call for host tensors",
        """
        pub fn scan(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() {
                return launch_scan(x);
            }
            scanned(x)
        }

        fn scanned(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;
            let out = data.iter().map(|v| v + 1.0).collect();
            Tensor::from_storage(TensorStorage::cpu(out), x.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "private host body that all its callers call behind the gate",
        """
        fn check_opt_in(inputs: &[&Tensor<f32>], op: &'static str) -> FerrotorchResult<()> {
            if !inputs.iter().any(|t| t.is_cuda()) {
                return Ok(());
            }
            if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok() {
                tracing::warn!(op, "on the host; unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
                return Ok(());
            }
            Err(FerrotorchError::NotImplementedOnCuda { op })
        }

        pub struct Spread {
            probs: Tensor<f32>,
        }

        impl Spread {
            pub fn sample(&self, shape: &[usize]) -> FerrotorchResult<Tensor<f32>> {
                check_opt_in(&[&self.probs], "sample")?;
                self.drawn(shape)
            }

            pub fn rsample(&self, shape: &[usize]) -> FerrotorchResult<Tensor<f32>> {
                check_opt_in(&[&self.probs], "rsample")?;
                self.drawn(shape)
            }

            fn drawn(&self, shape: &[usize]) -> FerrotorchResult<Tensor<f32>> {
                let probs = self.probs.data_vec()?;
                let out = probs.iter().map(|p| p * 0.5).collect();
                Tensor::from_storage(TensorStorage::cpu(out), shape.to_vec(), false)
            }

            pub fn halved(&self) -> FerrotorchResult<Tensor<f32>> {
                check_opt_in(&[&self.probs], "halved")?;
                halves(&self.probs)
            }
        }

        fn halves(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let out = x.data_vec()?.iter().map(|v| v * 0.5).collect();
            let halved = Tensor::from_storage(TensorStorage::cpu(out), x.shape().to_vec(), false)?;
            halved.to(x.device())
        }
        """,
        path="ferrotorch-distributions/src/lib.rs",
    ),
    Example(
        "table that a function without tensors made on the host",
        """
        pub struct Anchors {
            strides: Vec<usize>,
        }

        impl Anchors {
            pub fn grid(&self, side: usize) -> FerrotorchResult<Tensor<f32>> {
                let cells = (0..side).map(|i| (i * self.strides[0]) as f32).collect();
                Tensor::from_storage(TensorStorage::cpu(cells), vec![side], false)
            }
        }

        pub struct Proposals {
            anchors: Anchors,
        }

        impl Proposals {
            pub fn centres(&self, side: usize) -> FerrotorchResult<Tensor<f32>> {
                let grid: Tensor<f32> = self
                    .anchors
                    .grid(side)?;
                let data = grid.data_vec()?;
                let moved = data.iter().map(|x| x + 0.5).collect();
                Tensor::from_storage(TensorStorage::cpu(moved), vec![side], false)
            }
        }
        """,
        path="ferrotorch-vision/src/lib.rs",
    ),
    Example(
        "data that never was on a device",
        """
        pub fn noise(shape: &[usize]) -> FerrotorchResult<Tensor<f32>> {
            let u = creation::rand(shape)?;
            let data = u.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), shape.to_vec(), false)
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
)
