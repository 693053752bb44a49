"""Does a job, from its text to its outcome: whatever the job holds, an outcome says how it went."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from workers.protocol.codec import MalformedError, canonical_bytes
from workers.protocol.evidence import CanaryReading, Ending, TestEvidence
from workers.protocol.job import JobKind, JobSpec, TestSpec, read_job
from workers.protocol.outcome import JobState, Outcome, TestOutcome
from workers.protocol.readings import Probe
from workers.runner import RUNNER_VERSION
from workers.runner.bundle import BundleRefusedError, check_bundle_fits, unpack_bundle
from workers.runner.cargo import BuildError, BuildRequest, Built, build_tests, check_out, unpack_source
from workers.runner.execute import User, other_user
from workers.runner.manifest import BundleManifest
from workers.runner.nvml import NvmlSampler
from workers.runner.probe.conclusions import RUN_ON_DEVICE, TRACE
from workers.runner.probe.machine import probe_machine
from workers.runner.probe.toolkit import find_cupti
from workers.runner.ptx import load_on_driver
from workers.runner.tracer.build import Tracer, TracerError, prepare_tracer
from workers.runner.trial import Trial
from workers.runner.verdict import judge

#: Tests after which the canary runs again; it also does after every test that did not end by itself.
BATCH = 50

#: Output and events kept over all tests of a job, so that an outcome stays well below the protocol's limit.
_OUTPUT_BUDGET = 24 * 1024**2
_EVENT_BUDGET = 60_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Runner:
    """What a runner is told about itself, once."""

    work: Path
    cache: Path
    bundle: Path | None = None
    prebuilt_tracer: Path | None = None
    probe: Callable[[], Probe] = probe_machine
    user: Callable[[], User | None] = other_user
    progress: Progress = lambda done, total: None
    is_wanted: Callable[[], bool] = lambda: True


class _Ended(Exception):  # noqa: N818 - it is no error: the job ends here
    """The job is over before its tests ran."""

    def __init__(self, state: JobState, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


def run_job(raw: bytes, runner: Runner) -> Outcome:
    """Do a job. Nothing that it holds makes this raise."""
    started = _now()
    try:
        job = read_job(raw)
    except MalformedError as error:
        job_id, lease_id = _salvaged_ids(raw)
        return Outcome(job_id, lease_id, JobState.MALFORMED, str(error), started, _now(), RUNNER_VERSION)
    blank = Outcome(job.job_id, job.lease_id, JobState.FINISHED, "", started, started, RUNNER_VERSION)
    try:
        outcome = _do(job, runner, blank)
    except _Ended as ended:
        outcome = replace(blank, state=ended.state, reason=ended.reason)
    except Exception as error:
        outcome = replace(blank, state=JobState.FAILED, reason=f"{type(error).__name__}: {error}")
    return replace(outcome, ended_at=_now())


def _do(job: JobSpec, runner: Runner, blank: Outcome) -> Outcome:
    probe = runner.probe()
    outcome = replace(blank, probe=probe)
    if job.kind is JobKind.PROBE:
        return outcome
    runner.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="job-", dir=runner.work, ignore_cleanup_errors=True) as name:
        work = Path(name)
        work.chmod(0o711)
        if job.kind is JobKind.PTX:
            return _load_ptx(job, runner, outcome, work)
        return _Verification(job, runner, probe, work).run(outcome)


def _load_ptx(job: JobSpec, runner: Runner, outcome: Outcome, work: Path) -> Outcome:
    assert outcome.probe is not None  # noqa: S101 - the caller has just probed
    obstacle = outcome.probe.inability(RUN_ON_DEVICE)
    if obstacle is not None:
        reason = f"{obstacle.because} (reading `{obstacle.reading}`)"
        return replace(outcome, state=JobState.NO_DEVICE, reason=reason)
    return replace(outcome, ptx=load_on_driver(job.ptx, work=work, limits=job.limits, user=runner.user()))


@dataclass(slots=True)
class _Verification:
    """One `verify` job under way."""

    job: JobSpec
    runner: Runner
    probe: Probe
    work: Path

    def run(self, outcome: Outcome) -> Outcome:
        """Get the tests, run them, judge them."""
        folder = self.work / "bundle"
        folder.mkdir(mode=0o755)
        try:
            manifest, binaries = self._binaries(folder)
        except BundleRefusedError as error:
            return replace(outcome, state=JobState.REFUSED, reason=str(error))
        except BuildError as error:
            tests = tuple(self._judged(test, TestEvidence(not_built=str(error))) for test in self.job.tests)
            return replace(outcome, state=JobState.NOT_BUILT, reason=str(error), tests=tests)
        outcome = replace(outcome, bundle_manifest=canonical_bytes(manifest).decode())
        obstacle = self.probe.inability(RUN_ON_DEVICE)
        if obstacle is not None:
            reason = f"{obstacle.because} (reading `{obstacle.reading}`)"
            tests = tuple(self._without_device(manifest, binaries, reason))
            return replace(outcome, state=JobState.NO_DEVICE, reason=reason, tests=tests)
        tracer, said = self._tracer()
        trial = self._trial(tracer)
        canaries, tests = self._on_device(trial, manifest, binaries, said)
        outcome = replace(outcome, tracer=said, canaries=canaries, tests=tests)
        if len(tests) == len(self.job.tests):
            return outcome
        reason = (
            f"the {self.job.gpu_s:g} s on a device that the job may take were over after {len(tests)} of "
            f"{len(self.job.tests)} tests"
        )
        return replace(outcome, state=JobState.CUT_SHORT, reason=reason)

    def _binaries(self, folder: Path) -> tuple[BundleManifest, dict[str, Path]]:
        if self.job.bundle is not None:
            manifest = self._unpacked(folder)
            check_bundle_fits(manifest, self.job, self.probe)
            return manifest, {binary.name: folder / binary.path for binary in manifest.binaries}
        built = self._built()
        places = dict(built.sources)
        return built.manifest, {binary.name: places[binary.path] for binary in built.manifest.binaries}

    def _unpacked(self, folder: Path) -> BundleManifest:
        assert self.job.bundle is not None  # noqa: S101 - the caller looked
        path = self.runner.bundle or (Path(self.job.bundle.path) if self.job.bundle.path else None)
        if path is None or not path.is_file():
            raise BundleRefusedError(f"the bundle {self.job.bundle.sha256} is not here: `{path}`")
        return unpack_bundle(path, sha256=self.job.bundle.sha256, folder=folder)

    def _built(self) -> Built:
        assert self.job.crate is not None and self.job.commit is not None  # noqa: S101 - checked on reading
        source = self.work / "source"
        if self.job.checkout is not None:
            check_out(Path(self.job.checkout.repository), self.job.commit, source)
        else:
            unpack_source(self._given_source(), source)
        # What is cached is written by the code that is built, and goes into the binaries of later jobs.
        is_of_strangers = self.job.source is not None and self.job.source.is_of_strangers
        own = self.work if is_of_strangers else self.runner.cache
        return build_tests(
            source,
            BuildRequest(crate=self.job.crate, features=self.job.features),
            repository=self.job.checkout.repository if self.job.checkout else "source archive",
            commit=self.job.commit,
            target_folder=own / "target",
            work=self.work,
            toolchains=self.runner.cache / "toolchains",
        )

    def _given_source(self) -> Path:
        named = self.job.source.path if self.job.source else None
        path = self.runner.bundle or (Path(named) if named else None)
        if path is None or not path.is_file():
            raise BuildError(f"the source archive is not here: `{path}`")
        return path

    def _tracer(self) -> tuple[Tracer | None, str]:
        obstacle = self.probe.inability(TRACE)
        if obstacle is not None:
            return None, f"{obstacle.because} (reading `{obstacle.reading}`)"
        cupti, driver = self.probe.reading("cupti"), self.probe.reading("nvml")
        assert cupti is not None and driver is not None  # noqa: S101 - else there is an inability
        library = find_cupti(int(driver.values["cuda_driver"]), dict(cupti.values))
        assert library is not None  # noqa: S101 - else there is an inability
        try:
            tracer = prepare_tracer(
                cache=self.runner.cache, cupti=Path(library), prebuilt=self.runner.prebuilt_tracer
            )
        except TracerError as error:
            return None, str(error)
        return tracer, f"{tracer.origin}; CUPTI from {library}"

    def _trial(self, tracer: Tracer | None) -> Trial:
        tests = len(self.job.tests)
        output = max(4096, min(self.job.limits.output_bytes, _OUTPUT_BUDGET // (6 * tests)))
        environment = dict(self.job.environment)
        libraries = self.probe.reading("cuda.lib64")
        if libraries is not None and libraries.succeeded:
            environment["LD_LIBRARY_PATH"] = "/usr/local/cuda/lib64"
        return Trial(
            work=self.work,
            limits=replace(self.job.limits, output_bytes=output),
            tracer=tracer,
            user=self.runner.user(),
            sampler=NvmlSampler(),
            environment=environment,
            max_events=max(200, min(20_000, _EVENT_BUDGET // tests)),
        )

    def _on_device(
        self, trial: Trial, manifest: BundleManifest, binaries: dict[str, Path], tracer: str
    ) -> tuple[tuple[CanaryReading, ...], tuple[TestOutcome, ...]]:
        """Run the tests in their order, until all are done or the job's time on a device is over.

        A test that was begun is brought to its end, and the first one always is: so the last one may pass the
        job's time by what its own limits allow, and a job that is sent again for what was left over gets on.
        """
        canaries: list[CanaryReading] = []
        outcomes: list[TestOutcome] = []
        is_due = True
        used_s = 0.0
        for done, test in enumerate(self.job.tests):
            self._check_wanted()
            if done and self.job.gpu_s is not None and used_s >= self.job.gpu_s:
                break
            if is_due or done % BATCH == 0:
                canary = trial.canary()
                canaries.append(canary if trial.tracer else replace(canary, reason=tracer))
            evidence = self._missing(test, manifest, binaries) or trial.evidence(test, binaries[test.binary])
            used_s += evidence.gpu_s
            is_due = evidence.plain is not None and evidence.plain.run.ending is not Ending.EXITED
            outcomes.append(self._judged(test, evidence, canaries[-1], len(canaries) - 1))
            self.runner.progress(done + 1, len(self.job.tests))
        return tuple(canaries), tuple(outcomes)

    def _without_device(
        self, manifest: BundleManifest, binaries: dict[str, Path], reason: str
    ) -> Iterator[TestOutcome]:
        """Run what can be run without a device: whether a test passes there is a question of its own."""
        trial = self._trial(None)
        for done, test in enumerate(self.job.tests):
            self._check_wanted()
            evidence = self._missing(test, manifest, binaries)
            if evidence is None or evidence.not_built is None:
                hidden = trial.hidden(test, binaries[test.binary])
                evidence = TestEvidence(hidden=hidden, no_device=reason)
            self.runner.progress(done + 1, len(self.job.tests))
            yield self._judged(test, evidence)

    def _check_wanted(self) -> None:
        if not self.runner.is_wanted():
            raise _Ended(JobState.FAILED, "the lease was lost while the job ran")

    def _missing(
        self, test: TestSpec, manifest: BundleManifest, binaries: dict[str, Path]
    ) -> TestEvidence | None:
        """Give the evidence for a test that can't be run, and none where it can."""
        if test.binary not in binaries:
            said = next((entry.reason for entry in manifest.not_built if entry.name == test.binary), None)
            return TestEvidence(not_built=said or f"the bundle holds no test binary `{test.binary}`")
        lacking = lacking_device(test, self.probe)
        return TestEvidence(no_device=lacking) if lacking else None

    def _judged(
        self,
        test: TestSpec,
        evidence: TestEvidence,
        canary: CanaryReading | None = None,
        at: int | None = None,
    ) -> TestOutcome:
        return TestOutcome(test, evidence, judge(test, evidence, canary, self.job.families), at)


def lacking_device(test: TestSpec, probe: Probe) -> str | None:
    """Say which device the test needs and this machine has not, with the reading."""
    capabilities = [
        reading.values["compute_capability"]
        for reading in probe.readings
        if reading.name.startswith("nvml.device.") and reading.succeeded
    ]
    needed = test.needs.compute_capability
    fitting = [found for found in capabilities if needed is None or _ordered(found) >= _ordered(needed)]
    if len(fitting) >= test.needs.devices:
        return None
    kind = f" of compute capability {needed}" if needed else ""
    return f"needs {test.needs.devices} devices{kind}, NVML lists {len(fitting)} (reading `nvml`)"


def _ordered(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split(".") if part.isdigit())


def _salvaged_ids(raw: bytes) -> tuple[str, str]:
    """Read the ids out of a malformed job if they are there, so that its sender learns of it."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return "", ""
    if not isinstance(value, dict):
        return "", ""
    job_id, lease_id = value.get("job_id"), value.get("lease_id")
    return (job_id if isinstance(job_id, str) else ""), (lease_id if isinstance(lease_id, str) else "")


def _now() -> str:
    return datetime.now(UTC).isoformat()
