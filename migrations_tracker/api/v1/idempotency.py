"""The same write sent twice is done once: `Idempotency-Key`.

After the IETF draft "The Idempotency-Key HTTP Header Field": the first answer is kept and given again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse

from migrations_tracker.api.v1.problems import RefusedError, problem
from migrations_tracker.api.v1.security import SAFE_METHODS, token_hold
from migrations_tracker.models import ApiAnswer, ApiToken
from migrations_tracker.services.api_answers import (
    api_answer_forget,
    api_answer_keep,
    api_answer_reserve,
)
from migrations_tracker.services.api_tokens import api_token_use

HEADER = "Idempotency-Key"
MAX_KEY = 200
_View = Callable[..., HttpResponse]


def idempotent(view: _View) -> _View:
    """Answer a request with a key that was answered before as it was answered then."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method in SAFE_METHODS:
            # A read changes nothing, its answer may be a stream, and it is to be of now.
            return view(request, *args, **kwargs)
        try:
            body = request.body
        except RequestDataTooBig:
            return problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"A body has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes.",
            )
        key = request.headers.get(HEADER, "")
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        token = api_token_use(text=text.strip()) if key and scheme.lower() == "bearer" else None
        if token is None:
            return view(request, *args, **kwargs)
        if len(key) > MAX_KEY or not key.isprintable():
            return problem(HTTPStatus.BAD_REQUEST, f"`{HEADER}` has at most {MAX_KEY} printable characters.")
        digest = hashlib.sha256(
            b"\0".join(((request.method or "").encode(), request.get_full_path().encode(), body))
        ).hexdigest()
        row = api_answer_reserve(owner=token.owner, key=key, digest=digest)
        if row is not None:
            return _again(row, digest, request, token)
        response = view(request, *args, **kwargs)
        if response.status_code < HTTPStatus.BAD_REQUEST:
            api_answer_keep(
                owner=token.owner, key=key, status=response.status_code, body=response.content.decode()
            )
        else:
            # What was refused was not done: the same key may be tried again.
            api_answer_forget(owner=token.owner, key=key)
        return response

    return answer


def _again(row: ApiAnswer, digest: str, request: HttpRequest, token: ApiToken) -> HttpResponse:
    try:
        token_hold(request, token)
    except RefusedError as error:
        # What a request deleted is not there to be asked about, and such an answer is empty.
        if error.status != HTTPStatus.NOT_FOUND or row.body or row.request_digest != digest:
            return problem(error.status, str(error), headers=error.headers)
    if row.request_digest != digest:
        return problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"This `{HEADER}` was used for another request: take a new one."
        )
    if row.status is None:
        return problem(HTTPStatus.CONFLICT, "The first request with this key is still being answered.")
    return HttpResponse(
        row.body,
        status=row.status,
        content_type="application/json; charset=utf-8",
        headers={"Idempotency-Replayed": "true"},
    )
