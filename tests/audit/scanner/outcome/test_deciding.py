"""What became of a result, seen in small workspaces before and after an edit."""

from __future__ import annotations

import textwrap

import pytest

from audit.rules import RULES
from audit.scanner.pipeline import scan
from audit.scanner.profile import load_profile
from audit.scanner.report import EarlierResult, Outcome, ScanReport, SiteOutcome
from audit.scanner.source.memory import MemorySource
from tests.audit.scanner.workspace_fixture import as_bytes

GPU = "ferrotorch-gpu/src/lib.rs"
CORE = "ferrotorch-core/src/lib.rs"

SILENT = """
pub fn gpu_scale(a: &CudaBuffer<f32>, s: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = match get_or_compile(device.context(), SCALE_PTX, "scale_kernel") {
        Ok(f) => f,
        Err(_) => {
            let host = gpu_to_cpu(a, device)?;
            return cpu_to_gpu(&host.iter().map(|x| x * s).collect::<Vec<_>>(), device);
        }
    };
    launch(&f, a, device)
}
"""
PUNT = """
pub fn erf(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
    let host = x.data_vec()?;
    Tensor::from_storage(TensorStorage::cpu(host.iter().map(|v| v + 1.0).collect()), x.shape().to_vec())
}
"""
CHECK = """
const FALLBACK_ENV_VAR: &str = "FERROTORCH_ENABLE_GPU_FALLBACK";

fn check_opt_in(inputs: &[&Tensor<f32>], op: &'static str) -> FerrotorchResult<()> {
    if !inputs.iter().any(|one| one.is_cuda()) {
        return Ok(());
    }
    if std::env::var(FALLBACK_ENV_VAR).is_ok() {
        tracing::warn!(op, "computing on the host; unset {FALLBACK_ENV_VAR} to make this an error");
        return Ok(());
    }
    Err(FerrotorchError::NotImplementedOnCuda { op })
}
"""


def _scan(path: str, text: str, earlier: list[EarlierResult] | None = None) -> ScanReport:
    files = {
        "Cargo.toml": '[workspace]\nmembers = ["ferrotorch-gpu", "ferrotorch-core"]\n',
        "ferrotorch-gpu/Cargo.toml": '[package]\nname = "ferrotorch-gpu"\n[features]\ncuda = []\n',
        "ferrotorch-core/Cargo.toml": '[package]\nname = "ferrotorch-core"\n[features]\ncuda = []\n',
        path: textwrap.dedent(text),
    }
    return scan(MemorySource(as_bytes(files)), profile=load_profile(), rules=RULES, earlier=earlier or ())


def became(path: str, before: str, after: str, rule_id: str) -> SiteOutcome | None:
    """Return what the scan of `after` says of the only result of a rule in `before`."""
    [result] = [one for one in _scan(path, before).results if one.rule_id == rule_id]
    asked = EarlierResult(
        7,
        result.rule_id,
        result.symbol,
        result.path,
        result.form,
        result.partial_fingerprints,
    )
    return _scan(path, after, [asked]).outcomes.get(7)


def word(outcome: SiteOutcome | None) -> str | None:
    return outcome.outcome.value if outcome else None


@pytest.mark.parametrize(
    "answer",
    [
        'Err(source) => return Err(GpuError::PtxCompileFailed { kernel: "scale_kernel", source }),',
        'Err(_) => return Err(GpuError::Unsupported { op: "scale" }),',
    ],
)
def test_a_failure_that_is_returned_is_a_structured_error(answer: str) -> None:
    start, end = SILENT.index("Err(_)"), SILENT.index("    };")
    after = SILENT[:start] + answer + "\n" + SILENT[end:]
    outcome = became(GPU, SILENT, after, "FT001")
    assert word(outcome) == "structured-error"
    assert outcome is not None
    assert [step.role for step in outcome.steps] == ["anchor", "effect"]
    assert all(step.path == GPU for step in outcome.steps)


def test_a_failure_that_is_passed_on_is_a_structured_error() -> None:
    after = """
    pub fn gpu_scale(a: &CudaBuffer<f32>, s: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
        let f = get_or_compile(device.context(), SCALE_PTX, "scale_kernel")?;
        launch(&f, a, device)
    }
    """
    assert word(became(GPU, SILENT, after, "FT001")) == "structured-error"


def test_a_failure_that_becomes_text_has_no_outcome() -> None:
    after = """
    pub fn gpu_scale(a: &CudaBuffer<f32>, s: f32, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
        let f = get_or_compile(device.context(), SCALE_PTX, "scale_kernel")
            .map_err(|e| GpuError::InvalidArgument { message: format!("no kernel: {e}") })?;
        launch(&f, a, device)
    }
    """
    assert became(GPU, SILENT, after, "FT001") is None


def test_a_fallback_behind_the_variable_that_warns_is_opt_in() -> None:
    gate = """
            if std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_err() {
                return Err(GpuError::PtxCompileFailed { kernel: "scale_kernel" });
            }
            tracing::warn!(kernel = "scale_kernel", "unset FERROTORCH_ENABLE_GPU_FALLBACK for an error");
    """
    after = SILENT.replace("Err(_) => {", "Err(_) => {" + gate)
    outcome = became(GPU, SILENT, after, "FT001")
    assert word(outcome) == "opt-in-fallback"
    assert outcome is not None
    assert [step.role for step in outcome.steps] == ["anchor", "guard", "effect"]


def gated(body: str) -> str:
    return CHECK + PUNT.replace("let host", body + "\n    let host")


def test_a_helper_at_the_entry_that_refuses_and_warns_is_opt_in() -> None:
    outcome = became(CORE, PUNT, gated('check_opt_in(&[x], "erf")?;'), "FT005")
    assert word(outcome) == "opt-in-fallback"
    assert outcome is not None
    assert outcome.properties == {}


@pytest.mark.parametrize(
    ("warning", "replacement"),
    [
        ("op, ", ""),
        ("; unset {FALLBACK_ENV_VAR} to make this an error", ""),
        ("tracing::warn!", "tracing::trace!"),
    ],
    ids=["no kernel", "no variable", "no warning"],
)
def test_a_gate_that_does_not_tell_kernel_and_variable_is_no_outcome(warning: str, replacement: str) -> None:
    after = gated('check_opt_in(&[x], "named")?;').replace(warning, replacement)
    assert became(CORE, PUNT, after, "FT005") is None


def test_a_gate_that_is_read_once_is_no_outcome() -> None:
    once = """
static ENABLED: OnceLock<bool> = OnceLock::new();

fn opted_in() -> bool {
    tracing::warn!(op = "erf", "unset FERROTORCH_ENABLE_GPU_FALLBACK to make this an error");
    *ENABLED.get_or_init(|| std::env::var("FERROTORCH_ENABLE_GPU_FALLBACK").is_ok())
}
"""
    refusal = 'return Err(FerrotorchError::NotImplementedOnCuda { op: "erf" });'
    gate = f"if x.is_cuda() && !opted_in() {{\n        {refusal}\n    }}"
    assert became(CORE, PUNT, once + PUNT.replace("let host", gate + "\n    let host"), "FT005") is None


def test_a_gate_behind_the_read_is_no_outcome() -> None:
    after = CHECK + PUNT.replace(
        "Tensor::from_storage", 'check_opt_in(&[x], "erf")?;\n    Tensor::from_storage'
    )
    assert became(CORE, PUNT, after, "FT005") is None


def test_an_opt_in_whose_host_body_cannot_run_says_so() -> None:
    after = gated('check_opt_in(&[x], "erf")?;').replace("x.data_vec()?", "x.data()?")
    outcome = became(CORE, PUNT, after, "FT005")
    assert word(outcome) == "opt-in-fallback"
    assert outcome is not None
    assert outcome.properties["hostBody"].startswith("errors before it computes: `data` at line ")


def test_a_refused_device_is_a_structured_error() -> None:
    refusal = (
        'if x.is_cuda() {\n        return Err(FerrotorchError::NotImplementedOnCuda { op: "erf" });\n    }'
    )
    assert word(became(CORE, PUNT, PUNT.replace("let host", refusal + "\n    let host"), "FT005")) == (
        "structured-error"
    )


def test_a_device_that_is_refused_with_text_is_no_outcome() -> None:
    answer = 'return Err(FerrotorchError::InvalidArgument { message: "no".into() });'
    refusal = f"if x.is_cuda() {{\n        {answer}\n    }}"
    assert became(CORE, PUNT, PUNT.replace("let host", refusal + "\n    let host"), "FT005") is None


def test_a_backend_call_is_a_device_kernel() -> None:
    after = """
    pub fn erf(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
        let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
        wrap(backend.erf_f32(x.gpu_handle()?)?)
    }
    """
    assert word(became(CORE, PUNT, after, "FT005")) == "device-kernel"


OPERATORS = """
pub fn mul(a: &Tensor<f32>, b: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
    if a.is_cuda() {
        let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
        return wrap(backend.mul_f32(a.gpu_handle()?, b.gpu_handle()?)?);
    }
    host_mul(a, b)
}
"""


def test_operators_that_find_the_device_make_a_composite() -> None:
    after = OPERATORS + (
        "pub fn erf(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> { mul(&mul(x, x)?, x) }"
    )
    assert word(became(CORE, PUNT, after, "FT005")) == "composite"


def test_a_private_helper_that_launches_is_part_of_its_function() -> None:
    after = OPERATORS.replace("pub fn mul", "fn mul") + (
        "pub fn erf(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> { mul(x, x) }"
    )
    assert word(became(CORE, PUNT, after, "FT005")) == "device-kernel"


def test_device_work_behind_the_opt_in_is_no_kernel() -> None:
    after = (
        CHECK
        + OPERATORS
        + PUNT.replace("let host", 'check_opt_in(&[x], "erf")?;\n    let y = mul(x, x)?;\n    let host')
    )
    assert word(became(CORE, PUNT, after, "FT005")) == "opt-in-fallback"


READBACK = """
pub fn gpu_sum(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = get_or_compile(d.context(), SUM_PTX, "sum_kernel")?;
    let partials = alloc_zeros(256, d)?;
    d.stream().launch_builder(&f).arg(a).arg(&partials).launch(cfg)?;
    let host = gpu_to_cpu(&partials, d)?;
    cpu_to_gpu(&[host.iter().sum::<f32>()], d)
}
"""


def test_a_round_trip_that_stays_on_the_device_is_a_device_kernel() -> None:
    after = READBACK.replace("let host = gpu_to_cpu(&partials, d)?;\n", "").replace(
        "cpu_to_gpu(&[host.iter().sum::<f32>()], d)", "reduce_partials(&partials, d)"
    )
    assert word(became(GPU, READBACK, after, "FT008")) == "device-kernel"


def test_a_function_that_hands_host_data_out_is_an_explicit_transfer() -> None:
    after = """
    pub fn gpu_sum(a: &CudaBuffer<f32>, d: &GpuDevice) -> GpuResult<Vec<f32>> {
        gpu_to_cpu(a, d)
    }
    """
    assert word(became(GPU, READBACK, after, "FT008")) == "explicit-transfer"


def test_a_function_that_is_gone_is_removed() -> None:
    outcome = became(CORE, PUNT, "pub fn other() {}", "FT005")
    assert outcome == SiteOutcome(Outcome.REMOVED, f"`erf` is gone from `{CORE}`")


def test_a_host_body_that_still_stands_has_no_outcome() -> None:
    after = PUNT.replace("v + 1.0", "v + 2.0").replace("x.data_vec()?", "x.cpu()?.data_vec()?")
    assert became(CORE, PUNT, after, "FT005") is None


def test_an_unchanged_result_is_not_asked_about() -> None:
    assert became(CORE, PUNT, "// a comment\n" + PUNT, "FT005") is None


def test_an_initialisation_that_did_nothing_and_now_errors_is_a_structured_error() -> None:
    before = "pub fn init_gpu() -> GpuResult<()> {\n    Ok(())\n}\n"
    after = "pub fn init_gpu() -> GpuResult<()> {\n    Err(GpuError::DeviceUnavailable)\n}\n"
    assert word(became(GPU, before, after, "FT003")) == "structured-error"


def test_another_view_of_the_same_data_is_a_composite() -> None:
    before = """
    pub fn flatten(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
        let host = x.data_vec()?;
        Tensor::from_storage(TensorStorage::cpu(host), vec![x.numel()])
    }
    """
    after = """
    pub fn flatten(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
        x.view_reshape(vec![x.numel()])
    }
    """
    outcome = became(CORE, before, after, "FT005")
    assert word(outcome) == Outcome.COMPOSITE
    assert outcome is not None
    assert "view_reshape" in outcome.steps[1].message


def test_a_view_of_data_that_was_copied_on_the_host_is_none() -> None:
    after = """
    pub fn erf(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
        let host = load(x)?;
        host.view_reshape(vec![x.numel()])
    }
    fn load(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
        Tensor::from_storage(TensorStorage::cpu(x.data_vec()?.iter().map(|v| v + 1.0).collect()), vec![1])
    }
    """
    assert word(became(CORE, PUNT, after, "FT005")) is None


def test_an_access_that_errors_for_device_data_is_a_structured_error() -> None:
    after = PUNT.replace("x.data_vec()?", "x.data()?")
    assert word(became(CORE, PUNT, after, "FT005")) == Outcome.STRUCTURED_ERROR


TWO_READS = """
pub fn mix(a: &Tensor<f32>, b: &Tensor<f32>, flag: bool) -> FerrotorchResult<Tensor<f32>> {
    if flag {
        let host = a.data_vec()?;
        return Tensor::from_storage(TensorStorage::cpu(host.iter().map(|v| v + 1.0).collect()), vec![1]);
    }
    let other = b.data_vec()?;
    Tensor::from_storage(TensorStorage::cpu(other.iter().map(|v| v * 2.0).collect()), vec![1])
}
"""


def test_of_several_places_in_a_function_one_that_is_gone_is_removed_and_the_others_are_named() -> None:
    before = _scan(CORE, TWO_READS)
    places = [one for one in before.results if one.rule_id == "FT005"]
    assert len(places) == 2
    start, end = TWO_READS.index("    if flag"), TWO_READS.index("    let other")
    asked = [
        EarlierResult(key, one.rule_id, one.symbol, one.path, one.form, one.partial_fingerprints)
        for key, one in enumerate(places)
    ]
    after = _scan(CORE, TWO_READS[:start] + TWO_READS[end:], asked)
    [left] = [one for one in after.results if one.rule_id == "FT005"]
    assert set(after.outcomes) == {0, 1}
    for outcome in after.outcomes.values():
        assert outcome.outcome is Outcome.REMOVED
        assert [step.region for step in outcome.steps[1:]] == [left.region]


def test_the_default_of_a_backend_that_asks_for_another_operation_is_a_device_kernel() -> None:
    before = """
    pub trait GpuBackend {
        fn matmul_f32(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle>;
        fn matmul_f16(&self, a: &GpuBufferHandle) -> FerrotorchResult<GpuBufferHandle> {
            Err(FerrotorchError::InvalidArgument { message: "f16 GPU ops not yet implemented".into() })
        }
    }
    """
    answer = 'Err(FerrotorchError::InvalidArgument { message: "f16 GPU ops not yet implemented".into() })'
    after = before.replace(answer, "self.matmul_f32(a)")
    assert word(became(CORE, before, after, "FT016")) == Outcome.DEVICE_KERNEL
    without = before.replace(answer, "self.name(a)")
    assert word(became(CORE, before, without, "FT016")) == Outcome.REMOVED


def test_a_limit_that_is_refused_now_is_a_structured_error_though_a_kernel_stands_beside_it() -> None:
    before = """
    pub fn scale(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
        if x.is_cuda() && x.is_contiguous() {
            let backend = gpu_backend().ok_or(FerrotorchError::DeviceUnavailable)?;
            return Ok(Tensor::wrap(backend.scale_f32(x.gpu_handle()?)?));
        }
        let host = x.data_vec()?;
        Tensor::from_storage(TensorStorage::cpu(host.iter().map(|v| v + 1.0).collect()), vec![1])
    }
    """
    after = before.replace(
        "let host = x.data_vec()?;",
        'if x.is_cuda() { return Err(FerrotorchError::NotImplementedOnCuda { op: "scale" }); }\n'
        "let host = x.data_vec()?;",
    )
    assert word(became(CORE, before, after, "FT011")) == Outcome.STRUCTURED_ERROR


TAKEN_OVER = """
pub fn take_over(shards: &mut Vec<Vec<f32>>, weights: &[Tensor<f32>]) -> FerrotorchResult<()> {
    for (shard, weight) in shards.iter_mut().zip(weights) {
        *shard = weight.data_vec()?.iter().map(|v| v + 1.0).collect();
    }
    Ok(())
}
"""
HANDED_IN = """
pub fn take_over(flat: &[f32], weights: &mut [Tensor<f32>]) -> FerrotorchResult<()> {
    for weight in weights {
        *weight = Tensor::from_storage(TensorStorage::cpu(flat.to_vec()), weight.shape().to_vec())?;
    }
    Ok(())
}
"""


def test_a_read_that_is_gone_from_a_function_that_reads_nothing_else_is_removed() -> None:
    outcome = became(CORE, TAKEN_OVER, HANDED_IN, "FT005")
    assert word(outcome) == "removed"
    assert outcome is not None
    assert outcome.text == "the read is gone: `take_over` reads no device data, nor does what it calls"


@pytest.mark.parametrize(
    "still",
    [
        # A helper reads for it now; another accessor reads what nobody can tell the place of.
        "    let first = load(&weights[0])?;\n",
        "    let first = somewhere().data_vec()?;\n",
    ],
)
def test_a_read_that_moved_elsewhere_is_not_gone(still: str) -> None:
    helper = """
fn load(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
    Tensor::from_storage(TensorStorage::cpu(x.data_vec()?.iter().map(|v| v + 1.0).collect()), vec![1])
}
"""
    after = helper + HANDED_IN.replace("    for weight", still + "    for weight")
    assert became(CORE, TAKEN_OVER, after, "FT005") is None


GENERATOR = """
fn emit_ptx_body(out: &mut String, statements: &[Statement]) {
    for statement in statements {
        match statement {
            Statement::Add { to, value } => {
                if to == "sum" {
                    out.push_str(value);
                }
            }
            Statement::Store { value } => out.push_str(value),
            _ => {}
        }
    }
}
"""


def test_a_test_that_became_the_guard_of_an_arm_is_told_with_the_arm_that_still_drops() -> None:
    guarded = GENERATOR.replace(
        """=> {
                if to == "sum" {
                    out.push_str(value);
                }
            }""",
        """if to == "sum" => out.push_str(value),""",
    )
    before = [one for one in _scan(GPU, GENERATOR).results if one.form == "statement-dropped"]
    asked = [
        EarlierResult(number, one.rule_id, one.symbol, one.path, one.form, one.partial_fingerprints)
        for number, one in enumerate(before)
    ]
    assert len(asked) == 2
    after = _scan(GPU, guarded, asked)
    assert [one.form for one in after.results if one.rule_id == "FT003"] == ["statement-dropped"]
    # Which of the two is gone the matching says: the same holds of either.
    for one in asked:
        told = after.outcomes[one.key]
        assert told.outcome == Outcome.REMOVED
        assert told.text == "the place is gone from `emit_ptx_body`, where one place like it is still seen"
        assert told.steps[-1].message == "still seen"


SHARED_BODY = """
pub fn sample(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
    drawn(x)
}

pub fn drawn_again(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
    drawn(x)
}

fn drawn(x: &Tensor<f32>) -> FerrotorchResult<Tensor<f32>> {
    let host = x.data_vec()?;
    Tensor::from_storage(TensorStorage::cpu(host.iter().map(|v| v + 1.0).collect()), x.shape().to_vec())
}
"""


def test_a_body_that_all_its_callers_ask_the_opt_in_for_is_opt_in() -> None:
    gate = 'check_opt_in(&[x], "drawn")?;\n    drawn(x)'
    after = CHECK + SHARED_BODY.replace("    drawn(x)", f"    {gate}")
    outcome = became(CORE, SHARED_BODY, after, "FT005")
    assert word(outcome) == "opt-in-fallback"
    assert outcome is not None
    assert [step.role for step in outcome.steps] == ["anchor", *("guard", "effect") * 2]


def test_a_body_that_one_caller_asks_for_nothing_is_still_open() -> None:
    gate = 'check_opt_in(&[x], "drawn")?;\n    drawn(x)'
    after = CHECK + SHARED_BODY.replace("    drawn(x)", f"    {gate}", 1)
    assert became(CORE, SHARED_BODY, after, "FT005") is None


def test_a_body_whose_callers_ask_without_a_warning_that_tells_has_no_outcome() -> None:
    gate = 'check_opt_in(&[x], "drawn")?;\n    drawn(x)'
    silent = CHECK.replace("; unset {FALLBACK_ENV_VAR} to make this an error", "")
    after = silent + SHARED_BODY.replace("    drawn(x)", f"    {gate}")
    assert became(CORE, SHARED_BODY, after, "FT005") is None


def became_in(files: dict[str, bytes], before: str, rule_id: str) -> SiteOutcome | None:
    """Return what the scan of `files` says of the only result of a rule in `before`, whose file is gone."""
    [result] = [one for one in _scan(GPU, before).results if one.rule_id == rule_id]
    asked = EarlierResult(
        7, result.rule_id, result.symbol, result.path, result.form, result.partial_fingerprints
    )
    manifest = {"ferrotorch-gpu/Cargo.toml": b'[package]\nname = "ferrotorch-gpu"\n'}
    source = MemorySource({**manifest, "ferrotorch-gpu/src/other.rs": b"pub fn other() {}\n", **files})
    return scan(source, profile=load_profile(), rules=RULES, earlier=[asked]).outcomes.get(7)


def test_what_is_gone_with_its_file_is_removed() -> None:
    assert word(became_in({}, SILENT, "FT001")) == "removed"


def test_what_may_have_moved_into_a_file_that_does_not_parse_is_not_said_to_be_gone() -> None:
    torn = "<<<<<<< HEAD\n" + SILENT.replace("match get", "mat{ch get")
    assert became_in({"ferrotorch-gpu/src/scale.rs": torn.encode()}, SILENT, "FT001") is None


def test_what_may_have_moved_into_a_file_that_cannot_be_read_is_not_said_to_be_gone() -> None:
    assert became_in({"ferrotorch-gpu/src/scale.rs": b"\xff\xfe\x00"}, SILENT, "FT001") is None


def test_a_file_that_does_not_parse_and_does_not_name_the_function_holds_nothing_of_it() -> None:
    assert (
        word(became_in({"ferrotorch-gpu/src/torn.rs": b"pub fn torn( {{{\n"}, SILENT, "FT001")) == "removed"
    )


def test_a_function_that_moved_into_a_file_that_does_not_parse_has_no_outcome() -> None:
    torn = SILENT.replace("match get", "mat{ch get")
    files = {"ferrotorch-gpu/src/scale.rs": torn.encode(), GPU: b"pub mod scale;\n"}
    assert became_in(files, SILENT, "FT001") is None
