"""All that is known of one verification, for its page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migrations_tracker.verification_timeline import Timeline, timeline_of
from workers.models import Verification, VerifiedFunction
from workers.services.outcomes import cuda_version

LOG_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class RunView:
    """One run of the test: as it is, with the opt-in, or with the GPU hidden."""

    title: str
    command: str
    environment: Mapping[str, str]
    ending: str
    detail: str
    exit_code: int | None
    wall_s: float
    user: str
    network: str
    stdout: str
    stderr: str
    samples: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class VerificationPageData:
    """What the page shows."""

    verification: Verification
    functions: Sequence[VerifiedFunction]
    timeline: Timeline | None
    opt_in_timeline: Timeline | None
    runs: Sequence[RunView]
    versions: Sequence[tuple[str, str]]
    devices: Sequence[Mapping[str, str]]
    canary: Mapping[str, Any] | None
    expected: Sequence[str]
    earlier: Sequence[Verification]


def verification_page(*, verification: Verification) -> VerificationPageData:
    """Gather what the page of a verification shows."""
    evidence = verification.evidence
    job = verification.job
    canaries = job.canaries
    has_canary = verification.canary is not None and verification.canary < len(canaries)
    return VerificationPageData(
        verification=verification,
        functions=list(verification.functions.select_related("expired_by").order_by("symbol")),
        timeline=timeline_of(evidence.get("plain")),
        opt_in_timeline=timeline_of(evidence.get("opted_in")),
        runs=[
            _run_view(title, run)
            for title, run in (
                ("As it is", (evidence.get("plain") or {}).get("run")),
                ("With the opt-in", (evidence.get("opted_in") or {}).get("run")),
                ("With the GPU hidden", evidence.get("hidden")),
            )
            if run is not None
        ],
        versions=_versions(job.probe, job.bundle_manifest),
        devices=[
            reading["values"]
            for reading in job.probe.get("readings", ())
            if reading["name"].startswith("nvml.device.") and reading["exit_code"] == 0
        ],
        canary=canaries[verification.canary] if has_canary else None,
        expected=_expected(verification.expectation),
        earlier=list(
            Verification.objects.filter(
                repository=verification.repository_id,
                crate=verification.crate,
                binary=verification.binary,
                test=verification.test,
            )
            .exclude(pk=verification.pk)
            .select_related("commit")
            .defer("evidence")[:10]
        ),
    )


def _run_view(title: str, run: Mapping[str, Any]) -> RunView:
    return RunView(
        title=title,
        command=shlex.join(run["command"]),
        environment=run["environment"],
        ending=run["ending"],
        detail=run.get("detail", ""),
        exit_code=run["exit_code"],
        wall_s=run["wall_s"],
        user=run["user"],
        network=run["network"],
        stdout=run["stdout"][:LOG_SHOWN],
        stderr=run["stderr"][:LOG_SHOWN],
        samples=run.get("samples", ()),
    )


def _versions(probe: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name the versions that a result may hang on, each as it was read on the runner or in the bundle."""
    values = {
        reading["name"]: reading.get("values", {})
        for reading in probe.get("readings", ())
        if reading["exit_code"] == 0
    }
    kernel, machine = values.get("kernel", {}), values.get("platform", {})
    found = (
        ("Driver", values.get("nvml", {}).get("driver", "")),
        ("CUDA of the driver", cuda_version(values.get("nvml", {}).get("cuda_driver", ""))),
        ("CUDA toolkit", values.get("nvcc", {}).get("version", "")),
        ("CUPTI", ", ".join(values.get("cupti", {}))),
        ("Rust that built it", str(manifest.get("rustc", ""))),
        ("Target CPU", str(manifest.get("target_cpu", ""))),
        ("Processor", values.get("cpu", {}).get("model", "")),
        ("Kernel", kernel.get("release", "") + (" under WSL" if kernel.get("wsl") == "yes" else "")),
        ("C library", machine.get("libc", "")),
    )
    return [(name, text[:200]) for name, text in found if text]


def _expected(expectation: Mapping[str, Any]) -> list[str]:
    parts = [f"kernel {name}" for name in expectation.get("kernels", ())]
    if choice := expectation.get("any_kernel", ()):
        shown = ", ".join(choice[:12]) + (f" and {len(choice) - 12} more" if len(choice) > 12 else "")
        parts.append(f"one of the kernels {shown}" if len(choice) > 1 else f"kernel {choice[0]}")
    parts += [f"a kernel of {name}" for name in expectation.get("families", ())]
    if expectation.get("error"):
        parts.append(f"the error {expectation['error']}")
    if expectation.get("opt_in_variable"):
        parts.append(f"the warning that names {expectation['opt_in_variable']}")
    return parts or ["any kernel"]
