"""Examples of reads under other profiles: trees of which nothing is known, or whose words are a library's."""

from __future__ import annotations

from audit.rules.base import Example

PUNT_INVALID = (
    Example(
        "integers that are an operator's data: packed weights, and indices that become a tensor",
        """
        pub fn dequantize_rows(blocks: &Tensor, scale: f32) -> Result<Tensor> {
            let packed = blocks.to_device(&Device::Cpu)?.to_vec1::<u8>()?;  //~ FT005
            let rows: Vec<f32> = packed.iter().map(|byte| f32::from(*byte) * scale).collect();
            Tensor::from_vec(rows, blocks.shape(), blocks.device())
        }

        pub fn one_hot(indices: Tensor, depth: usize) -> Result<Tensor> {
            let mut out = vec![0.0; depth * indices.elem_count()];
            match indices.dtype() {
                DType::U8 => {
                    let indices = indices.to_vec1::<u8>()?;  //~ FT005
                    indices.iter().for_each(|&one| out[one as usize] = 1.0);
                }
                DType::U32 => {
                    let indices = indices.to_vec1::<u32>()?;
                    indices.iter().for_each(|&one| out[one as usize] = 1.0);
                }
                dtype => return Err(Error::UnsupportedDTypeForOp(dtype, "one-hot")),
            }
            Tensor::from_vec(out, (indices.elem_count(), depth), indices.device())
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "penalty that takes the logits to the host and back, for a model to go on with",
        """
        pub fn apply_repeat_penalty(logits: &Tensor, penalty: f32, seen: &[u32]) -> Result<Tensor> {
            let mut values = logits.to_vec1::<f32>()?;  //~ FT005
            for &token in seen {
                values[token as usize] /= penalty;
            }
            Tensor::from_vec(values, logits.shape(), logits.device())
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "buffer of a library read and computed on the host, where no profile fits",
        """
        pub fn scale(x: &CudaSlice<f32>, s: &Stream) -> Result<CudaSlice<f32>, Error> {
            let host = s.clone_dtoh(x)?;  //~ FT005
            let scaled: Vec<f32> = host.iter().map(|v| v * 2.0).collect();
            Ok(s.clone_htod(&scaled)?)
        }
        """,
        path="kernels/src/lib.rs",
        profile="generic",
    ),
    Example(
        "mapped buffer that is summed on the host, beside a call that yields nothing",
        """
        pub fn halved(gl: &Context, queue: &Queue, x: &Buffer) {
            unsafe { gl.blit_framebuffer(0, 0, x) };
            let host = unsafe { gl.read_buffer(x) };  //~ FT005
            let halves: Vec<u8> = host.iter().map(|one| one / 2).collect();
            queue.write_buffer(x, 0, &halves);
        }
        """,
        path="renderer/src/lib.rs",
        profile="wgpu",
    ),
)
PUNT_VALID = (
    Example(
        "attachment that a blit reads from, chosen by a call that yields nothing",
        """
        pub fn resolve(gl: &Context, target: u32, to: &Buffer) {
            unsafe { gl.bind_framebuffer(READ_FRAMEBUFFER, target) };
            unsafe { gl.read_buffer(target) };
            unsafe { gl.blit_framebuffer(0, 0, to) };
        }
        """,
        path="renderer/src/lib.rs",
        profile="wgpu",
    ),
    Example(
        "tensor of which nobody knows where it lives, where no profile fits",
        """
        pub fn scale(x: &Tensor<f32>) -> Tensor<f32> {
            let host = x.to_vec();
            let on_host = x.cpu().data();
            Tensor::from_vec(host.iter().zip(on_host).map(|(v, w)| v * w).collect())
        }

        pub fn main() {
            let client = Client::builder().cpu().build();
            client.run(1);
        }
        """,
        path="kernels/src/lib.rs",
        profile="generic",
    ),
    Example(
        "kernel beside a read that the names do not join",
        """
        pub fn openings(tree: &Tree<CudaSlice<u32>>, s: &Stream) -> Result<Proof, Error> {
            let paths = {
                let mut out = tree.room_for_paths();
                s.launch_kernel(PATHS, tree.grid(), &mut out)?;
                out
            };
            let host = s.clone_dtoh(&paths)?;
            Ok(Proof::of(host.iter().map(|v| v.swap_bytes())))
        }
        """,
        path="kernels/src/lib.rs",
        profile="generic",
    ),
    Example(
        "copy that is named as one",
        """
        pub fn copy_d2h(src: &CudaSlice<f32>, s: &Stream, dst: &mut Rows) -> Result<(), Error> {
            let host = s.clone_dtoh(src)?;
            for (row, value) in dst.rows_mut().zip(host) {
                row.set(value);
            }
            Ok(())
        }
        """,
        path="kernels/src/lib.rs",
        profile="generic",
    ),
)
READBACK_INVALID = (
    Example(
        "rows of a table that is loaded to the device",
        """
        fn load_table(path: &Path) -> Result<Tensor> {
            tensor_of(&std::fs::read(path)?, &Device::new_cuda(0)?)
        }

        fn row(table: &Tensor, index: usize) -> Result<Tensor> {
            Ok(table.get(index)?)
        }

        pub fn rows(files: &Files, wanted: &[usize], device: &Device) -> Result<Vec<Tensor>> {
            let table = load_table(&files.table)?;
            let mut found = Vec::new();
            for &index in wanted {
                let view = row(&table, index)?;
                let values = view.to_dtype(DType::F32)?.to_vec1::<f32>()?;  //~ FT008
                found.push(Tensor::from_vec(values, 4, &Device::Cpu)?.to_device(device)?);
            }
            Ok(found)
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "read behind a switch that is on, or that decides what comes out",
        """
        const CLAMPED: bool = true;

        impl Model {
            pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
                let mut h = launch_layers(self, x)?;
                if CLAMPED {
                    let values = h.to_vec1::<f32>()?;  //~ FT008
                    println!("{values:?}");
                }
                h = launch_layers(self, &h)?;
                if std::env::var("DEBUG_MODEL").is_ok() {
                    let values = h.to_vec1::<f32>()?.iter().map(|one| one.min(1.0)).collect();  //~ FT008
                    println!("{values:?}");
                    h = Tensor::new(values, &Device::Cpu)?.to_device(x.device())?;
                }
                Ok(h)
            }
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
)
READBACK_VALID = (
    Example(
        "rows of a table that is loaded to the host",
        """
        fn load_table(kind: Kind, path: &Path) -> Result<Tensor> {
            match kind {
                Kind::One => load_named(path, "one"),
                Kind::Other => load_named(path, "other"),
            }
        }

        fn load_named(path: &Path, name: &str) -> Result<Tensor> {
            tensor_of(&std::fs::read(path)?, name, &Device::Cpu)
        }

        fn row(table: &Tensor, index: usize) -> Result<Tensor> {
            Ok(table.get(index)?)
        }

        pub fn rows(files: &Files, wanted: &[usize], device: &Device) -> Result<Vec<Tensor>> {
            let table = load_table(files.kind, &files.table)?;
            let mut found = Vec::new();
            for &index in wanted {
                let view = row(&table, index)?;
                let values = view.to_dtype(DType::F32)?.to_vec1::<f32>()?;
                found.push(Tensor::from_vec(values, 4, &Device::Cpu)?.to_device(device)?);
            }
            Ok(found)
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "read that a debug switch guards, and that is printed or checked only",
        """
        const DEBUG_MODEL: bool = false;

        impl Model {
            pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
                let h = launch_layers(self, x)?;
                if DEBUG_MODEL && let Ok(values) = h.flatten_all()?.to_vec1::<f32>() {
                    println!("behind the layers: {:?}", &values[..5.min(values.len())]);
                }
                let is_debugged = std::env::var_os("MODEL_DEBUG_LAYERS").is_some();
                for layer in &self.layers {
                    launch_layer(layer, &h)?;
                    if is_debugged {
                        let values = h.to_vec1::<f32>()?;
                        let mut most = f32::NEG_INFINITY;
                        for one in &values {
                            most = most.max(*one);
                        }
                        eprintln!("largest={most} values_in_all={}", values.len());
                    }
                }
                if std::env::var("DUMP_MODEL").is_ok()
                    && let Ok(values) = h.to_vec1::<f32>()
                    && values.iter().any(|one| one.is_nan())
                {
                    println!("a NaN!");
                }
                Ok(h)
            }
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "answer for the user, behind the model",
        """
        pub fn scores(model: &Model, values: &[f32], device: &Device) -> Result<Vec<f32>> {
            let x = Tensor::new(values, &Device::Cpu)?.to_device(device)?;
            let rows = model.forward(&x)?.to_vec2::<f32>()?;
            let best = rows.iter().map(|row| row.iter().fold(0.0, |a: f32, b| a.max(*b)));
            Ok(best.collect())
        }

        impl Model {
            fn forward(&self, x: &Tensor) -> Result<Tensor> {
                launch_layers(self, x)
            }
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "download that is only ordered: it yields nothing here",
        """
        pub fn record(recording: &mut Recording, sizes: &Buffer) {
            recording.dispatch(SHADER, sizes);
            recording.download(*sizes);
            recording.free(sizes);
        }
        """,
        path="renderer/src/lib.rs",
        profile="wgpu",
    ),
    Example(
        "read-back into a type that says that it is on the host",
        """
        impl TensorGpu {
            pub fn contents(self, context: &Context) -> TensorCpu {
                context.queue.submit(Some(self.copy_out()));
                let slice = self.staging.slice(..);
                let data = Vec::from(bytes_of(&slice.get_mapped_range()));
                TensorCpu { shape: self.shape, data }
            }
        }
        """,
        path="renderer/src/lib.rs",
        profile="wgpu",
    ),
)
LOADED_VALID = (
    Example(
        "weights: filled into a table from a file, scaled by their loader's type, quantised once, looked at",
        """
        fn fill(map: &mut HashMap<String, Tensor>, path: &Path, device: &Device) -> Result<()> {
            for (name, weight) in load(path, device)? {
                map.insert(name, weight.to_device(&Device::Cpu)?.to_dtype(DType::F32)?.to_device(device)?);
            }
            Ok(())
        }

        pub struct Adapter {
            weights: VarBuilder,
        }

        impl Adapter {
            pub fn delta(&self, up: &Tensor, down: &Tensor) -> Result<Tensor> {
                let scales = self.weights.get("alpha")?.to_vec1::<f32>()?;
                let total: f32 = scales.iter().sum();
                up.matmul(down)? * total
            }
        }

        pub struct Linear {
            weight: Tensor,
        }

        impl Linear {
            pub fn quantize(&mut self, kind: Kind, device: &Device) -> Result<()> {
                let values = self.weight.to_vec1::<f32>()?;
                let blocks: Vec<f32> = values.iter().map(|v| v.round()).collect();
                self.weight = Tensor::from_vec(blocks, values.len(), device)?;
                Ok(())
            }
        }

        pub fn dbg_range(x: &Tensor) -> Result<()> {
            let values = x.to_vec1::<f32>()?;
            let largest = values.iter().fold(0.0, |a: f32, b| a.max(*b));
            log_range(largest);
            Ok(())
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
    Example(
        "picture of another crate's type: the end of the pipeline",
        """
        use pictures::Picture;

        pub fn decode(latent: &Tensor) -> Result<Picture> {
            let pixels = latent.to_vec1::<f32>()?;
            Ok(Picture::of(pixels.iter().map(|v| (v * 255.0) as u8).collect()))
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
)
LOADED_INVALID = (
    Example(
        "operator of a model that resizes on the host",
        """
        pub fn resize(x: &Tensor, rows: usize) -> Result<Tensor> {
            let values = x.to_vec1::<f32>()?;  //~ FT005
            let resized: Vec<f32> = (0..rows).map(|row| values[row / 2] * 0.5).collect();
            Tensor::from_vec(resized, rows, x.device())
        }
        """,
        path="model/src/lib.rs",
        profile="candle",
    ),
)
