"""`GET /api/verifications/SLUG`: the last word of each test, for `python -m audit.scanner.proof --runs`."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from audit.models import Commit, Repository
from migrations_tracker.api.access import NOT_FOUND, RefusedError, for_programs
from workers.errors import MachineryError
from workers.selectors.verifications import last_words
from workers.services.requests import commit_of_last_scan


@require_GET
@for_programs
def last_words_of(request: HttpRequest, owner: User, slug: str) -> HttpResponse:
    """Answer with what GPU runs say of a commit: `?commit=`, or that of the default branch's last scan."""
    repository = Repository.objects.filter(slug=slug).first()
    if repository is None:
        raise RefusedError("There is no such repository.", NOT_FOUND)
    words = last_words(repository=repository, commit=_commit(repository, request.GET.get("commit", "")))
    tests = [
        {
            "crate": crate,
            "binary": binary,
            "test": test,
            "verdict": word.verdict,
            "is_proof": word.is_proof,
            "passes_without_gpu": word.passes_without_gpu,
            "commit": word.commit,
        }
        for (crate, binary, test), word in words.items()
    ]
    return JsonResponse(tests, safe=False)


def _commit(repository: Repository, object_id: str) -> Commit:
    if object_id:
        found = Commit.objects.filter(repository=repository, object_id=object_id.replace("\0", "")).first()
        if found is None:
            raise RefusedError("There is no such commit here.", NOT_FOUND)
        return found
    try:
        return commit_of_last_scan(repository=repository)
    except MachineryError as error:
        raise RefusedError(str(error), NOT_FOUND) from error
