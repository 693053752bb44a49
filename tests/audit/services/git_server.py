"""A git server that asks for a name and a password, in the test's own process."""

from __future__ import annotations

import base64
import http.server
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a bare repository as files to whoever gives the password."""

    def __init__(self, *args: object, expected: str, asked: list[str], **kwargs: object) -> None:
        self._expected = expected
        self._asked = asked
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._asked.append(self.headers.get("Authorization", ""))
        if self._expected and self._asked[-1] != self._expected:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


@contextmanager
def git_server(folder: Path, *, user: str = "", password: str = "") -> Iterator[tuple[str, list[str]]]:
    """Serve a folder of bare repositories; give the address, and what each request authenticated with."""
    for repository in folder.glob("*.git"):
        subprocess.run(["git", "-C", str(repository), "update-server-info"], check=True)
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    asked: list[str] = []
    handler = partial(_Handler, directory=str(folder), expected=f"Basic {token}" if user else "", asked=asked)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
