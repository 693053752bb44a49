"""The runner's side of HTTPS: registration, heartbeats, bundles and sources down, logs and outcomes up."""

from __future__ import annotations

import hashlib
import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.protocol.codec import MalformedError, canonical_bytes, from_bytes
from workers.protocol.readings import Probe
from workers.protocol.report import Heartbeat, HeartbeatAnswer, Registration
from workers.runner.bundle import MAX_BUNDLE_BYTES

MAX_SOURCE_BYTES = 1024**3
_MAX_ANSWER_BYTES = 64 * 1024
_TIMEOUT_S = 30
_CHUNK = 1 << 20


class ServerError(RuntimeError):
    """The server could not be reached, or refused; the message is its own."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: the token is for the server that was configured."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


@dataclass(frozen=True, slots=True)
class Server:
    """The web app as one runner sees it."""

    address: str
    token: str

    def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Say that this runner lives; hear whether its lease still holds."""
        return from_bytes(HeartbeatAnswer, self._post("/api/runner/heartbeat", canonical_bytes(heartbeat)))

    def send_outcome(self, job_id: str, document: bytes) -> None:
        """Send a signed outcome."""
        self._post(f"/api/runner/jobs/{job_id}/outcome", document)

    def send_log(self, job_id: str, lease_id: str, text: str) -> None:
        """Send what the job's run wrote."""
        self._post(f"/api/runner/jobs/{job_id}/log?lease={lease_id}", text.encode())

    def fetch_bundle(self, job_id: str, lease_id: str, target: Path) -> None:
        """Fetch the bundle of a job; the job itself names its checksum."""
        self._fetch(f"/api/runner/jobs/{job_id}/bundle?lease={lease_id}", target, MAX_BUNDLE_BYTES)

    def fetch_source(self, job_id: str, lease_id: str, target: Path) -> None:
        """Fetch the files of a job's commit, as a tar archive."""
        self._fetch(f"/api/runner/jobs/{job_id}/source?lease={lease_id}", target, MAX_SOURCE_BYTES)

    def _post(self, path: str, body: bytes) -> bytes:
        return _answer(self._request(path, body))

    def _request(self, path: str, body: bytes | None) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return urllib.request.Request(self.address + path, data=body, headers=headers)  # noqa: S310

    def _fetch(self, path: str, target: Path, limit: int) -> None:
        digest, size = hashlib.sha256(), 0
        with _opened(self._request(path, None)) as response, target.open("wb") as out:
            while chunk := response.read(_CHUNK):
                size += len(chunk)
                if size > limit:
                    raise ServerError(f"`{path}` is larger than {limit} bytes")
                digest.update(chunk)
                out.write(chunk)
            promised = response.headers.get("X-Content-SHA256", "")
        if digest.hexdigest() != promised:
            raise ServerError(f"`{path}` arrived as {digest.hexdigest()}, the server says `{promised}`")


def register(address: str, registration_token: str, probe: Probe) -> Registration:
    """Turn a registration token, which works once, into what the runner needs from then on."""
    server = Server(address.rstrip("/"), registration_token)
    return from_bytes(Registration, server._post("/api/runner/register", canonical_bytes(probe)))


def _opened(request: urllib.request.Request) -> Any:
    try:
        return _OPENER.open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        with error:
            raise ServerError(_said(error), error.code) from error
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(f"{request.full_url}: {error}") from error


def _answer(request: urllib.request.Request) -> bytes:
    with _opened(request) as response:
        raw: bytes = response.read(_MAX_ANSWER_BYTES + 1)
    if len(raw) > _MAX_ANSWER_BYTES:
        raise MalformedError(f"an answer of more than {_MAX_ANSWER_BYTES} bytes")
    return raw


def _said(error: urllib.error.HTTPError) -> str:
    raw = error.read(_MAX_ANSWER_BYTES)
    try:
        return f"{error.code}: {json.loads(raw)['error']}"
    except (ValueError, KeyError, TypeError):
        return f"{error.code}: {raw[:300].decode(errors='replace')}"
