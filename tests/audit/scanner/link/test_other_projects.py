"""What other projects than ferrotorch write, under profiles of their own."""

from __future__ import annotations

from audit.scanner.profile import load_profile
from tests.audit.scanner.project_fixture import MANIFEST, results_in, rules_in
from tests.audit.scanner.workspace_fixture import summarised


def test_a_move_to_the_host_that_computes_there_is_a_host_body() -> None:
    source = """
    pub fn nonzero(x: &Tensor) -> Result<Tensor> {
        x.to_device(&Device::Cpu)?.apply_op1(Nonzero)?.to_device(x.device())
    }
    """
    assert rules_in(source) == ["reference-punt"]
    assert rules_in(source.replace("&Device::Cpu", "&Device::Cuda(0)")) == []


def test_a_move_to_the_host_alone_is_no_result() -> None:
    source = """
    pub fn gathered(x: &Tensor) -> Result<Tensor> {
        let rows = x.to_device(&Device::Cpu)?;
        Ok(rows)
    }
    """
    assert rules_in(source) == []


def test_integers_that_are_read_are_metadata_where_the_profile_says_so() -> None:
    source = """
    pub fn pick(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let values = mask.to_vec1::<f32>()?;
        let rows = Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device())?;
        Ok(rows)
    }
    """
    assert rules_in(source) == ["reference-punt"]
    assert rules_in(source.replace("f32", "u32")) == []
    assert rules_in(source.replace("values =", "values: Vec<u32> =").replace("::<f32>", "")) == []


def test_integers_that_become_the_answer_are_data() -> None:
    source = """
    pub fn one_hot(labels: &Tensor) -> Result<Tensor> {
        let values = labels.to_vec1::<u32>()?;
        Tensor::from_vec(values.iter().map(|v| v + 1).collect(), labels.shape(), labels.device())
    }
    """
    assert rules_in(source) == ["reference-punt"]
    moved = source.replace("device())\n", "device())?.to_device(labels.device())\n")
    assert rules_in(moved) == ["reference-punt"]
    assert rules_in(source.replace("device())\n", "device())?.broadcast_mul(labels)\n")) == []
    assert rules_in(
        source.replace("Tensor::from_vec", "Ok(Tensor::from_vec").replace("())\n", "())?)\n")
    ) == ["reference-punt"]


def test_indices_that_the_device_has_found_are_data() -> None:
    source = """
    pub fn merge(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let found = mask.flatten_all()?.nonzero()?.squeeze(1)?;
        let rows = found.to_vec1::<i64>()?.iter().map(|row| x.i(*row)).collect::<Result<Vec<_>>>()?;
        Tensor::stack(&rows, 0)
    }
    """
    assert rules_in(source) != []
    assert (
        rules_in(source.replace("found.to_vec1", "mask.nonzero()?.to_vec1").replace("let found", "let _"))
        != []
    )
    assert rules_in(source.replace(".nonzero()?", "")) == []


def test_arms_for_the_types_of_one_tensor_share_a_result_and_those_of_two_have_two() -> None:
    source = """
    pub fn merged(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        match a.dtype() {
            DType::F32 => Tensor::from_vec(twice(a.to_vec1::<f32>()?), a.shape(), a.device()),
            _ => Tensor::from_vec(twice(a.to_vec1::<f64>()?), a.shape(), a.device()),
        }
    }
    """
    assert rules_in(source) == ["reference-punt"]
    assert rules_in(source.replace("a.to_vec1::<f64>", "b.to_vec1::<f64>")) == ["reference-punt"] * 2


def test_host_code_that_says_so_leaves_the_answer_to_its_callers() -> None:
    source = """
    fn scale_cpu(x: &Tensor) -> Result<Tensor> {
        let values = x.to_vec1::<f32>()?;
        Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device())
    }
    pub fn scale(x: &Tensor) -> Result<Tensor> {
        scale_cpu(x)
    }
    """
    assert [symbol for _, _, symbol in results_in(source)] == ["scale"]


def test_a_launch_through_a_module_of_foreign_functions_is_one() -> None:
    source = """
    pub fn topk(x: &Tensor) -> Result<Tensor> {
        if x.device().is_cuda() {
            unsafe { ffi::topk_f32(x.ptr()) };
            return Ok(x.clone());
        }
        let values = x.to_vec1::<f32>()?;
        Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device())
    }
    """
    # The host body serves the host alone: the device has left before.
    assert rules_in(source) == []


def test_a_macro_that_returns_an_error_refuses_device_data() -> None:
    source = """
    pub fn scale(x: &Tensor) -> Result<Tensor> {
        if x.device().is_cuda() {
            bail!("no kernel")
        }
        let values = x.to_vec1::<f32>()?;
        Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device())
    }
    """
    assert "reference-punt" not in rules_in(source)


def test_a_stub_counts_in_gpu_code_only() -> None:
    stub = "pub fn pool(x: &Tensor) -> Tensor { todo!() }"
    assert rules_in("mod cuda; mod cpu;", **{"src/cuda/mod.rs": stub}) == ["deferred-kernel"]
    assert rules_in("mod cuda; mod cpu;", **{"src/cpu.rs": stub}) == []


def test_a_stub_that_refuses_a_wrong_call_is_none() -> None:
    for message, found in (("not yet supported", ["deferred-kernel"]), ("not a matrix", [])):
        body = f'pub fn pool(x: &Tensor) -> Tensor {{ unimplemented!("{message}") }}'
        assert rules_in("mod cuda;", **{"src/cuda/mod.rs": body}) == found


def test_modules_of_tests_are_no_product_code() -> None:
    source = """
    pub fn scale(x: &Tensor) -> Result<Tensor> {
        let values = x.to_vec1::<f32>()?;
        Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device())
    }
    """
    assert rules_in("pub mod runtime_tests;", **{"src/runtime_tests.rs": source}) == []
    assert rules_in("pub mod contests;", **{"src/contests.rs": source}) == ["reference-punt"]


def test_packages_of_examples_and_macros_are_no_product_code() -> None:
    source = """
    pub fn scale(x: &Tensor) -> Result<Tensor> {
        let values = x.to_vec1::<f32>()?;
        Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device())
    }
    """
    for folder, rest, found in (
        ("my-examples/one", "", 0),
        ("derive", "[lib]\nproc-macro = true\n", 0),
        ("one", "", 1),
    ):
        manifest = f'[package]\nname = "one"\n{rest}'
        others = {f"{folder}/Cargo.toml": manifest, f"{folder}/src/lib.rs": source}
        assert rules_in("", **others) == ["reference-punt"] * found


def test_an_arm_for_another_operator_is_no_other_way() -> None:
    source = """
    pub fn eval(op: &str, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        match op {
            "Add" => Ok(launch_add(x, y)?),
            "Scale" => {
                let values = y.to_vec1::<f32>()?;
                Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device())
            }
            _ => bail!("unknown"),
        }
    }
    """
    assert "silent-fallback" not in rules_in(source)


def test_a_call_resolves_only_to_a_crate_that_the_caller_depends_on() -> None:
    library = "pub fn draw<R>(rng: &mut R) -> f32 { rng.sample_one(0.5) }"
    other = """
    pub struct Sampler;
    impl Sampler {
        pub fn sample_one(&self, p: f32) -> Result<Tensor> { launch_sample(p) }
    }
    """
    files = {"other/Cargo.toml": '[package]\nname = "other"\n', "other/src/lib.rs": other}
    assert _launching(library, files, "") == {"sample_one"}
    assert _launching(library, files, '[dependencies]\nother = { path = "other" }\n') == {
        "draw",
        "sample_one",
    }


def _launching(library: str, others: dict[str, str], rest: str) -> set[str]:
    summaries = summarised({"Cargo.toml": MANIFEST + rest, "src/lib.rs": library, **others})
    return {summaries.workspace.functions[index].name for index in summaries.launching}


def test_what_tests_hand_over_or_call_by_name_counts_as_tested_where_the_profile_presumes_it() -> None:
    kernel = "pub fn cuda_cast(x: &CudaStorage) -> Result<()> { launch_cast(x) }"
    untested = [("missing-gpu-test", "src/cuda.rs", "cuda_cast")]
    assert results_in("mod cuda;", **{"src/cuda.rs": kernel}) == untested
    assert (
        results_in("mod cuda; pub fn op() -> Op { Op::new(cuda::cuda_cast) }", **{"src/cuda.rs": kernel})
        == []
    )
    test = "test_device!(cast, cast_cpu, cast_gpu); fn cast(d: &Device) { cuda_cast(d) }"
    assert results_in("mod cuda;", **{"src/cuda.rs": kernel, "tests/cast.rs": test}) == []
    presumed = load_profile("ferrotorch").tests.presumed_patterns
    assert presumed == ()


def test_one_number_that_is_read_steers_the_host_where_the_profile_says_so() -> None:
    source = """
    pub fn refine(x: &Tensor, error: &Tensor) -> Result<Tensor> {
        let error = error.abs()?.mean_all()?.to_scalar::<f32>()?;
        if error < 0.1 {
            return Ok(x.clone());
        }
        x.affine(2.0, 0.0)
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("to_scalar", "to_vec1")) == ["reference-punt"]


def test_elements_at_fixed_places_are_parameters_and_no_data() -> None:
    source = """
    pub fn grid(x: &Tensor, sizes: &Tensor) -> Result<Tensor> {
        let data = block_on(sizes.to_vec1::<f32>()).unwrap();
        assert!(data.len() == 2);
        x.reshape((data[0] as usize, data[1] as usize))
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("data[0] as usize", "total(&data)")) == ["reference-punt"]
    assert rules_in(source.replace("data[0] as usize", "total(&data[1])")) == ["reference-punt"]


def test_host_code_by_name_refuses_device_data_as_it_likes() -> None:
    source = """
    pub fn attend_cpu(x: &Tensor) -> Result<Tensor> {
        if x.device().is_cuda() {
            return Err(Error::Msg("not supported".into()));
        }
        Ok(x.clone())
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("attend_cpu", "attend")) == ["unstructured-error"]


def test_what_goes_into_an_answer_to_the_user_is_the_end_of_the_pipeline() -> None:
    source = """
    pub async fn step(x: Tensor, sequences: &[Sequence]) -> Result<Tensor> {
        if x.rank() == 2 {
            send_embedding_responses(sequences, x.to_vec2::<f32>()?).await?;
        }
        x.affine(2.0, 0.0)
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("send_embedding_responses", "shifted")) != []


def test_a_move_to_the_host_before_a_list_is_returned_makes_no_tensor() -> None:
    source = """
    pub fn embed(x: &Tensor) -> Result<Vec<Vec<f32>>> {
        let rows = x.to_device(&Device::Cpu)?.to_vec2::<f32>()?;
        Ok(rows)
    }
    """
    assert rules_in(source) == []


def test_a_function_that_goes_on_with_operators_has_no_host_body() -> None:
    source = """
    pub fn masked(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let flags = mask.to_vec1::<f32>()?;
        let rows: Vec<u32> = flags.iter().enumerate().filter(|(_, v)| **v > 0.0).map(|(i, _)| i).collect();
        let rows = Tensor::from_vec(rows, rows.len(), x.device())?;
        x.index_select(&rows, 0)
    }
    """
    assert rules_in(source) == ["host-readback"]
    assert rules_in(source.replace("x.index_select(&rows, 0)", "Ok(rows)")) == ["reference-punt"]
    assert rules_in(source.replace("x.index_select(&rows, 0)", "x * rows")) == ["host-readback"]


def test_operators_on_a_tensor_that_was_moved_to_the_host_run_there() -> None:
    source = """
    pub fn masked(mask: &Tensor, window: &Tensor) -> Result<Tensor> {
        let moved = mask.to_device(&Device::Cpu)?.to_dtype(DType::U8)?;
        moved.where_cond(window, window)?.to_device(mask.device())
    }
    """
    assert rules_in(source) == ["reference-punt"]


def test_a_function_that_is_given_the_weights_loads() -> None:
    source = """
    pub fn linear(weights: VarBuilder) -> Result<Tensor> {
        let order = weights.get("order")?;
        order.to_device(&Device::Cpu)?.arg_sort_last_dim(true)
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("weights: VarBuilder", "weights: &Tensor")) == ["reference-punt"]


def test_a_check_of_an_argument_reads_no_data() -> None:
    source = """
    pub fn lstm(x: &Tensor, peepholes: &Tensor) -> Result<Tensor> {
        let is_zero = peepholes.to_vec1::<f32>()?.iter().all(|v| *v == 0.0);
        if !is_zero {
            bail!("peepholes are not supported");
        }
        x.affine(2.0, 0.0)
    }
    """
    assert rules_in(source) == []
    assert (
        rules_in(source.replace("if !is_zero {", "if !is_zero { touch(is_zero);\n }\n if x.rank() > 9 {"))
        != []
    )


def test_a_change_of_layout_is_no_device_work() -> None:
    source = """
    impl Tensor {
        pub fn reshape(&self, rank: usize) -> Result<Tensor> {
            launch_copy(self, rank)
        }
    }
    pub fn resized(x: &Tensor) -> Result<Tensor> {
        let rows = x.reshape(2)?;
        let values = rows.to_vec1::<f32>()?;
        Tensor::from_vec(interpolated(&values), 2, x.device())
    }
    """
    assert rules_in(source) == ["reference-punt"]
    assert rules_in(source.replace("reshape", "softmax_rows")) == ["host-readback"]


def test_only_a_text_of_the_type_that_is_answered_is_a_text() -> None:
    source = """
    mod config;
    mod alias;
    pub enum Error { Kernel(Cause), Start(Cause), UnexpectedDType(String), Plain(String) }

    pub fn start(device: &Device, dtype: DType) -> std::result::Result<Model, Error> {
        match device {
            Device::Cuda(_) => Err(Error::Start(Cause::of(format!("{dtype:?} is not supported")))),
            _ => Ok(Model::plain(device)),
        }
    }
    """
    own = "/// Was Kernel(String).\npub enum Error { Start(String) }\n"
    config = {"src/config.rs": own, "src/alias.rs": own, "src/other/mod.rs": own}
    assert rules_in(source, **config) == []
    for variant, found in (("Plain", ["unstructured-error"]), ("Kernel", []), ("UnexpectedDType", [])):
        assert rules_in(source.replace("Error::Start", f"Error::{variant}"), **config) == found
    log = source.replace('format!("{dtype:?} is not supported")', "launched(device)")
    assert rules_in(log.replace("Error::Start", "Error::Plain"), **config) == []
    cause = source.replace("Err(Error::Start(", "Err(Error::Other(1).context(Error::Plain(")
    assert rules_in(cause.replace('supported")))', 'supported"))))'), **config) == []


def test_a_transfer_of_the_device_reads_what_it_is_given() -> None:
    source = """
    pub struct CudaDevice { ordinal: usize }

    impl CudaDevice {
        pub fn clone_dtoh(&self, src: &CudaSlice<f32>) -> Result<Vec<f32>> {
            self.stream().copy(src)
        }
    }

    pub struct QCudaStorage { device: CudaDevice, data: CudaSlice<u8> }

    impl QCudaStorage {
        pub fn quantize(&mut self, src: &CudaStorage) -> Result<()> {
            let src = match &src.slice {
                CudaStorageSlice::F32(data) => self.device.clone_dtoh(data)?,
                _ => bail!("only f32"),
            };
            self.data = self.device.clone_htod(&quantized(&src))?;
            Ok(())
        }
    }
    """
    found = results_in("mod cuda;", **{"src/cuda.rs": source})
    assert [(rule, symbol) for rule, _, symbol in found if rule != "missing-gpu-test"] == [
        ("fake-gpu-function", "quantize")
    ]


def test_scores_that_decide_what_is_kept_and_are_noted_in_a_record_are_no_data() -> None:
    source = """
    pub fn detect(x: &Tensor) -> Result<Vec<Found<Tensor>>> {
        let scores = x.flatten(0, 1)?.to_vec1::<f32>()?;
        let mut found = Vec::new();
        for (i, score) in scores.iter().enumerate() {
            if *score < 0.5 {
                continue;
            }
            let data = Tensor::from_vec(vec![i as f32], 1, x.device())?;
            found.push(Found { confidence: *score, data });
        }
        Ok(found)
    }
    """
    assert rules_in(source) == []
    assert rules_in(source.replace("vec![i as f32]", "vec![score * 2.0]")) == ["reference-punt"]


def test_not_on_one_kind_of_device_is_on_the_host_or_on_another() -> None:
    source = """
    pub fn sort(x: &Tensor) -> Result<Tensor> {
        if !x.device().is_metal() {
            let values = x.to_vec1::<f32>()?;
            return Tensor::from_vec(values.iter().map(|v| v + 1.0).collect(), x.shape(), x.device());
        }
        x.matmul(x)
    }
    """
    assert rules_in(source) == ["host-readback"]
    assert rules_in(source.replace("is_metal", "is_cuda")) == []
    assert rules_in(source.replace("!x.device().is_metal()", "x.device().is_cpu()")) == []


def test_operators_on_the_local_that_holds_what_was_moved_run_on_the_host() -> None:
    source = """
    pub fn attend(x: &Tensor) -> Result<Tensor> {
        let moved = x.to_device(&Device::Cpu)?;
        let weights = softmax(&moved, 1)?;
        weights.to_device(x.device())
    }
    """
    assert rules_in(source) == ["reference-punt"]
    assert rules_in(source.replace("softmax(&moved, 1)", "kept(&moved)")) == []


def test_a_host_device_in_place_of_one_that_does_not_open_is_a_fallback() -> None:
    source = """
    pub fn device() -> Device {
        Device::new_cuda(0).unwrap_or(Device::Cpu)
    }
    pub fn any_device() -> Result<Device> {
        match Device::new_metal(0) {
            Ok(device) => Ok(device),
            Err(_) => Ok(Device::Cpu),
        }
    }
    pub fn chosen(wants_cuda: bool) -> Result<Device> {
        if wants_cuda { Device::new_cuda(0) } else { Ok(Device::Cpu) }
    }
    """
    assert [symbol for _, _, symbol in results_in(source)] == ["device", "any_device"]
