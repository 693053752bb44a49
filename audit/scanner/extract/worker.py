"""`python -m audit.scanner.extract.worker PARENT`: texts in, facts out, for the process that started it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import IO

from audit.scanner.extract import extract
from audit.scanner.extract.serial import dump_facts

_LENGTH_BYTES = 8


def write_parts(stream: IO[bytes], parts: Iterable[bytes]) -> None:
    """Write parts, each behind its length."""
    for part in parts:
        stream.write(len(part).to_bytes(_LENGTH_BYTES, "little"))
        stream.write(part)


def read_parts(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the parts that are whole."""
    while len(header := stream.read(_LENGTH_BYTES)) == _LENGTH_BYTES:
        length = int.from_bytes(header, "little")
        part = stream.read(length)
        if len(part) < length:
            return
        yield part


def main() -> None:
    """Extract what stands on standard input, and write the facts in the same order."""
    gc.disable()
    parent = int(sys.argv[1])
    texts = takewhile(lambda _: _is_child_of(parent), read_parts(sys.stdin.buffer))
    write_parts(sys.stdout.buffer, (dump_facts(extract(text)) for text in texts))
    sys.stdout.buffer.flush()


def _is_child_of(process_id: int) -> bool:
    """Tell whether somebody still waits: a process that is killed can't end those it has started."""
    return os.getppid() == process_id


if __name__ == "__main__":
    main()
