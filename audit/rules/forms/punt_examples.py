"""Examples of `reference-punt`: more than fit into its module."""

from __future__ import annotations

from audit.rules.base import Example

INVALID = (
    Example(
        "constant in the shape of a tensor that may be on the device, left on the host",
        """
        pub struct Cauchy {
            loc: Tensor<f32>,
        }

        impl Distribution for Cauchy {
            fn mean(&self) -> FerrotorchResult<Tensor<f32>> {
                let n: usize = self.loc.shape().iter().product();
                Tensor::from_storage(
                    TensorStorage::cpu(vec![f32::NAN; n.max(1)]),  //~ FT005
                    self.loc.shape().to_vec(),
                    false,
                )
            }
        }
        """,
        path="ferrotorch-distributions/src/lib.rs",
    ),
    Example(
        "tensor that is filled on the host",
        """
        impl Tensor<f32> {
            pub fn fill_(&self, value: f32) -> FerrotorchResult<&Self> {
                let filled = vec![value; self.numel()];
                unsafe { self.update_data(&filled)? };  //~ FT005
                Ok(self)
            }
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "detections of layers that refuse the device only where no backend is there",
        """
        pub struct Norm {
            scale: f32,
        }

        pub struct HostNorm {
            scale: f32,
        }

        impl Module for Norm {
            fn forward(&self, x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    if let Some(backend) = gpu_backend() {
                        return wrap(backend.norm_f32(x.gpu_handle()?)?);
                    }
                    return Err(FerrotorchError::NotImplementedOnCuda { op: "norm" });
                }
                host_norm(x.data()?)
            }
        }

        impl Module for HostNorm {
            fn forward(&self, x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                if x.is_cuda() {
                    return Err(FerrotorchError::NotImplementedOnCuda { op: "norm" });
                }
                host_norm(x.data()?)
            }
        }

        pub struct Detector {
            norm: Norm,
        }

        impl Detector {
            pub fn found(&self, x: &Tensor<f32>) -> FerrotorchResult<Vec<Tensor<f32>>> {
                let mut levels = Vec::new();
                levels.push(Module::forward(&self.norm, x)?);
                let scores = levels[0].data_vec()?;  //~ FT005
                let kept: Vec<f32> = scores.iter().copied().filter(|s| *s > 0.5).collect();
                let n = kept.len();
                Ok(vec![Tensor::from_storage(TensorStorage::cpu(kept), vec![n], false)?])
            }
        }
        """,
        path="ferrotorch-vision/src/lib.rs",
    ),
    Example(
        "data that goes on to an operator which refuses the device, as a tensor of the host",
        """
        pub fn aggregate(x: &Tensor<f32>, rows: &[usize]) -> FerrotorchResult<Tensor<f32>> {
            let data = x.data_vec()?;  //~ FT005
            let picked: Vec<f32> = rows.iter().map(|r| data[*r]).collect();
            let n = picked.len();
            let messages = Tensor::from_storage(TensorStorage::cpu(picked), vec![n], false)?;
            let summed = segments(&messages, rows)?;
            let values = summed.data_vec()?;
            let out = values.iter().map(|v| v + 1.0).collect();
            Tensor::from_storage(TensorStorage::cpu(out), vec![n], false)
        }

        fn segments(x: &Tensor<f32>, rows: &[usize]) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() {
                return Err(FerrotorchError::NotImplementedOnCuda { op: "segments" });
            }
            Tensor::from_storage(TensorStorage::cpu(sums(x.data()?, rows)), vec![rows.len()], false)
        }
        """,
        path="ferrotorch-graph/src/lib.rs",
    ),
    Example(
        "norm that an optimizer takes on the host at each step",
        """
        fn inf_norm(v: &Tensor<f32>) -> FerrotorchResult<f64> {
            let data = v.data_vec()?;  //~ FT005
            let mut most = 0.0_f64;
            for x in data {
                most = most.max(f64::from(x.abs()));
            }
            Ok(most)
        }
        """,
        path="ferrotorch-optim/src/lbfgs.rs",
    ),
    Example(
        "operator that returns one element",
        """
        pub fn det<T: Float>(x: &Tensor<T>) -> FerrotorchResult<T> {
            let mut a = x.data_vec()?;  //~ FT005
            Ok(eliminated(&mut a))
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "host loop, result uploaded again",
        """
        pub fn log_prob(&self, value: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            let device = value.device();
            let data = value.data_vec()?;  //~ FT005
            let out: Vec<f32> = data.iter().map(|x| x.ln()).collect();
            Tensor::from_storage(TensorStorage::cpu(out), value.shape().to_vec(), false)?.to(device)
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
)

VALID = (
    Example(
        "host list that somebody asked for, and devices told by a tuple",
        """
        pub fn weights<T: Float>(x: &Tensor<T>) -> TorchResult<Vec<T>> {
            x.data_vec()
        }

        pub fn scatter<T: Float>(dst: &Tensor<T>, src: &Tensor<T>) -> FerrotorchResult<Tensor<T>> {
            match (dst.is_cuda(), src.is_cuda()) {
                (false, false) => {}
                _ => return Err(FerrotorchError::NotImplementedOnCuda { op: "scatter" }),
            }
            let out = dst.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(out), dst.shape().to_vec(), false)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "device tensors refused first",
        """
        pub fn unique(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
            if x.is_cuda() {
                return Err(FerrotorchError::NotImplementedOnCuda { op: "unique" });
            }
            let data = x.data_vec()?;
            Tensor::from_storage(TensorStorage::cpu(data), vec![1], false)
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "constant that goes where its tensor is, and one whose shape is a number",
        """
        pub struct Cauchy {
            loc: Tensor<f32>,
        }

        impl Distribution for Cauchy {
            fn mean(&self) -> FerrotorchResult<Tensor<f32>> {
                let n: usize = self.loc.shape().iter().product();
                let out = Tensor::from_storage(
                    TensorStorage::on_device(vec![f32::NAN; n], self.loc.device())?,
                    self.loc.shape().to_vec(),
                    false,
                )?;
                Ok(out)
            }

            fn zeros(&self, n: usize) -> FerrotorchResult<Tensor<f32>> {
                Tensor::from_storage(TensorStorage::cpu(vec![0.0; n]), vec![n], false)
            }
        }
        """,
        path="ferrotorch-distributions/src/lib.rs",
    ),
    Example(
        "parts of a tensor that are loaded from files",
        """
        pub fn joined(folder: &Path, parts: usize) -> FerrotorchResult<Tensor<f32>> {
            let mut values = Vec::new();
            for part in 0..parts {
                let tensor = load(&folder.join(part.to_string()))?;
                values.extend(tensor.data_vec()?);
            }
            let tensor = Tensor::from_storage(TensorStorage::cpu(values), vec![parts], false)?;
            Ok(tensor)
        }
        """,
        path="ferrotorch-core/src/lib.rs",
    ),
    Example(
        "request that is answered with what a model has read",
        """
        pub struct Model {
            weight: Tensor<f32>,
        }

        impl Model {
            pub fn embed(&self, ids: &[u32]) -> FerrotorchResult<Vec<f32>> {
                pooled(&self.weight, ids)?.data_vec()
            }
        }

        pub async fn answer(state: State<Arc<Served>>, request: Json<Request>) -> Reply {
            match state.model.read().embed(&request.ids) {
                Ok(vector) => Reply::json(vector.iter().map(|v| v * 2.0).collect()),
                Err(error) => Reply::failed(error),
            }
        }
        """,
        path="ferrotorch-nn/src/serve.rs",
    ),
    Example(
        "operator that copies off the device, and data that goes to a file",
        """
        impl Operator for CopyFromDevice {
            fn process(&mut self, x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let data = x.data_vec()?;
                Tensor::from_storage(TensorStorage::cpu(data), x.shape().to_vec(), false)
            }
        }

        impl Operator for Inspect {
            fn process(&mut self, x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
                let data = x.data_vec()?;
                let mut file = File::create(&self.name)?;
                file.write_all(&bytes_of(&data))?;
                Ok(x.clone())
            }
        }
        """,
        path="ferrotorch-nn/src/lib.rs",
    ),
    Example(
        "data that is sent to the user",
        """
        pub struct Session {
            out_tx: Sender<Event>,
            vocoder: Vocoder,
        }

        impl Session {
            pub fn answer(&self, codes: &Tensor<f32>) -> FerrotorchResult<()> {
                let sound = self.vocoder.decode(codes)?.data_vec()?;
                for chunk in sound.chunks(1920) {
                    self.out_tx.send(Event::Sound(chunk.to_vec()))?;
                }
                Ok(())
            }
        }
        """,
        path="ferrotorch-nn/src/serve.rs",
    ),
)
