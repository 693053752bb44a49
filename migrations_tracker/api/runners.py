"""What runners ask of the web app: each with its own token, each for its own job."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Concatenate, ParamSpec

from django.http import FileResponse, HttpRequest, HttpResponseBase, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from audit.models import RowState
from migrations_tracker.services.verification_follow_up import verification_follow_up
from workers.errors import MachineryError, NotAuthorisedError
from workers.models import Runner, VerificationJob
from workers.protocol.codec import MAX_DOCUMENT_BYTES, MalformedError, from_bytes, to_json
from workers.protocol.readings import Probe
from workers.protocol.report import MAX_LOG_BYTES, Heartbeat
from workers.services.bundles import bundle_place, source_archive
from workers.services.outcomes import log_keep, outcome_accept
from workers.services.runners import runner_by_token, runner_heartbeat, runner_register

BAD_REQUEST, UNAUTHORISED, NOT_FOUND, CONFLICT, TOO_LARGE = 400, 401, 404, 409, 413
MAX_PROBE_BYTES = 4 * 1024**2
_CHUNK = 1 << 20
_P = ParamSpec("_P")


class TooLargeError(Exception):
    """A body that is larger than what may come here."""


def _answered(
    view: Callable[Concatenate[HttpRequest, _P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, _P], HttpResponseBase]:
    """Answer what goes wrong as JSON with one sentence."""

    def answer(request: HttpRequest, /, *args: _P.args, **kwargs: _P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotAuthorisedError as error:
            return _refusal(str(error), UNAUTHORISED)
        except TooLargeError as error:
            return _refusal(str(error), TOO_LARGE)
        except MalformedError as error:
            return _refusal(str(error), BAD_REQUEST)
        except MachineryError as error:
            return _refusal(str(error), CONFLICT)

    return update_wrapper(answer, view)


@csrf_exempt
@require_POST
@_answered
def register(request: HttpRequest) -> HttpResponseBase:
    """Turn a registration token into what a runner works with."""
    probe = from_bytes(Probe, _body(request, MAX_PROBE_BYTES))
    return JsonResponse(to_json(runner_register(token=_token(request), probe=probe)))


@csrf_exempt
@require_POST
@_answered
def heartbeat(request: HttpRequest) -> HttpResponseBase:
    """Hear that a runner lives."""
    runner = _runner(request)
    beat = from_bytes(Heartbeat, _body(request, MAX_PROBE_BYTES))
    return JsonResponse(to_json(runner_heartbeat(runner=runner, heartbeat=beat)))


@require_GET
@_answered
def job_bundle(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Hand out the bundle of the job that the runner holds."""
    job = _leased_job(request, pk)
    if job.bundle is None:
        return _refusal("The job has no bundle.", NOT_FOUND)
    return _file(bundle_place(job.bundle.sha256), job.bundle.sha256)


@require_GET
@_answered
def job_source(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Hand out the files of the commit of the job that the runner holds."""
    job = _leased_job(request, pk)
    if job.commit is None or job.commit.is_snapshot:
        return _refusal("The job has no commit.", NOT_FOUND)
    with tempfile.TemporaryDirectory(prefix="source-") as folder:
        target = Path(folder) / "source.tar"
        digest = source_archive(repository=job.repository, commit=job.commit.object_id, target=target)
        # The open file outlives its name.
        return _file(target, digest)


@csrf_exempt
@require_POST
@_answered
def job_log(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Keep what the runner wrote."""
    job = _leased_job(request, pk)
    log_keep(job=job, text=_body(request, MAX_LOG_BYTES).decode(errors="replace"))
    return JsonResponse({"kept": True})


@csrf_exempt
@require_POST
@_answered
def job_outcome(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Take an outcome."""
    runner = _runner(request)
    job = outcome_accept(
        runner=runner, job_id=pk, raw=_body(request, MAX_DOCUMENT_BYTES), after=verification_follow_up
    )
    return JsonResponse({"state": job.state})


def _token(request: HttpRequest) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _runner(request: HttpRequest) -> Runner:
    return runner_by_token(token=_token(request))


def _leased_job(request: HttpRequest, pk: int) -> VerificationJob:
    """Find the job that this runner holds under the lease it names; another's is not there for it."""
    job = (
        VerificationJob.objects.select_related("bundle", "commit", "repository")
        .filter(pk=pk, runner=_runner(request), state=RowState.RUNNING)
        .first()
    )
    if job is None or str(job.lease_id) != request.GET.get("lease", ""):
        raise MachineryError(f"Job {pk} is not leased to this runner.")
    return job


def _body(request: HttpRequest, limit: int) -> bytes:
    """Read a body up to its limit; what is larger is not read to its end."""
    promised = request.headers.get("Content-Length") or "0"
    if not promised.isdecimal() or int(promised) > limit:
        raise TooLargeError(f"{promised[:40]} bytes: the limit here is {limit}.")
    chunks: list[bytes] = []
    read = 0
    while chunk := request.read(_CHUNK):
        read += len(chunk)
        if read > limit:
            raise TooLargeError(f"More than {limit} bytes.")
        chunks.append(chunk)
    return b"".join(chunks)


def _file(place: Path, digest: str) -> HttpResponseBase:
    if not place.is_file():
        return _refusal("The file is not here any more.", NOT_FOUND)
    response = FileResponse(place.open("rb"), content_type="application/x-tar")
    response["X-Content-SHA256"] = digest
    return response


def _refusal(message: str, status: int) -> HttpResponseBase:
    return JsonResponse({"error": message}, status=status)
