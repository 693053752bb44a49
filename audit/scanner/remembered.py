"""Linked workspaces that are kept: what one scan of a tree has found out, for the next scan of it.

One file for each tree, profile and scanner; each scan replaces it. It is as well guarded as the facts: a
checksum tells damage, what is read makes plain values, and of these the kinds that `link.recall` lists.
"""

from __future__ import annotations

import marshal
from hashlib import blake2b
from pathlib import Path

from audit.scanner.kept import code_digest, file_keep
from audit.scanner.link.recall import KeptFile, Memory
from audit.scanner.profile import Profile

_DIGEST_BYTES = 20
_MOST = 4


def workspace_key(root: str, profile: Profile) -> str:
    """Name what is kept of the workspace of a tree; another profile or another scanner finds other things."""
    words = (code_digest(), profile.name, profile.digest, root)
    return blake2b(repr(words).encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()


class KeptWorkspaces:
    """Keeps what was found out about the last workspaces; what is damaged counts as absent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> Memory | None:
        """Return what was kept under a key."""
        try:
            data = (self._folder / key).read_bytes()
            body = memoryview(data)[_DIGEST_BYTES:]
            if _checksum(key, body) != data[:_DIGEST_BYTES]:
                return None
            outlook, *stale, files = marshal.loads(body)  # noqa: S302  whole, says the checksum, and no code
            names, structs, passing, spliced = stale
            kept = {path: KeptFile(*one) for path, one in files.items()}
            return Memory(outlook, names, structs, passing, spliced, kept)
        except (OSError, AttributeError, ValueError, TypeError, EOFError):
            return None

    def put(self, key: str, memory: Memory) -> None:
        """Keep what was found out, in place of what was before."""
        files = {path: tuple(one) for path, one in memory.files.items()}
        body = memoryview(marshal.dumps((*memory[:-1], files)))
        file_keep(self._folder, key, _checksum(key, body), body, most=_MOST)


def _checksum(key: str, body: memoryview) -> bytes:
    """The key is part of it: a file under another name is not what was kept."""
    return blake2b(body, digest_size=_DIGEST_BYTES, key=bytes.fromhex(key)).digest()
