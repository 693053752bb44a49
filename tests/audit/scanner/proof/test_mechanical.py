"""The policy's checks 4a to 4e, each held by one piece of code and broken by another."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from audit.scanner.profile import load_profile
from audit.scanner.proof import mechanical
from audit.scanner.proof.__main__ import DOES_NOT_HOLD, FAILED, HOLDS, main
from audit.scanner.proof.markdown import as_markdown, as_section
from audit.scanner.proof.mechanical import (
    FunctionReport,
    MechanicalReport,
    TestWord,
    report_changes,
    report_function,
)
from audit.scanner.source.memory import MemorySource
from tests.git import commit_files
from tests.workers.workspace import FILES

OPS = "mini-gpu/src/ops.rs"
RELU_TEST = ("mini-gpu", "mini_gpu", "ops::tests::relu_matches_the_host")
REFUSAL_TEST = ("mini-gpu", "mini_gpu", "ops::tests::relu_of_half_is_refused")
PROVED = {
    test: TestWord("on-device", is_proof=True, passes_without_gpu=False) for test in (RELU_TEST, REFUSAL_TEST)
}


def source(files: Mapping[str, str] = FILES) -> MemorySource:
    return MemorySource({path: text.encode() for path, text in files.items()})


def with_ops(old: str, new: str) -> dict[str, str]:
    assert old in FILES[OPS]
    return {**FILES, OPS: FILES[OPS].replace(old, new, 1)}


def reported(
    name: str = "gpu_relu",
    files: Mapping[str, str] = FILES,
    words: Mapping[tuple[str, str, str], TestWord] | None = None,
) -> FunctionReport:
    (function,) = report_function(source(files), name, profile=load_profile(), words=words).functions
    return function


def test_a_function_with_kernel_test_and_proof_holds_every_check() -> None:
    function = reported(words=PROVED)
    assert function.failed_checks == ()
    assert function.kernels == ("relu_kernel",) and function.device_test_count == 2


def test_4a_a_gpu_function_that_launches_nothing_is_told() -> None:
    files = with_ops(
        'let kernel = get_or_compile(device, RELU_PTX, "relu_kernel")?;\n    helper(device);\n'
        "    launch(kernel, x)",
        "helper(device);\n    Ok(x.clone())",
    )
    function = reported(files=files, words=PROVED)
    assert "4a" in function.failed_checks and function.launches == ()


def test_4b_a_detour_is_listed_with_its_line() -> None:
    files = with_ops("    helper(device);\n", "    let host = gpu_to_cpu(x, device)?;\n    helper(device);\n")
    function = reported(files=files, words=PROVED)
    assert "4b" in function.failed_checks
    assert "gpu_to_cpu(x, device)" in function.detours[0].at.text


@pytest.mark.parametrize(
    "stub", ['todo!("later")', "unimplemented!()", 'panic!("not yet")', "// TODO: the rest"]
)
def test_4c_a_stub_in_a_callee_counts(stub: str) -> None:
    files = with_ops(
        "fn helper(device: &GpuDevice) -> u32 { 1 }", f"fn helper(d: &GpuDevice) -> u32 {{ {stub}\n }}"
    )
    function = reported(files=files, words=PROVED)
    assert function.failed_checks == ("4c",) and function.stubs[0].symbol == "mini_gpu::ops::helper"


def test_4d_a_function_that_no_device_test_reaches_is_told() -> None:
    function = reported("gpu_never_tested")
    assert function.test_count == 0 and "4d" in function.failed_checks


def test_4e_without_a_run_it_is_not_known_whether_the_test_needs_a_gpu() -> None:
    function = reported()
    weak = [answer.question for answer in function.answers if not answer.is_strong]
    assert function.failed_checks == ("4e",)
    assert weak[0] == "Show me the test that fails on a CPU-only build."


def test_4e_a_test_that_passes_without_a_gpu_is_named() -> None:
    words = {**PROVED, RELU_TEST: TestWord("no-kernel", is_proof=False, passes_without_gpu=True)}
    last = reported(words=words).answers[-1]
    assert not last.is_strong and "relu_matches_the_host" in last.answer


def test_a_change_is_reported_by_the_functions_that_changed() -> None:
    after = with_ops('"exp_kernel"', '"exp_v2"')
    report = report_changes(source(), source(after), profile=load_profile())
    assert [function.symbol for function in report.functions] == ["mini_gpu::ops::gpu_exp"]
    assert report_changes(source(), source(), profile=load_profile()).functions == ()


def test_the_markdown_says_each_check_and_answers_each_question() -> None:
    text = as_markdown(report_function(source(), "gpu_relu", profile=load_profile()))
    for check in ("4a", "4b", "4c", "4d", "4e"):
        assert f"**{check} " in text
    assert text.count("- *") == 5 and "No GPU runs were at hand" in text


def test_the_command_tells_by_its_exit_status_whether_the_checks_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERROAUDIT_CACHE_DIR", str(tmp_path / "cache"))
    work = tmp_path / "work"
    first = commit_files(work, FILES)
    commit_files(work, with_ops('"exp_kernel"', '"exp_v2"'))
    words = [
        {
            "crate": c,
            "binary": b,
            "test": t,
            "verdict": "on-device",
            "is_proof": True,
            "passes_without_gpu": False,
        }
        for c, b, t in PROVED
    ]
    (tmp_path / "runs.json").write_text(json.dumps(words))
    runs = ["--runs", str(tmp_path / "runs.json")]
    assert main([str(work), "--rev", "HEAD", "--function", "gpu_relu", *runs]) == HOLDS
    assert main([str(work), "--rev", "HEAD", "--since", first]) == DOES_NOT_HOLD
    assert "`mini_gpu::ops::gpu_exp`" in capsys.readouterr().out
    assert main([str(work), "--rev", "HEAD", "--since", first, "--no-fail", "--format", "json"]) == HOLDS
    assert json.loads(capsys.readouterr().out)["is_done"] is False
    assert main([str(work), "--rev", "nowhere", "--function", "f"]) == FAILED


def test_the_line_that_is_shown_launches_and_does_not_just_compile() -> None:
    shown = reported().answers[1].answer
    assert shown == "mini-gpu/src/ops.rs:7: `launch(kernel, x)`"
    assert [line.text for line in reported().launches][-1].startswith("let kernel = get_or_compile")


def test_what_was_not_looked_at_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {
        test: TestWord("on-device", is_proof=True, passes_without_gpu=False)
        for test in (*PROVED, ("mini-gpu", "exp", "exp_runs"))
    }
    after = {**FILES, OPS: FILES[OPS].replace("_kernel", "_v2")}
    after[OPS] = after[OPS].replace(
        "let kernel = get_or_compile(device, NEVER", "let never = f(device, NEVER"
    )

    def changes() -> MechanicalReport:
        return report_changes(source(), source(after), profile=load_profile(), words=words)

    assert len(changes().functions) == 3 and changes().left_out == 0
    monkeypatch.setattr(mechanical, "_MAX_FUNCTIONS", 2)
    report = changes()
    assert report.left_out == 1 and all(not one.failed_checks for one in report.functions)
    assert not report.is_done and "nobody may call that done" in as_markdown(report)


def test_a_section_that_is_too_long_keeps_whole_rows_and_says_what_is_missing() -> None:
    after = {**FILES, OPS: FILES[OPS].replace("_kernel", "_v2")}
    report = report_changes(source(), source(after), profile=load_profile())
    whole = as_section(report, most_characters=100_000)
    assert whole.count("| `mini_gpu::ops::") == 3 and "<details>" in whole
    assert whole.index("0 of 3 functions that claim the GPU") < whole.index("<details>")
    short = as_section(report, most_characters=430)
    rows = [line for line in short.splitlines() if line.startswith("| `")]
    assert len(short) <= 430 and rows and all(row.endswith(" |") for row in rows)
    assert f"{3 - len(rows)} more row" in short
    assert as_section(report, most_characters=0) == ""


def test_what_the_code_says_of_itself_is_no_markup_in_the_comment() -> None:
    said = "fine </details> @team ![x](https://evil.example/x.png) | <img src=x>"
    report = report_function(source(), "gpu_relu", profile=load_profile())
    line = mechanical.Line(path=f"src/{said}.rs", line=1, symbol=said, text=said)
    told = replace(
        report.functions[0],
        symbol=said,
        path=line.path,
        stubs=(line,),
        detours=(mechanical.Detour(line, said),),
    )
    text = as_section(replace(report, subject=said, functions=(told,)), most_characters=100_000)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    for markup in ("@team", "![x]", "<img"):
        assert markup not in outside
    assert outside.count("</details>") == 1, "the section's own"
