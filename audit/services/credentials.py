"""What git needs to read a closed repository: named by reference, read when it is used, never kept.

A reference is `env:NAME` or `file:NAME`. For `https` and `http` it holds a line as git's own credential
store does, `https://user:token@host`; it is offered to that host alone, so that nobody who may name a
reference can have it sent elsewhere. For `ssh` it is a file with a private key.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings

from audit.errors import RepositoryNotUsableError

# No other variable can be named: the environment also holds what signs sessions and opens the database.
VARIABLE_PREFIX = "GIT_CREDENTIAL_"
_REFERENCE = re.compile(r"(env|file):([A-Za-z0-9][A-Za-z0-9._-]{0,99})")
_HELPER = (
    '!f() { test "$1" = get && printf "username=%s\npassword=%s\n" "$AUDIT_USERNAME" "$AUDIT_PASSWORD"; }; f'
)


@dataclass(frozen=True, slots=True)
class GitAccess:
    """What is added to a git command that speaks to an origin. Its text shows no secret."""

    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def redacted(self, text: str) -> str:
        """Return a text without the secrets: git may repeat what it was given."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def reference_check(reference: str) -> str:
    """Return a reference as it is kept, or raise where it is none."""
    reference = reference.strip()
    if not reference:
        return ""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise RepositoryNotUsableError(
            "This is no reference to credentials, and a secret itself is not kept. Write "
            f"`env:{VARIABLE_PREFIX}TEAM`, a variable of the worker's environment, or `file:team`, a file in "
            "CREDENTIALS_DIR."
        )
    if found[1] == "env" and not found[2].startswith(VARIABLE_PREFIX):
        raise RepositoryNotUsableError(f"The variable's name begins with `{VARIABLE_PREFIX}`.")
    return reference


def access_for(*, reference: str, location: str) -> GitAccess:
    """Read what a reference names, as far as it is meant for the host of a location."""
    if not reference:
        return GitAccess()
    origin = urlsplit(location)
    kind, name = reference_check(reference).split(":", 1)
    if origin.scheme == "ssh":
        return _key(kind, name)
    if origin.scheme not in {"https", "http"}:
        return GitAccess()
    for line in _read(kind, name).splitlines():
        entry = urlsplit(line.strip())
        if entry.password and _place(entry) == _place(origin):
            return _password(origin, unquote(entry.username or ""), unquote(entry.password))
    raise RepositoryNotUsableError(
        f"`{reference}` holds no line for this host. Each line is `https://user:token@host`, with the host "
        f"of the repository, `{origin.hostname}`."
    )


def _password(origin: SplitResult, user: str, password: str) -> GitAccess:
    if any(ord(character) < 32 for character in user + password):
        raise RepositoryNotUsableError("A name or password holds no control characters.")
    where = f"{origin.scheme}://{origin.netloc}"
    # The first, empty one forgets the helpers of the machine.
    options = ("-c", "credential.helper=", "-c", f"credential.{where}.helper={_HELPER}")
    return GitAccess(options, {"AUDIT_USERNAME": user, "AUDIT_PASSWORD": password}, (password,))


def _key(kind: str, name: str) -> GitAccess:
    if kind != "file":
        raise RepositoryNotUsableError("Over ssh, credentials are a file with a private key: `file:NAME`.")
    path = _file(name)
    if not path.is_file():
        raise _unreadable(f"file:{name}")
    command = f"ssh -o BatchMode=yes -o ConnectTimeout=20 -o IdentitiesOnly=yes -i {shlex.quote(str(path))}"
    return GitAccess(environment={"GIT_SSH_COMMAND": command})


def _read(kind: str, name: str) -> str:
    if kind == "env":
        if name not in os.environ:
            raise _unreadable(f"env:{name}")
        return os.environ[name]
    try:
        return _file(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(f"file:{name}") from error


def _file(name: str) -> Path:
    return Path(settings.CREDENTIALS_DIR) / name


def _place(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port


def _unreadable(reference: str) -> RepositoryNotUsableError:
    return RepositoryNotUsableError(
        f"The credentials `{reference}` are not there for the worker. A variable is set in the worker's "
        f"environment, a file lies in CREDENTIALS_DIR, `{settings.CREDENTIALS_DIR}`."
    )
