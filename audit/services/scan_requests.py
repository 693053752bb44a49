"""Asking for scans: from a revision somebody typed to the one scan of its commit."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, transaction
from django.db.models.functions import Now

from audit.errors import AuditError, LeaseLostError, RevisionUnknownError
from audit.models import (
    AskedBy,
    Branch,
    BranchScan,
    CapabilityReading,
    Commit,
    Repository,
    RepositoryKind,
    RowState,
    ScanRequest,
    ScanRun,
)
from audit.scanner.errors import ScanError
from audit.services import git_repository, scanning
from audit.services.git_transfer import repository_fetch
from audit.services.leases import lease_cancel, lease_claim, lease_fail, lease_finish, lease_kept
from audit.services.repositories import FOLDER_BRANCH, branch_note, commit_note

FOLLOWED_AT_MOST = 50
CONTROL_CHARACTERS = frozenset(map(chr, range(33))) | {"\x7f"}


def scan_request_create(
    *, repository: Repository, revision: str, actor: User | None, asked_by: AskedBy = AskedBy.PERSON
) -> ScanRequest:
    """Keep the wish to see a revision scanned. Whoever asks for the same while it waits shares it."""
    revision = revision_check(repository=repository, revision=revision)
    return _waiting_request(repository, revision=revision, follows=False, actor=actor, asked_by=asked_by)


def follow_request_create(*, repository: Repository, actor: User | None, asked_by: AskedBy) -> ScanRequest:
    """Keep the wish to see what is new on the branches that are followed; while it waits there is one."""
    return _waiting_request(repository, revision="", follows=True, actor=actor, asked_by=asked_by)


def _waiting_request(
    repository: Repository, *, revision: str, follows: bool, actor: User | None, asked_by: AskedBy
) -> ScanRequest:
    wish = {"repository": repository, "revision": revision, "follows": follows}
    # One that runs may have fetched before what this one is asked for was pushed.
    waiting = ScanRequest.objects.filter(**wish, state=RowState.PENDING)
    try:
        with transaction.atomic():
            return waiting.first() or ScanRequest.objects.create(
                **wish, requested_by=actor, asked_by=asked_by
            )
    except IntegrityError:
        # Another request for the same came first; it may even be over by now.
        return waiting.first() or ScanRequest.objects.filter(**wish).latest("id")


def scan_request_execute(*, pk: int) -> list[ScanRun]:
    """Turn a request into the scans it is for, fetching the origin first.

    Returns none when somebody else works on the request, or when it could not be met; its row says why.
    """
    lease_id = lease_claim(model=ScanRequest, pk=pk)
    if lease_id is None:
        return []
    request = ScanRequest.objects.select_related("repository").get(pk=pk)
    try:
        with lease_kept(row=request, lease_id=lease_id) as heartbeat:
            if request.repository.kind == RepositoryKind.GIT_URL:
                repository_fetch(repository=request.repository, go_on=heartbeat.note)
                Repository.objects.filter(pk=request.repository_id).update(fetched_at=Now())
            scan_runs = _followed(request) if request.follows else [_wished(request)]
        lease_finish(
            row=request, lease_id=lease_id, state=RowState.SUCCEEDED, scan_run=next(iter(scan_runs), None)
        )
    except LeaseLostError:
        return []
    except OperationalError:
        # The database is away: the row can't be written now, and its lease brings the request back.
        raise
    except (AuditError, ScanError) as error:
        lease_fail(row=request, lease_id=lease_id, reason=str(error))
        return []
    except Exception as error:
        lease_fail(
            row=request,
            lease_id=lease_id,
            reason=f"Preparing the scan broke down: {type(error).__name__}: {error}",
        )
        raise
    return scan_runs


def _wished(request: ScanRequest) -> ScanRun:
    repository = request.repository
    commit, branch = commit_locate(repository=repository, revision=request.revision)
    return scan_run_request(repository=repository, commit=commit, branch=branch, actor=request.requested_by)


def _followed(request: ScanRequest) -> list[ScanRun]:
    # What failed is left alone: it would fail again at every hour of the schedule.
    return [
        scan_run_request(
            repository=request.repository,
            commit=commit,
            branch=branch,
            actor=request.requested_by,
            tries_again=False,
        )
        for commit, branch in commits_followed(repository=request.repository)
    ]


def scan_request_cancel(*, scan_request: ScanRequest, actor: User) -> bool:
    """Stop a request that waits or runs; a fetch under way ends at once. False when it was over."""
    return lease_cancel(row=scan_request, actor=actor)


def commit_locate(*, repository: Repository, revision: str) -> tuple[Commit, Branch]:
    """Find the commit a revision names, and the branch it counts on."""
    if not repository.has_revisions:
        object_id = scanning.snapshot_id(folder=Path(repository.location))
        commit, _ = Commit.objects.get_or_create(repository=repository, object_id=object_id)
        return commit, branch_note(repository=repository, name=FOLDER_BRANCH, is_default=True)
    git_dir = git_repository.git_dir_of(repository)
    info = git_repository.commit_resolve(git_dir=git_dir, revision=revision)
    default = git_repository.default_branch(git_dir=git_dir)
    name = git_repository.branch_of(git_dir=git_dir, revision=revision, object_id=info.object_id)
    commit = commit_note(repository=repository, info=info)
    return commit, branch_note(repository=repository, name=name, is_default=name == default)


def commits_followed(*, repository: Repository) -> list[tuple[Commit, Branch]]:
    """Find the newest commit of each branch that is followed, the default branch first."""
    patterns = repository.followed_branches
    if not patterns or not repository.has_revisions:
        return [commit_locate(repository=repository, revision="")]
    git_dir = git_repository.git_dir_of(repository)
    default = git_repository.default_branch(git_dir=git_dir)
    names = [
        name
        for name in git_repository.branch_names(git_dir=git_dir)
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not names:
        raise RevisionUnknownError(
            f"The repository has no branch named {', '.join(f'`{pattern}`' for pattern in patterns)}. "
            "Change which branches are followed in its settings."
        )
    found = []
    for name in names[:FOLLOWED_AT_MOST]:
        info = git_repository.commit_resolve(git_dir=git_dir, revision=f"refs/heads/{name}")
        commit = commit_note(repository=repository, info=info)
        found.append((commit, branch_note(repository=repository, name=name, is_default=name == default)))
    return found


def scan_run_request(
    *,
    repository: Repository,
    commit: Commit,
    branch: Branch | None,
    actor: User | None,
    tries_again: bool = True,
) -> ScanRun:
    """Ask for the scan of a commit by the current judge: one row, whoever asks and however often.

    A scan that failed or was cancelled is tried again if wanted. One that succeeded is not repeated, unless
    another branch has come to its commit since: then it is held against what is open on that branch.
    """
    judge = scanning.judge_current(repository=repository, commit=commit)
    scan_run, is_new = ScanRun.objects.get_or_create(
        commit=commit,
        scanner_version=judge.scanner_version,
        profile_hash=judge.profile_hash,
        ptxas_version=judge.ptxas_version,
        policy_version=judge.policy_version,
        defaults={
            "repository": repository,
            "branch": branch,
            "profile_name": judge.profile_name,
            "requested_by": actor,
        },
    )
    if not is_new:
        again = [RowState.FAILED, RowState.CANCELLED] if tries_again else []
        if branch is not None and (_moves_on(branch, scan_run) or _lacks_matrix(branch, scan_run)):
            again.append(RowState.SUCCEEDED)
        ScanRun.objects.filter(pk=scan_run.pk, state__in=again).update(
            state=RowState.PENDING,
            branch=branch,
            failure_reason="",
            attempts=0,
            woken_at=None,
            finished_at=None,
            phase="",
            done=0,
            total=0,
            requested_by=actor,
            cancelled_by=None,
        )
        scan_run.refresh_from_db()
    return scan_run


def _lacks_matrix(branch: Branch, scan_run: ScanRun) -> bool:
    """Whether a branch shows a scan that was made of its past, which does not say what the code can do."""
    readings = CapabilityReading.objects.filter(scan_run=scan_run)
    is_of_the_past = BranchScan.objects.filter(scan_run=scan_run).exists() and not readings.exists()
    return branch.last_scan_id == scan_run.pk and is_of_the_past


def _moves_on(branch: Branch, scan_run: ScanRun) -> bool:
    """Whether a branch has come to a scan's commit since it was moved last: forward, or put back there."""
    last = branch.last_scan
    if branch.last_scan_id == scan_run.pk:
        return False
    # A plain folder is asked about as it stands now: another state than the last one is where it has come to.
    if last is None or scan_run.commit.is_snapshot:
        return True
    git_dir = git_repository.git_dir_of(scan_run.repository)
    object_id = scan_run.commit.object_id
    if not git_repository.is_ancestor(git_dir=git_dir, object_id=object_id, of=last.commit.object_id):
        return True
    return git_repository.is_tip(git_dir=git_dir, object_id=object_id, branch=branch.name)


def revision_check(*, repository: Repository, revision: str) -> str:
    """Return the revision as it is looked up, or raise where it can't be one."""
    revision = revision.strip()
    if revision and not repository.has_revisions:
        raise RevisionUnknownError(
            f"`{repository.location}` is a plain folder and has no revisions. Leave the field empty to scan "
            "it as it is."
        )
    if revision.startswith("-") or CONTROL_CHARACTERS & set(revision):
        raise RevisionUnknownError(f"`{revision}` is no name of a branch, tag or commit.")
    if len(revision) > 255:
        raise RevisionUnknownError("A revision has at most 255 characters.")
    return revision
