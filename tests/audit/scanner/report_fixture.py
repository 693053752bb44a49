"""Scan reports for tests of what stands around the scanner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from audit.rules.base import Rule
from audit.scanner.report import (
    CrateInfo,
    EvidenceStep,
    FileStatus,
    Level,
    ManifestEntry,
    Region,
    Result,
    RuleRun,
    RuleStatus,
    ScanReport,
    SourceInfo,
    Suppression,
)


class HostByDefault(Rule):
    """
    ## What it does
    Checks for an `Err` arm that computes on the host. It reads one function at a time.

    ## Why is this bad?
    PyTorch raises `NotImplementedError`:

    - nobody asked for the host;
    - nobody is told.

    ## Use instead
    ```rust
    Err(error) => return Err(error.into()),
    ```

    ## Known problems
    A helper in another crate is not seen.
    """

    id = "FT001"
    name = "silent-fallback"
    level = Level.ERROR
    message = "computes on the host when the kernel can't be loaded"
    invalid = ()
    valid = ()

    def check(self, judgement: Any) -> Iterator[Any]:
        """See nothing: these tests start from results."""
        return iter(())


class Readback(HostByDefault):
    """
    ## What it does
    Checks for data that goes through host memory.
    """

    id = "FT008"
    name = "host-readback"
    level = Level.WARNING
    message = "the data goes through host memory on every call"


RULES = (HostByDefault(), Readback())
FILE = "gpu/src/kernels.rs"
SOURCE = """\
use crate::launch;

pub fn gpu_add(a: &Buffer, b: &Buffer) -> Result<Buffer> {
    let kernel = match launch::load("add") {
        Ok(kernel) => kernel,
        Err(_) => {
            return cpu_add(a, b);
        }
    };
    kernel.run(a, b)
}

fn cpu_add(a: &Buffer, b: &Buffer) -> Result<Buffer> {
    let host = a.to_host()?;
    Ok(host)
}
"""


def make_result(**changes: Any) -> Result:
    """Return a result in `SOURCE`, with changes."""
    result = Result(
        rule_id="FT001",
        level=Level.ERROR,
        message="computes on the host when the kernel can't be loaded",
        path=FILE,
        region=Region(6, 9, 8, 10),
        symbol="gpu::kernels::gpu_add",
        crate="gpu",
        form="match-arm",
        partial_fingerprints={"site/v1": "a1b2c3"},
        evidence=(
            EvidenceStep(
                "anchor", FILE, Region(6, 9, 8, 10), "gpu::kernels::gpu_add", "the arm of a failed load"
            ),
            EvidenceStep("call", FILE, Region(7, 20, 7, 33), "gpu::kernels::cpu_add", "calls `cpu_add`"),
            EvidenceStep("effect", FILE, Region(14, 16, 14, 27), "gpu::kernels::cpu_add", "downloads `a`"),
        ),
        snippet="        Err(_) => {\n            return cpu_add(a, b);\n        }",
    )
    return result._replace(**changes)


def make_report(*results: Result, **changes: Any) -> ScanReport:
    """Return a report of a scan of three files, with changes."""
    report = ScanReport(
        scanner_version="0.1.0",
        profile_name="ferrotorch",
        profile_hash="0" * 64,
        ptxas_version="",
        source=SourceInfo(root="/srv/demo"),
        crates=(CrateInfo("gpu", "gpu", is_workspace_member=True),),
        manifest=(
            ManifestEntry("gpu/Cargo.toml", "b" * 40, FileStatus.SCANNED, "", 80, 4),
            ManifestEntry(FILE, "a" * 40, FileStatus.SCANNED, "", len(SOURCE), SOURCE.count("\n")),
            ManifestEntry("gpu/src/lib.rs", "c" * 40, FileStatus.SCANNED, "", 20, 2),
        ),
        rule_runs=(RuleRun("FT001", RuleStatus.RAN), RuleRun("FT008", RuleStatus.RAN)),
        results=results,
        duration_seconds=1.25,
    )
    return replace(report, **changes)


def make_suppression(status: str = "accepted", justification: str = "the oracle of the tests") -> Suppression:
    """Return a suppression in the line above the result."""
    return Suppression("inSource", status, justification, Region(5, 9, 5, 60))


_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
_names = st.text("abcdefgh_:", min_size=1, max_size=20)
_paths = st.lists(
    _words.filter(lambda word: word not in ("", ".", "..") and "/" not in word), min_size=1, max_size=4
).map("/".join)


@st.composite
def regions(draw: st.DrawFn) -> Region:
    """Draw a region whose end lies after its start."""
    line, column = draw(st.integers(1, 10_000)), draw(st.integers(1, 200))
    return Region(line, column, line + draw(st.integers(0, 50)), column + draw(st.integers(1, 80)))


def steps() -> st.SearchStrategy[EvidenceStep]:
    """Draw a step of a chain of evidence."""
    return st.builds(
        EvidenceStep,
        role=st.sampled_from(["anchor", "call", "effect", "guard"]),
        path=_paths,
        region=regions(),
        symbol=_names,
        message=_words,
    )


def results() -> st.SearchStrategy[Result]:
    """Draw any result."""
    return st.builds(
        Result,
        rule_id=st.sampled_from(["FT001", "FT008"]),
        level=st.sampled_from(Level),
        message=_words,
        path=_paths,
        region=regions(),
        symbol=_names,
        crate=_words,
        form=_names,
        partial_fingerprints=st.dictionaries(_names, st.text("0123456789abcdef", min_size=1), max_size=2),
        evidence=st.lists(steps(), max_size=3).map(tuple),
        snippet=_words,
        suppressions=st.lists(
            st.builds(
                Suppression,
                kind=st.just("inSource"),
                status=st.sampled_from(["accepted", "rejected"]),
                justification=_words,
                region=regions(),
            ),
            max_size=2,
            unique=True,
        ).map(tuple),
        properties=st.dictionaries(_names, _words, max_size=2),
    )
