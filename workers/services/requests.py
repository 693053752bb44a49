"""From a wish to see something verified to the jobs that do it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, transaction

from audit.errors import AuditError, LeaseLostError
from audit.models import Capability, Commit, FallbackSite, Repository, RowState, ScanRun, SiteState
from audit.scanner.errors import ScanError
from audit.scanner.judge import Judgement
from audit.scanner.link.unit import Fn
from audit.scanner.proof.reaching import Launched, Proofs, ReachingTest
from audit.services import git_repository
from audit.services.leases import lease_claim, lease_finish, lease_kept
from audit.services.scanning import commit_observe
from workers.errors import MachineryError
from workers.models import RequestTarget, TestBundle, VerificationJob, VerificationRequest
from workers.protocol.codec import MalformedError
from workers.protocol.job import BundleRef, JobKind, JobSpec, PtxText, SourceArchive
from workers.services.events import event_note
from workers.services.expectations import FAMILIES, spec_of
from workers.services.jobs import UNSENT, FunctionProof, job_create

MAX_TESTS_PER_JOB = 200
MAX_LISTED = 2000
MAX_PTX_PER_JOB = 200


@dataclass(slots=True)
class Chosen:
    """A test that is to run, what it should launch, and the functions that it may be proof of."""

    test: ReachingTest
    launched: Launched
    proofs: list[FunctionProof] = field(default_factory=list)
    is_touched: bool = False


@dataclass(slots=True)
class Found:
    """What reading the commit gave: tests to run, all tests that reach the target, and what to tell."""

    chosen: list[Chosen] = field(default_factory=list)
    listed: list[ReachingTest] = field(default_factory=list)
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ptx: list[PtxText] = field(default_factory=list)
    note: str = ""


def verification_request_create(
    *,
    repository: Repository,
    commit: Commit,
    target: RequestTarget,
    text: str = "",
    site: FallbackSite | None = None,
    actor: User | None,
    is_nightly: bool = False,
) -> VerificationRequest:
    """Keep the wish; who asks for the same while it is open shares it."""
    text = text.replace("\0", "").strip()
    if not text and target not in (RequestTarget.COMMIT, RequestTarget.PTX):
        raise MachineryError("Say what is to be verified.")
    wish = {"commit": commit, "target": target, "text": text}
    still_open = VerificationRequest.objects.filter(**wish, state__in=[RowState.PENDING, RowState.RUNNING])
    try:
        with transaction.atomic():
            return still_open.first() or VerificationRequest.objects.create(
                **wish, repository=repository, site=site, requested_by=actor, is_nightly=is_nightly
            )
    except IntegrityError:
        return still_open.first() or VerificationRequest.objects.filter(**wish).latest("id")


def commit_of_last_scan(*, repository: Repository) -> Commit:
    """Give the commit that the default branch's pages show."""
    branches = repository.branches.select_related("last_scan__commit")
    branch = branches.filter(name=repository.default_branch).first()
    if branch is None or branch.last_scan is None:
        raise MachineryError(f"{repository} has no finished scan: scan it first.")
    return branch.last_scan.commit


def verification_request_execute(*, pk: int) -> list[VerificationJob]:
    """Read the commit, list the tests that reach the target, and make jobs of those that open a device."""
    lease_id = lease_claim(model=VerificationRequest, pk=pk)
    if lease_id is None:
        return []
    related = VerificationRequest.objects.select_related("repository", "commit", "site", "requested_by")
    request = related.get(pk=pk)
    try:
        with lease_kept(row=request, lease_id=lease_id):
            found = _find(request)
        with transaction.atomic():
            jobs = _jobs(request, found)
            lease_finish(
                row=request,
                lease_id=lease_id,
                state=RowState.SUCCEEDED,
                tests=[asdict(test) for test in found.listed[:MAX_LISTED]],
                note=found.note,
            )
    except LeaseLostError:
        return []
    except OperationalError:
        raise
    except (AuditError, ScanError, MachineryError, MalformedError) as error:
        with suppress(LeaseLostError):
            lease_finish(row=request, lease_id=lease_id, state=RowState.FAILED, reason=str(error))
        return []
    except Exception as error:
        reason = f"Preparing the verification broke down: {type(error).__name__}: {error}"
        with suppress(LeaseLostError):
            lease_finish(row=request, lease_id=lease_id, state=RowState.FAILED, reason=reason)
        raise
    return jobs


def _find(request: VerificationRequest) -> Found:
    found = Found()
    symbols = _symbols(request)
    changed = _changed(request)

    def observe(judgement: Judgement) -> None:
        proofs = Proofs(judgement)
        if request.target == RequestTarget.PTX:
            _find_ptx(judgement, found)
        elif request.target in (RequestTarget.CRATE, RequestTarget.COMMIT, RequestTarget.CHANGE):
            _find_all(request, judgement, proofs, changed, found)
        else:
            _find_reaching(proofs, symbols, found)
        features = frozenset(judgement.profile.gpu.features)
        for package in judgement.workspace.packages:
            found.features[package.name] = tuple(sorted(features & frozenset(package.features)))[:1]

    commit_observe(repository=request.repository, commit=request.commit, observe=observe)
    return found


def _find_ptx(judgement: Judgement, found: Found) -> None:
    """Collect the PTX texts of the commit, each under the symbol that its results have."""
    kernels = judgement.kernels
    found.ptx.extend(
        PtxText(symbol[:300], text.text) for symbol, text in zip(kernels.symbols, kernels.texts, strict=True)
    )
    if not found.ptx:
        found.note = "The commit holds no PTX text: there is nothing to load."


def _find_reaching(proofs: Proofs, symbols: Sequence[str], found: Found) -> None:
    """List every test that reaches one of the functions, and choose those that open a device."""
    chosen: dict[tuple[str, str, str], Chosen] = {}
    listed: dict[tuple[str, str, str], ReachingTest] = {}
    functions = [one for symbol in symbols for one in proofs.named(symbol)]
    for function in functions:
        launched = proofs.launched(function)
        proof = FunctionProof(function.symbol, proofs.digest(function), launched.kernels)
        for test in proofs.tests_of(function):
            key = (test.crate, test.binary, test.name)
            listed.setdefault(key, test)
            if not _can_prove(test):
                continue
            one = chosen.setdefault(key, Chosen(test, launched))
            if all(known.symbol != proof.symbol for known in one.proofs):
                one.proofs.append(proof)
                one.launched = _both(one.launched, launched)
    found.listed, found.chosen = list(listed.values()), list(chosen.values())
    if not functions:
        found.note = f"The commit has no function {' or '.join(symbols) or 'for it'}."
    elif not chosen:
        found.note = "No test that opens a device and runs by itself reaches it: there is nothing to run."


def _find_all(
    request: VerificationRequest, judgement: Judgement, proofs: Proofs, changed: frozenset[str], found: Found
) -> None:
    """Choose every test that opens a device, in the crate or everywhere: what changed first, or alone."""
    digests: dict[int, FunctionProof] = {}

    def proof(function: Fn) -> FunctionProof:
        if function.index not in digests:
            kernels = proofs.launched(function).kernels
            digests[function.index] = FunctionProof(function.symbol, proofs.digest(function), kernels)
        return digests[function.index]

    for test in judgement.reach.device_tests:
        if test.facts.has_spliced_name or test.unit.package is None:
            continue
        told = proofs.told(test)
        if request.target == RequestTarget.CRATE and told.crate != request.text:
            continue
        reached = proofs.reached_by(test)
        is_touched = any(function.unit.path in changed for function in (test, *proofs.run_by(test)))
        if request.target == RequestTarget.CHANGE and not is_touched:
            continue
        chosen = Chosen(told, proofs.launched(test), [proof(function) for function in reached], is_touched)
        found.chosen.append(chosen)
    found.chosen.sort(key=lambda one: (not one.is_touched, one.test.crate, one.test.binary, one.test.name))
    found.listed = [one.test for one in found.chosen]
    if not found.chosen:
        which = {
            RequestTarget.CRATE: f"in crate `{request.text}`",
            RequestTarget.CHANGE: f"that runs what changed since {request.text[:9]}",
        }.get(RequestTarget(request.target), "in the commit")
        found.note = f"No test {which} opens a device and runs by itself: there is nothing to run."


def _jobs(request: VerificationRequest, found: Found) -> list[VerificationJob]:
    if found.ptx:
        return _ptx_jobs(request, found.ptx)
    # What was touched has jobs of its own: no crate's rest runs before what changed in another.
    by_crate: dict[tuple[bool, str], list[Chosen]] = defaultdict(list)
    for one in found.chosen:
        by_crate[not one.is_touched, one.test.crate].append(one)
    return [
        _job(request, crate, tests[start : start + MAX_TESTS_PER_JOB], found.features)
        for (_, crate), tests in by_crate.items()
        for start in range(0, len(tests), MAX_TESTS_PER_JOB)
    ]


def _ptx_jobs(request: VerificationRequest, texts: Sequence[PtxText]) -> list[VerificationJob]:
    """Make jobs that load texts on a real driver: they need neither Rust nor a bundle."""
    is_of_strangers = _is_of_strangers(request.repository, request.commit)
    return [
        job_create(
            repository=request.repository,
            spec=JobSpec(UNSENT, UNSENT, JobKind.PTX, ptx=tuple(texts[start : start + MAX_PTX_PER_JOB])),
            subject=f"{len(texts[start : start + MAX_PTX_PER_JOB])} PTX texts of {request.commit}",
            actor=request.requested_by,
            commit=request.commit,
            request=request,
            wants_approval=is_of_strangers,
            is_nightly=request.is_nightly,
        )
        for start in range(0, len(texts), MAX_PTX_PER_JOB)
    ]


def _job(
    request: VerificationRequest, crate: str, tests: Sequence[Chosen], features: dict[str, tuple[str, ...]]
) -> VerificationJob:
    repository, commit = request.repository, request.commit
    bundle = TestBundle.objects.filter(repository=repository, commit=commit.object_id, crate=crate).first()
    if bundle is None and commit.is_snapshot:
        raise MachineryError(
            f"A plain folder has no commit to build from. Bundle its crate `{crate}`, or scan it as a git "
            "repository."
        )
    is_of_strangers = _is_of_strangers(repository, commit)
    spec = JobSpec(
        UNSENT,
        UNSENT,
        JobKind.VERIFY,
        commit=commit.object_id,
        crate=crate,
        features=tuple(bundle.features) if bundle is not None else features.get(crate, ()),
        bundle=BundleRef(bundle.sha256) if bundle is not None else None,
        source=SourceArchive(is_of_strangers=is_of_strangers) if bundle is None else None,
        tests=tuple(spec_of(one.test, one.launched) for one in tests),
        families=FAMILIES,
    )
    job = job_create(
        repository=repository,
        spec=spec,
        subject=f"{request}: {len(tests)} tests of {crate}",
        actor=request.requested_by,
        commit=commit,
        site=request.site,
        bundle=bundle,
        functions={place: one.proofs for place, one in enumerate(tests)},
        request=request,
        wants_approval=is_of_strangers,
        is_nightly=request.is_nightly,
    )
    if job.waits_for_approval:
        event_note(act="waits for approval", job=job, detail="its commit is on none of the branches")
    return job


def _is_of_strangers(repository: Repository, commit: Commit) -> bool:
    """Whether a commit is on none of the repository's own branches, as those of forks are."""
    if not repository.has_revisions or commit.is_snapshot:
        return False
    git_dir = git_repository.git_dir_of(repository)
    return not git_repository.is_on_a_branch(git_dir=git_dir, object_id=commit.object_id)


def _symbols(request: VerificationRequest) -> list[str]:
    if request.target == RequestTarget.SITE and request.site is not None:
        states = SiteState.objects.filter(site=request.site).values_list("symbol", flat=True)
        return sorted({request.site.symbol, *states})
    if request.target == RequestTarget.OPERATION:
        scan = ScanRun.objects.filter(commit=request.commit, state=RowState.SUCCEEDED).order_by("-id").first()
        cells = Capability.objects.filter(scan_run=scan, operator=request.text)
        return sorted({symbol for symbols in cells.values_list("symbols", flat=True) for symbol in symbols})
    return [request.text]


def _changed(request: VerificationRequest) -> frozenset[str]:
    if not request.repository.has_revisions or request.commit.is_snapshot:
        return frozenset()
    git_dir = git_repository.git_dir_of(request.repository)
    since = request.text if request.target == RequestTarget.CHANGE else ""
    return git_repository.paths_changed(git_dir=git_dir, object_id=request.commit.object_id, since=since)


def _can_prove(test: ReachingTest) -> bool:
    return test.opens_device and not test.is_ignored and not test.is_dead


def _both(one: Launched, other: Launched) -> Launched:
    def union(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({*first, *second}))

    return Launched(union(one.kernels, other.kernels), union(one.families, other.families))
