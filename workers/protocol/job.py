"""What a runner is asked to do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workers.protocol.codec import MalformedError, from_json, parse

PROTOCOL_VERSION = 1

_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_CRATE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_TEST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:#<>(), ]{0,299}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")

#: Variables that decide what is loaded into the process or what the tracer sees: not for a job to set.
RESERVED_VARIABLES = ("LD_", "CUDA_INJECTION", "CUDA_VISIBLE_DEVICES", "FERROAUDIT_", "NVTX_INJECTION")


class JobKind(StrEnum):
    """What kind of answer is wanted."""

    VERIFY = "verify"
    PTX = "ptx"
    PROBE = "probe"


class Expect(StrEnum):
    """What a test is there to prove."""

    ON_DEVICE = "on-device"
    REFUSED = "refused"
    OPT_IN = "opt-in"
    COMPOSITE = "composite"


@dataclass(frozen=True, slots=True)
class KernelFamily:
    """Kernels known by who launches them: a library's file name begins with one of `libraries`, or the
    kernel's name matches one of the regular expressions in `kernels`.
    """

    name: str
    libraries: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an expression that does not compile."""
        for pattern in self.kernels:
            try:
                re.compile(pattern)
            except re.error as error:
                raise MalformedError(f"kernel pattern `{pattern}` does not compile: {error}") from error


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the evidence has to show.

    Each of `kernels` must be seen, and one of `any_kernel` where some are named; each of `families` must be
    seen at least once. `opt_in_variable` and `opt_in_kernel` belong to `opt-in`; `error` is the name of the
    structured error's variant that the log of a refusal holds.
    """

    kind: Expect
    kernels: tuple[str, ...] = ()
    any_kernel: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    opt_in_variable: str | None = None
    opt_in_kernel: str | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        """Refuse an expectation that nothing could meet or that nothing could miss."""
        names_kernels = bool(self.kernels or self.any_kernel or self.families)
        if self.kind is Expect.ON_DEVICE and not names_kernels:
            raise MalformedError("`on-device` names no kernel and no family")
        if self.kind is Expect.OPT_IN and not (self.opt_in_variable and self.opt_in_kernel and self.error):
            raise MalformedError("`opt-in` needs opt_in_variable, opt_in_kernel and error")
        if self.opt_in_variable is not None:
            check_variable(self.opt_in_variable)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What the scanner read in the test's source; null is "not known"."""

    asserts_structured_error: bool | None = None
    compares_values: bool | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """What a test needs of the machine."""

    devices: int = 1
    compute_capability: str | None = None


@dataclass(frozen=True, slots=True)
class TestSpec:
    """One test: its binary in the bundle, its name there, and what it has to show."""

    __test__ = False

    binary: str
    name: str
    expectation: Expectation
    facts: SourceFacts = field(default_factory=SourceFacts)
    needs: Needs = field(default_factory=Needs)
    include_ignored: bool = False
    wall_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse names that are not names."""
        _require(_IDENTIFIER, self.binary, "binary")
        _require(_TEST, self.name, "name")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of one test may use."""

    wall_s: float = 120.0
    cpu_s: int = 600
    memory_bytes: int = 16 * 1024**3
    disk_bytes: int = 2 * 1024**3
    output_bytes: int = 256 * 1024
    processes: int = 256
    trace_bytes: int = 64 * 1024**2

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        for name in (
            "wall_s",
            "cpu_s",
            "memory_bytes",
            "disk_bytes",
            "output_bytes",
            "processes",
            "trace_bytes",
        ):
            if getattr(self, name) <= 0:
                raise MalformedError(f"limit `{name}` is not above 0")


@dataclass(frozen=True, slots=True)
class BundleRef:
    """A test bundle by its checksum. `path` is for the file door; else it is fetched by checksum."""

    sha256: str
    path: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no checksum."""
        _require(_DIGEST, self.sha256, "sha256")


@dataclass(frozen=True, slots=True)
class Checkout:
    """A git repository on the runner to build from."""

    repository: str


@dataclass(frozen=True, slots=True)
class SourceArchive:
    """The commit's files as a tar archive to build from. `path` is for the file door; else it is fetched.

    What `is_of_strangers` is built apart from everything that later builds use.
    """

    path: str | None = None
    is_of_strangers: bool = False


@dataclass(frozen=True, slots=True)
class PtxText:
    """One PTX text to load on the driver."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """What the text is known by."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job, bound to one lease. A runner that gets it checks all of it before it does anything.

    `gpu_s` is for how long its tests may be on a device in all: no test is begun after that, and what is left
    over comes back to whoever sent the job. Null is without a limit.
    """

    job_id: str
    lease_id: str
    kind: JobKind
    version: int = PROTOCOL_VERSION
    commit: str | None = None
    crate: str | None = None
    features: tuple[str, ...] = ()
    bundle: BundleRef | None = None
    checkout: Checkout | None = None
    source: SourceArchive | None = None
    tests: tuple[TestSpec, ...] = ()
    families: tuple[KernelFamily, ...] = ()
    ptx: tuple[PtxText, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    gpu_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse a job that contradicts itself."""
        if self.version != PROTOCOL_VERSION:
            raise MalformedError(f"version {self.version}: this runner speaks {PROTOCOL_VERSION}")
        _require(_IDENTIFIER, self.job_id, "job_id")
        _require(_IDENTIFIER, self.lease_id, "lease_id")
        for name in self.environment:
            check_variable(name)
        if self.gpu_s is not None and self.gpu_s <= 0:
            raise MalformedError("`gpu_s` is not above 0")
        if self.kind is JobKind.VERIFY:
            self._check_verify()
        if self.kind is JobKind.PTX and not self.ptx:
            raise MalformedError("a `ptx` job holds no PTX")

    def _check_verify(self) -> None:
        if self.commit is None or self.crate is None:
            raise MalformedError("a `verify` job names its commit and its crate")
        _require(_COMMIT, self.commit, "commit")
        _require(_CRATE, self.crate, "crate")
        for feature in self.features:
            _require(_CRATE, feature.replace("/", "_"), "features")
        if [self.bundle, self.checkout, self.source].count(None) != 2:
            raise MalformedError("a `verify` job has one of a bundle, a checkout and a source archive")
        if not self.tests:
            raise MalformedError("a `verify` job names no test")
        known = {family.name for family in self.families}
        for test in self.tests:
            for family in test.expectation.families:
                if family not in known:
                    raise MalformedError(
                        f"test `{test.name}` expects the family `{family}`, which is not given"
                    )


def read_job(raw: bytes) -> JobSpec:
    """Read a job that comes from outside."""
    value = parse(raw)
    if isinstance(value, dict) and type(value.get("version")) is int and value["version"] != PROTOCOL_VERSION:
        raise MalformedError(f"version {value['version']}: this runner speaks {PROTOCOL_VERSION}")
    return from_json(JobSpec, value, "job")


def check_variable(name: str) -> None:
    """Refuse an environment variable that a job may not set."""
    _require(_VARIABLE, name, "environment variable")
    if name.startswith(RESERVED_VARIABLES):
        raise MalformedError(f"environment variable `{name}` is the runner's own")


def _require(pattern: re.Pattern[str], value: str, what: str) -> None:
    if not pattern.fullmatch(value):
        raise MalformedError(f"{what} `{value[:120]}` does not match `{pattern.pattern}`")
