"""A door with TLS before a web app that has none, as a reverse proxy is."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a key and a certificate for `localhost` that signs itself."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    certificate.chmod(0o644)
    return key, certificate


@contextmanager
def tls_door(folder: Path, host: str, port: int) -> Iterator[tuple[str, Path]]:
    """Give an address with TLS that leads to a plain one, and the certificate that vouches for it."""
    key, certificate = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_serve, args=(listener, context, (host, port)), daemon=True).start()
    try:
        yield f"https://localhost:{listener.getsockname()[1]}", certificate
    finally:
        listener.close()


def has_openssl() -> bool:
    """Tell whether a certificate can be made."""
    return shutil.which("openssl") is not None


def _serve(listener: socket.socket, context: ssl.SSLContext, target: tuple[str, int]) -> None:
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return  # the door was closed
        threading.Thread(target=_join, args=(plain, context, target), daemon=True).start()


def _join(plain: socket.socket, context: ssl.SSLContext, target: tuple[str, int]) -> None:
    with (
        suppress(OSError),
        context.wrap_socket(plain, server_side=True) as outside,
        socket.create_connection(target) as inside,
    ):
        threading.Thread(target=_pump, args=(inside, outside), daemon=True).start()
        _pump(outside, inside)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
