"""What each scan changed on a branch, and on another branch that comes to the same commit later."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from django.db.models import Sum
from pytest_django import Settings

from audit.models import (
    BranchScan,
    FallbackSite,
    Repository,
    Result,
    ScanRun,
    SiteEvent,
    SiteState,
    SiteTally,
)
from audit.scanner.report import Outcome, SiteOutcome
from audit.services import scan_requests, scan_runs
from audit.services.repositories import repository_add
from migrations_tracker.services.follow_up import scan_run_follow_up
from tests.factories import ingest, make_report, make_repository, make_result
from tests.git import commit_files

pytestmark = pytest.mark.django_db(transaction=True)

MANIFEST = (
    '[package]\nname = "minitorch-gpu"\nversion = "0.1.0"\nedition = "2021"\n'
    '[dependencies]\nferrotorch-core = "0.1"\n'
)
SILENT = """
pub fn gpu_NAME(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = match get_or_compile(device.context(), NAME_PTX, "NAME_kernel") {
        Ok(f) => f,
        Err(_) => {
            let host = gpu_to_cpu(x, device)?;
            let out: Vec<f32> = host.iter().map(|v| v.max(0.0)).collect();
            return cpu_to_gpu(&out, device);
        }
    };
    launch(&f, x, device)
}
"""
REFUSING = """
pub fn gpu_NAME(x: &CudaBuffer<f32>, device: &GpuDevice) -> GpuResult<CudaBuffer<f32>> {
    let f = match get_or_compile(device.context(), NAME_PTX, "NAME_kernel") {
        Ok(f) => f,
        Err(source) => return Err(GpuError::PtxCompileFailed { kernel: "NAME_kernel", source }),
    };
    launch(&f, x, device)
}
"""
LIB = "minitorch-gpu/src/lib.rs"


# A file that no other declares is none that a build compiles, and no test is missed there.
DECLARED = "mod other;\nmod third;\nmod moved;\nmod copied;\n"


def code(**names: str) -> str:
    return "".join(text.replace("NAME", name) for name, text in names.items()) + DECLARED


@pytest.fixture(autouse=True)
def places(settings: Settings, tmp_path: Path) -> None:
    settings.SCAN_CACHE_DIR = tmp_path / "cache"
    settings.REPOSITORIES_DIR = tmp_path / "clones"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "minitorch"
    commit_files(tree, {LIB: code(relu=SILENT, gelu=SILENT), "minitorch-gpu/Cargo.toml": MANIFEST})
    return tree


def git(tree: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(tree), *arguments], check=True, capture_output=True)


def git_answer(tree: Path, *arguments: str) -> str:
    command = ["git", "-C", str(tree), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def scan(repository: Repository, revision: str = "") -> ScanRun:
    commit, branch = scan_requests.commit_locate(repository=repository, revision=revision)
    scan_run = scan_requests.scan_run_request(repository=repository, commit=commit, branch=branch, actor=None)
    scan_runs.scan_run_execute(pk=scan_run.pk, after_ingest=scan_run_follow_up)
    scan_run.refresh_from_db()
    assert scan_run.state == "succeeded", scan_run.failure_reason
    return scan_run


def open_on(name: str) -> list[str]:
    """Return the functions with an open silent fallback; each has no test, too, which is another site."""
    states = SiteState.objects.filter(branch__name=name, is_open=True, rule_id="FT001")
    return sorted(symbol.rpartition("::")[2] for symbol in states.values_list("symbol", flat=True))


def test_each_scan_of_a_branch_tells_what_it_changed() -> None:
    repository = make_repository()
    names = [f"minitorch_gpu::ops::op{number}" for number in range(6)]
    path = make_result(names[0]).path
    for chosen in (range(4), range(2, 6), range(0), range(6)):
        results = [
            make_result(names[number], line=number + 1, snippet=f"read_{number}(x)") for number in chosen
        ]
        ingest(repository, make_report(results, files=[path]))
    rows = list(BranchScan.objects.values_list("open_count", "new_count", "reopened_count", "closed_count"))
    assert rows == [(4, 4, 0, 0), (4, 2, 0, 2), (0, 0, 0, 4), (6, 0, 6, 0)]
    assert [row.position for row in BranchScan.objects.all()] == [1, 2, 3, 4]
    scans = list(BranchScan.objects.all())
    assert [row.previous for row in scans] == [None, *scans[:-1]]


def test_the_tally_of_a_scan_is_the_sum_of_its_list() -> None:
    repository = make_repository()
    first = [make_result("minitorch_gpu::ops::a"), make_result("minitorch_nn::ops::b", rule_id="FT008")]
    ingest(repository, make_report(first))
    site = FallbackSite.objects.get(rule_id="FT008")
    gone = make_report(first[:1], files=[first[1].path])
    outcomes = {site.pk: SiteOutcome(Outcome.COMPOSITE, "made of operators")}
    ingest(repository, replace(gone, outcomes=outcomes))
    newest = BranchScan.objects.latest("position")
    columns = ("is_open", "rule_id", "crate", "outcome")
    counted = {tuple(row[:4]): row[4] for row in newest.tallies.values_list(*columns, "count")}
    assert counted == {
        (True, "FT001", "minitorch-gpu", ""): 1,
        (False, "FT008", "minitorch-nn", "composite"): 1,
    }
    for key, count in counted.items():
        assert SiteState.objects.filter(**dict(zip(columns, key, strict=True))).count() == count
    for row in BranchScan.objects.all():
        assert row.tallies.filter(is_open=True).aggregate(Sum("count"))["count__sum"] == row.open_count


def test_a_closing_keeps_its_outcome_when_the_site_comes_back() -> None:
    repository = make_repository()
    result = make_result()
    ingest(repository, make_report([result]))
    site = FallbackSite.objects.get()
    told = {site.pk: SiteOutcome(Outcome.STRUCTURED_ERROR, "returns an error")}
    ingest(repository, replace(make_report([], files=[result.path]), outcomes=told))
    ingest(repository, make_report([result]))
    events = SiteEvent.objects.filter(site=site).values_list("kind", "outcome")
    assert list(events) == [("new", ""), ("closed", "structured-error"), ("reopened", "")]


def test_a_commit_scanned_on_a_topic_branch_updates_main_when_main_comes_to_it(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    git(tree, "checkout", "--quiet", "-b", "topic")
    commit_files(tree, {LIB: code(relu=REFUSING, gelu=SILENT, silu=SILENT)})
    on_topic = scan(repository, "topic")
    assert (open_on("main"), open_on("topic")) == (["gpu_gelu", "gpu_relu"], ["gpu_gelu", "gpu_silu"])
    results = list(Result.objects.filter(scan_run=on_topic).order_by("pk").values())

    git(tree, "checkout", "--quiet", "main")
    git(tree, "merge", "--quiet", "--ff-only", "topic")
    again = scan(repository)
    assert again == on_topic
    assert open_on("main") == ["gpu_gelu", "gpu_silu"]
    closed = SiteState.objects.get(branch__name="main", is_open=False)
    assert (closed.symbol, closed.outcome) == ("minitorch_gpu::gpu_relu", "structured-error")
    assert closed.closed_scan == on_topic
    assert list(Result.objects.filter(scan_run=on_topic).order_by("pk").values()) == results
    newest = BranchScan.objects.filter(branch__name="main").latest("position")
    assert (newest.open_count, newest.new_count, newest.closed_count) == (5, 2, 1)
    # The plan follows: the site that topic brought has a migration now.
    assert FallbackSite.objects.filter(symbol__endswith="silu", migration__status="open").exists()


def test_a_branch_that_has_a_scan_is_not_moved_by_it_again(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    first = scan(repository)
    assert scan(repository) == first
    assert BranchScan.objects.count() == 1
    assert ScanRun.objects.get().attempts == 1


def test_a_branch_that_is_put_back_by_force_shows_what_stands_there(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    commit_files(tree, {LIB: code(relu=REFUSING, gelu=REFUSING)})
    scan(repository)
    assert open_on("main") == []
    git(tree, "reset", "--quiet", "--hard", "HEAD~1")
    scan(repository)
    assert open_on("main") == ["gpu_gelu", "gpu_relu"]
    assert [row.reopened_count for row in BranchScan.objects.all()] == [0, 0, 2]
    assert SiteTally.objects.filter(branch_scan=BranchScan.objects.latest("position"), is_open=True).exists()


def test_a_site_that_comes_back_in_a_file_that_was_renamed_meanwhile_is_the_same_site(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    commit_files(tree, {LIB: code(relu=REFUSING, gelu=SILENT)})
    scan(repository)
    (tree / LIB).unlink()
    moved = "minitorch-gpu/src/moved.rs"
    commit_files(tree, {moved: code(relu=REFUSING, gelu=SILENT)})
    scan(repository)
    commit_files(tree, {moved: code(relu=SILENT, gelu=SILENT)})
    scan(repository)
    newest = BranchScan.objects.latest("position")
    assert (newest.new_count, newest.reopened_count) == (0, 1)
    assert FallbackSite.objects.filter(rule_id="FT001").count() == 2


def test_a_copy_of_what_was_mended_is_a_site_of_its_own_while_the_mended_one_stands(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    commit_files(tree, {LIB: code(relu=REFUSING, gelu=SILENT)})
    scan(repository)
    commit_files(tree, {"minitorch-gpu/src/copied.rs": code(relu=SILENT)})
    scan(repository)
    assert BranchScan.objects.latest("position").reopened_count == 0
    assert FallbackSite.objects.filter(rule_id="FT001").count() == 3


def test_a_merge_brings_the_sites_of_its_branch_as_the_same_sites(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    git(tree, "checkout", "--quiet", "-b", "topic")
    commit_files(tree, {"minitorch-gpu/src/other.rs": code(silu=SILENT)})
    scan(repository, "topic")
    git(tree, "checkout", "--quiet", "main")
    commit_files(tree, {LIB: "// a comment\n" + code(relu=SILENT, gelu=REFUSING)})
    scan(repository)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    git(tree, *identity, "merge", "--quiet", "--no-ff", "-m", "Merge topic", "topic")
    scan(repository)
    assert FallbackSite.objects.filter(rule_id="FT001").count() == 3
    assert FallbackSite.objects.count() == 6
    assert open_on("main") == ["gpu_relu", "gpu_silu"]
    assert open_on("topic") == ["gpu_gelu", "gpu_relu", "gpu_silu"]


def test_a_branch_that_was_rebased_has_the_same_sites(tree: Path) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    git(tree, "checkout", "--quiet", "-b", "topic")
    commit_files(tree, {"minitorch-gpu/src/other.rs": code(silu=SILENT)})
    commit_files(tree, {"minitorch-gpu/src/third.rs": code(tanh=SILENT)})
    scan(repository, "topic")
    before = {site.pk: site.symbol for site in FallbackSite.objects.all()}
    git(tree, "checkout", "--quiet", "main")
    commit_files(tree, {LIB: "// moved down\n" + code(relu=SILENT, gelu=REFUSING)})
    scan(repository)
    git(tree, "checkout", "--quiet", "topic")
    git(tree, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "rebase", "--quiet", "main")
    rebased = scan(repository, "topic")
    assert rebased.applies_to_branch
    assert {site.pk: site.symbol for site in FallbackSite.objects.all()} == before
    assert open_on("main") == ["gpu_relu"]
    assert open_on("topic") == ["gpu_relu", "gpu_silu", "gpu_tanh"]
    gone = SiteState.objects.get(branch__name="topic", is_open=False)
    assert (gone.symbol, gone.outcome) == ("minitorch_gpu::gpu_gelu", "structured-error")
    assert [row.new_count for row in BranchScan.objects.filter(branch__name="topic")][1:] == [0]


def test_a_commit_of_a_clock_that_goes_wrong_is_newer_than_its_parent(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    for name in ("GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"):
        monkeypatch.setenv(name, "2001-01-01T00:00:00Z")
    commit_files(tree, {LIB: code(relu=REFUSING, gelu=SILENT)})
    newest = scan(repository)
    assert newest.commit.committed_at is not None
    assert newest.commit.committed_at.year == 2001
    assert newest.applies_to_branch
    assert open_on("main") == ["gpu_gelu"]


@pytest.mark.parametrize("is_absent", [False, True], ids=["does not parse", "is not there"])
def test_sites_of_a_file_that_moved_to_where_it_cannot_be_read_are_kept(
    tree: Path, *, is_absent: bool
) -> None:
    """The file is renamed and torn, or its new blob is absent; then it is whole again."""
    repository = repository_add(location=str(tree), actor=None)
    scan(repository)
    sites = set(SiteState.objects.values_list("site_id", flat=True))
    (tree / LIB).unlink()
    moved = "minitorch-gpu/src/moved.rs"
    torn = "pub fn torn( {{{ <<<<<<< HEAD\n" + code(relu=SILENT, gelu=SILENT)
    kept = "minitorch-gpu/src/other.rs"
    whole = "// edited\n" + code(relu=SILENT, gelu=SILENT)
    commit_files(tree, {moved: whole if is_absent else torn, kept: "pub fn other() {}\n"})
    if is_absent:
        named = git_answer(tree, "rev-parse", f"HEAD:{moved}")
        (tree / ".git/objects" / named[:2] / named[2:]).unlink()
    scan(repository)
    states = SiteState.objects.filter(site_id__in=sites)
    assert set(states.values_list("is_open", flat=True)) == {True}
    commit_files(tree, {moved: whole + "\n"})
    scan(repository)
    assert {state.site_id for state in SiteState.objects.filter(is_open=True)} == sites
    assert open_on("main") == ["gpu_gelu", "gpu_relu"]
