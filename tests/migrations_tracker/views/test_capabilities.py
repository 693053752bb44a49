"""The capability matrix, its cells, its operators, and what programs read of it."""

from __future__ import annotations

import csv
import io
import json
import operator
import re
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from audit.models import (
    Capability,
    CapabilityReading,
    FallbackSite,
    OperationMatch,
    Repository,
)
from audit.parity.capability import State
from audit.parity.catalogue import Direction
from audit.services.parity import parity_dumps_import_shipped
from migrations_tracker.selectors.capability_absent import public_operators
from migrations_tracker.selectors.capability_detail import site_rationales
from migrations_tracker.selectors.capability_list import percent, shares
from tests.factories import (
    ingest,
    make_capability,
    make_match,
    make_report,
    make_result,
    store_capabilities,
)
from tests.toolchain import rust_program

LIST = "/capabilities/"
CELLS = [
    make_capability("aten::exp"),
    make_capability("aten::exp", dtype="float64", state=State.TEXT_ERROR, note="the default is in force"),
    make_capability("aten::exp", direction=Direction.BACKWARD, state=State.FALLBACK),
    make_capability("aten::sum", state=State.STRUCTURED_ERROR, symbol="minitorch_core::ops::sum"),
    make_capability("aten::exp", device="cpu"),
]


@pytest.fixture
def matrix(site: FallbackSite) -> FallbackSite:
    report = make_report([make_result(), make_result("minitorch_core::ops::sum")])
    store_capabilities(site.first_seen_scan, CELLS, report)
    return site


def cell_of(text: str, address: str) -> str:
    """Return the words that a page shows in the link to a cell."""
    found = re.search(rf'href="{re.escape(address)}"[^>]*>([^<]*)', text.replace("&amp;", "&"))
    assert found is not None, address
    return found[1]


def test_the_matrix_shows_each_case_once_in_its_state(ada_client: Client, matrix: FallbackSite) -> None:
    text = ada_client.get(LIST).content.decode()
    for cell in Capability.objects.filter(device="cuda"):
        assert cell_of(text, cell.address(matrix.repository)) == cell.state.replace("-", " ")
    assert text.count('class="cell ') == 4
    assert text.index("Elementwise</th>") < text.index("Reduction</th>")


def test_the_counts_add_up(ada_client: Client, matrix: FallbackSite) -> None:
    page = ada_client.get(LIST).context["page"]
    assert (page.cell_total, page.gap_total, page.operator_total, page.gap_percent) == (4, 3, 2, "75.0 %")
    assert [(row.state, row.count, row.gaps) for row in page.states] == [
        ("kernel", 1, 0),
        ("fallback", 1, 1),
        ("structured-error", 1, 1),
        ("text-error", 1, 1),
    ]
    assert page.devices == [("cuda", 4, 3), ("cpu", 1, 0)]


@pytest.mark.parametrize(
    ("query", "operators", "cells"),
    [
        ("gaps=1", 2, 3),
        ("family=reduction", 1, 1),
        ("crate=minitorch-core", 1, 1),
        ("state=fallback", 1, 1),
        ("q=exp", 1, 3),
        ("q=ops::sum", 1, 1),
        ("q=nothing", 0, 0),
        ("device=cpu", 1, 1),
        ("device=mps", 0, 0),
        ("family=no&state=no&page=-1&gaps=x", 2, 4),
        ("page=99999999", 2, 4),
        ("q=%00", 0, 0),
    ],
)
def test_the_matrix_is_narrowed_as_the_url_says(
    ada_client: Client, matrix: FallbackSite, query: str, operators: int, cells: int
) -> None:
    response = ada_client.get(f"{LIST}?{query}")
    page = response.context["page"]
    assert (page.operator_total, page.cell_total) == (operators, cells)
    assert sum(row.count for row in page.states) == cells
    if not cells:
        assert b"No case matches" in response.content


def test_a_fragment_holds_the_results_alone(ada_client: Client, matrix: FallbackSite) -> None:
    response = ada_client.get(LIST, headers={"HX-Request": "true"})
    assert response.content.lstrip().startswith(b'<section id="results"')
    assert "HX-Request" in response["Vary"]


def test_what_can_not_be_shown_says_why(ada_client: Client, repository: Repository) -> None:
    assert b"has no scan with capabilities" in ada_client.get(LIST).content
    scan_run = ingest(repository, make_report([make_result()])).scan_run
    store_capabilities(scan_run, [], failure_reason="The matrix broke down: `x`")
    assert b"The matrix broke down: <code>x</code>" in ada_client.get(LIST).content
    store_capabilities(scan_run, [])
    assert b"found no operation that has a counterpart" in ada_client.get(LIST).content


def test_a_cell_shows_proof_from_both_sides_and_the_answer(ada_client: Client, matrix: FallbackSite) -> None:
    cell = Capability.objects.get(dtype="float64")
    text = ada_client.get(cell.address(matrix.repository)).content.decode()
    assert "text error</span>" in text
    assert "The default is in force." in text
    assert "aten::exp has a CUDA kernel" in text
    assert "So the answer is a device kernel for aten::exp forward in float64 on cuda." in text
    assert f"scan #{matrix.first_seen_scan_id}</a>" in text


def test_a_cell_that_nothing_serves_is_not_found(ada_client: Client, matrix: FallbackSite) -> None:
    address = reverse("capability-detail", args=[matrix.repository.slug, "aten::exp"])
    assert ada_client.get(f"{address}?dtype=complex64").status_code == 404
    assert ada_client.get(f"{address}?dtype=float64&device=cpu").status_code == 404


def test_an_operator_shows_pytorchs_facts_the_project_s_and_its_sites(
    ada_client: Client, matrix: FallbackSite
) -> None:
    address = reverse("operator-detail", args=[matrix.repository.slug, "aten::exp"])
    assert b"parity_import" in ada_client.get(address).content
    parity_dumps_import_shipped()
    text = ada_client.get(address).content.decode()
    assert "torch 2.11.0" in text
    assert "CompositeExplicitAutograd" in text or "CUDA" in text
    assert "bfloat16" in text
    assert matrix.get_absolute_url() in text
    assert text.count('class="badge level-error">gap') == 2


@pytest.mark.parametrize("operator", ["aten::sub", "torch.distributions.Gamma.log_prob", "torch.nn.Linear"])
def test_what_only_pytorch_has_has_a_page_too(
    ada_client: Client, matrix: FallbackSite, operator: str
) -> None:
    parity_dumps_import_shipped()
    address = reverse("operator-detail", args=[matrix.repository.slug, operator])
    text = ada_client.get(address).content.decode()
    assert "serves this operator" in text


def test_a_site_says_what_pytorch_does(ada_client: Client, matrix: FallbackSite) -> None:
    text = ada_client.get(matrix.get_absolute_url()).content.decode()
    assert "What PyTorch does" in text
    assert "So the answer is a device kernel for aten::exp" in text


def test_a_site_outside_any_operator_is_told_that_pytorch_has_no_counterpart(
    ada_client: Client, matrix: FallbackSite
) -> None:
    address = matrix.get_absolute_url()
    Capability.objects.update(symbols=["another"])
    text = ada_client.get(address).content.decode()
    assert "PyTorch has no counterpart of minitorch_gpu::ops::relu (it is no operation" in text
    assert "launches a kernel or returns a structured error" in text
    kind, symbol = "kernel", "minitorch_gpu::ops::relu"
    match = make_match(matrix.first_seen_scan)
    OperationMatch.objects.filter(pk=match.pk).update(
        kind=kind, symbol=symbol, verdict="unmatched", counterpart="", confidence=0
    )
    assert "nobody has set one" in ada_client.get(address).content.decode()
    OperationMatch.objects.update(verdict="no-counterpart", note="SciPy has it, PyTorch has not")
    assert "(SciPy has it, PyTorch has not)" in ada_client.get(address).content.decode()
    OperationMatch.objects.update(verdict="matched", counterpart="torch.optim.SGD", note="")
    text = ada_client.get(address).content.decode()
    assert "torch.optim.SGD" in text
    assert "to be decided" not in text.lower()


@pytest.mark.parametrize("symbol", ["minitorch_gpu::ops", "minitorch_gpu::ops::relu"])
def test_a_site_in_a_method_is_explained_by_its_type(
    ada_client: Client, matrix: FallbackSite, symbol: str
) -> None:
    """`Lbfgs::gather_params` is a part of the optimizer, and `ExpBackward::backward` is the node itself."""
    Capability.objects.update(symbols=["another"])
    match = make_match(matrix.first_seen_scan)
    OperationMatch.objects.filter(pk=match.pk).update(
        kind="optimizer", symbol=symbol, verdict="matched", counterpart="torch.optim.SGD", dtype=""
    )
    text = ada_client.get(matrix.get_absolute_url()).content.decode()
    assert "torch.optim.SGD ran in float32 on cuda" in text
    assert "Now the code " in text


def test_a_text_of_ptx_is_explained_by_the_operator_that_launches_it(matrix: FallbackSite) -> None:
    cell = Capability.objects.filter(operator="aten::exp", device="cuda").earliest("id")
    cell.implementations[0]["broken_ptx"] = "EXP_PTX"
    cell.save()
    ((found, rationale),) = site_rationales(
        scan_run_id=cell.scan_run_id, symbol="minitorch_gpu::kernels::EXP_PTX"
    )
    assert found == cell
    assert "aten::exp" in rationale.therefore


def test_a_site_is_explained_by_the_functions_of_its_evidence(
    ada_client: Client, matrix: FallbackSite
) -> None:
    caller = "minitorch_gpu::ops::caller"
    plain = make_result()
    step = plain.evidence[0]._replace(symbol=caller, role="call")
    scan_run = ingest(
        matrix.repository, make_report([plain._replace(evidence=(*plain.evidence, step))])
    ).scan_run
    store_capabilities(scan_run, [make_capability("aten::exp", state=State.FALLBACK, symbol=caller)])
    text = ada_client.get(matrix.get_absolute_url()).content.decode()
    assert "So the answer is a device kernel for aten::exp" in text


def test_an_operator_shows_layers_tests_gpu_runs_and_history(
    ada_client: Client,
    matrix: FallbackSite,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    parity_dumps_import_shipped()
    cell = Capability.objects.get(dtype="float64")
    test = {"path": "tests/exp.rs", "line": 9, "symbol": "tests::exp_runs_on_the_card"}
    facts = {"symbol": "own", "test": test, "broken_ptx": "EXP_PTX", "is_called": False}
    cell.implementations[0] |= facts
    cell.save()
    address = reverse("operator-detail", args=[matrix.repository.slug, "aten::exp"])
    with django_assert_max_num_queries(12):
        response = ada_client.get(address)
    text = response.content.decode()
    assert "The backend trait&#x27;s method in force" in text
    assert "nothing calls it" in text
    assert "EXP_PTX does not assemble" in text
    assert [one.symbol for one in response.context["page"].tests] == ["tests::exp_runs_on_the_card"]
    assert text.count("opened, ") == 2
    with django_assert_max_num_queries(12):
        text = ada_client.get(cell.address(matrix.repository)).content.decode()
    assert "run on a device by the test" in text
    assert "At earlier commits" in text


def test_the_export_holds_what_the_matrix_shows(ada_client: Client, matrix: FallbackSite) -> None:
    response = ada_client.get("/capabilities.csv?gaps=1")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert {(row["operator"], row["dtype"], row["state"]) for row in rows} == {
        ("aten::exp", "float64", "text-error"),
        ("aten::exp", "float32", "fallback"),
        ("aten::sum", "float32", "structured-error"),
    }
    assert "attachment" in response["Content-Disposition"]
    assert len(ada_client.get("/capabilities.json?device=cpu").json()["capabilities"]) == 1
    text = ada_client.get("/capabilities.md").content.decode()
    assert "4 cases, 3 of them gaps." in text
    assert "| text-error | 1 | 1 |" in text
    assert text.count("| aten::") == 4
    assert all(line.count(" | ") == 7 for line in text.splitlines() if line.startswith("| aten::"))


def test_what_only_pytorch_has_is_a_matrix_too_whose_counts_add_up(
    ada_client: Client, matrix: FallbackSite
) -> None:
    page = ada_client.get(f"{LIST}?only=pytorch").context["page"]
    names = set(public_operators())
    assert {"aten::exp", "aten::sum"} <= names
    assert page.operator_total == len(names) - 2 > 500
    assert page.cell_total == 4 * page.operator_total
    assert page.cell_total > page.gap_total > 1000
    assert [(row.state, row.count, row.gaps) for row in page.states] == [
        ("absent", page.cell_total, page.gap_total)
    ]
    narrowed = ada_client.get(f"{LIST}?only=pytorch&family=linalg&q=linalg_qr")
    assert [row.operator for row in narrowed.context["page"].rows] == ["aten::linalg_qr"]
    assert "PyTorch: kernel" in narrowed.content.decode() or "PyTorch: composite" in narrowed.content.decode()
    rows = ada_client.get("/capabilities.json?only=pytorch&q=linalg_qr&gaps=1").json()["capabilities"]
    assert rows
    assert all(row["is_gap"] and row["state"] == "absent" for row in rows)
    last = ada_client.get(f"{LIST}?only=pytorch&page=9999").context["page"]
    assert last.number == last.page_count


def told(client: Client, query: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(b"".join(client.get(f"/api/capabilities{query}")))
    return answer


def test_a_program_asks_for_one_operator(ada_client: Client, matrix: FallbackSite) -> None:
    answer = told(ada_client, "?op=exp&dtype=float32&device=cuda")
    assert answer["commit"] == matrix.first_seen_scan.commit.object_id
    assert [(row["direction"], row["state"], row["can"]) for row in answer["capabilities"]] == [
        ("backward", "fallback", False),
        ("forward", "kernel", True),
    ]
    assert told(ada_client, "?op=nothing")["capabilities"] == []


def test_a_program_gets_the_whole_matrix_in_parts(
    ada_client: Client, matrix: FallbackSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("migrations_tracker.capability_texts.PART_LENGTH", 1)
    response = ada_client.get("/api/capabilities")
    parts = list(response)
    assert len(parts) > 2
    answer = json.loads(b"".join(parts))
    assert answer == told(ada_client, "")
    assert answer["failure"] == ""
    exported = [
        row
        for device in Capability.objects.values_list("device", flat=True).distinct().order_by()
        for row in ada_client.get(f"/capabilities.json?device={device}").json()["capabilities"]
    ]
    key = operator.itemgetter("operator", "dtype", "device", "direction")
    assert sorted(exported, key=key) == answer["capabilities"]


def test_a_program_that_asks_too_early_is_told(ada_client: Client, repository: Repository) -> None:
    response = ada_client.get("/api/capabilities")
    assert (response.status_code, "error" in response.json()) == (404, True)


def test_the_backend_trait_is_shown_method_by_method_and_counted(
    ada_client: Client, matrix: FallbackSite
) -> None:
    page = "/backend/"
    assert b"found none" in ada_client.get(page).content
    here = {"path": "core/src/lib.rs", "line": 6, "symbol": "core::GpuBackend::x"}
    there = {"cuda": {**here, "path": "gpu/src/lib.rs"}}
    CapabilityReading.objects.update(
        backend_methods=[
            {"name": "abs_f32", "default": "required", "declared": here, "overrides": there},
            {"name": "abs_f64", "default": "text-error", "declared": here, "overrides": {}},
            {"name": "exp_f64", "default": "text-error", "declared": here, "overrides": there},
        ],
        uncalled_kernels=[{**here, "symbol": "gpu::kernels::gpu_add_into"}],
    )
    response = ada_client.get(page)
    found = response.context["page"]
    assert (found.total, found.with_default) == (3, 2)
    assert sum(count for _, _, count in found.defaults) == found.total
    assert found.text_in_force == [("cuda", ["abs_f64"])]
    assert "gpu_<wbr>add_<wbr>into" in response.content.decode()
    for query, names in (
        ("default=text-error", ["abs_f64", "exp_f64"]),
        ("in_force=cuda", ["abs_f64"]),
        ("q=EXP", ["exp_f64"]),
        ("q=nothing", []),
        ("default=zzz&in_force=", ["abs_f32", "abs_f64", "exp_f64"]),
    ):
        rows = ada_client.get(f"{page}?{query}").context["page"].rows
        assert [row.facts["name"] for row in rows] == names, query


def test_the_rust_table_compiles_and_finds_its_rows(
    matrix: FallbackSite, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call_command("capabilities", "--rust")
    source = capsys.readouterr().out
    assert source.count("    Capability { ") == len(CELLS)
    if rust_program("rustc") is None:
        pytest.skip("no rustc that works: the table is not compiled")
    check = """
fn main() {
    let row = capability("aten::exp", "float64", "cuda", "forward").unwrap();
    assert!(row.is_gap && !row.state.can() && row.state == CapabilityState::TextError);
    assert!(capability("aten::exp", "float32", "cuda", "forward").unwrap().state.can());
    assert!(capability("aten::exp", "int8", "cuda", "forward").is_none());
}
"""
    (tmp_path / "table.rs").write_text(source + check, "utf-8")
    command = ["rustc", "--edition=2021", "-Dwarnings", "-o", str(tmp_path / "table")]
    subprocess.run([*command, str(tmp_path / "table.rs")], check=True)
    subprocess.run([str(tmp_path / "table")], check=True)


def test_the_command_says_what_is_missing(repository: Repository) -> None:
    with pytest.raises(CommandError, match="Ask for a scan first"):
        call_command("capabilities")
    with pytest.raises(CommandError, match="no repository `nowhere`"):
        call_command("capabilities", repository="nowhere")


def test_a_large_matrix_is_a_small_page(
    root_client: Client,
    site: FallbackSite,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    cells = [
        make_capability(f"torch.distributions.LogNormal.operation{number}", dtype=dtype, direction=direction)
        for number in range(200)
        for dtype in ("float32", "float64", "float16", "bfloat16")
        for direction in Direction
    ]
    store_capabilities(site.first_seen_scan, cells)
    for address in (LIST, f"{LIST}?page=3&gaps=&q=operation", cells_address(site)):
        with django_assert_max_num_queries(12):
            response = root_client.get(address)
        assert len(response.content) < 100_000, address
    pages = root_client.get(LIST).context["page"]
    assert (pages.page_count, len(pages.rows), len(pages.columns)) == (7, 30, 8)


def cells_address(site: FallbackSite) -> str:
    return Capability.objects.earliest("id").address(site.repository)


@pytest.mark.parametrize("value", ["zzz", "\0", "a\0b", "<script>alert(1)</script>", "-1", "9" * 40, "²"])
def test_rubbish_in_an_address_is_answered(ada_client: Client, matrix: FallbackSite, value: str) -> None:
    names = ("repository", "branch", "device", "family", "crate", "state", "gaps", "q", "page", "op", "dtype")
    for name in names:
        for address in (LIST, "/api/capabilities", "/capabilities.csv"):
            response = ada_client.get(address, {name: value})
            assert response.status_code == 200, (address, name)
            assert address != LIST or b"<script>alert" not in response.content
    for page in ("capability-detail", "operator-detail"):
        assert ada_client.get(reverse(page, args=["minitorch", value.replace("/", "")])).status_code == 404


def test_a_share_that_is_not_all_never_reads_as_all() -> None:
    assert percent(9999, 10000) == "99.9 %"
    assert percent(3, 3) == "100.0 %"
    assert percent(0, 0) == "0 %"


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_shares_add_up_and_none_is_a_tenth_of_a_percent_off(counts: list[int]) -> None:
    total = sum(counts)
    read = [round(10 * float(share.removesuffix(" %"))) for share in shares(counts)]
    assert sum(read) == (1000 if total else 0)
    for count, share in zip(counts, read, strict=True):
        assert abs(share * total - 1000 * count) < max(total, 1)
        assert share < 1000 or count == total


def test_counts_of_what_only_pytorch_has_are_those_of_the_export(
    ada_client: Client, matrix: FallbackSite
) -> None:
    query = "only=pytorch&gaps=1&family=fft"
    page = ada_client.get(f"{LIST}?{query}").context["page"]
    exported = ada_client.get(f"/capabilities.json?{query}").json()["capabilities"]
    assert (page.cell_total, page.gap_total) == (len(exported), len(exported))
    assert page.gap_total > 0
    for nothing in ("only=pytorch&crate=minitorch-gpu", "only=pytorch&state=fallback"):
        assert ada_client.get(f"{LIST}?{nothing}").context["page"].cell_total == 0
