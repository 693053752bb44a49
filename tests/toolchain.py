"""The Rust toolchain, where there is one that works."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache


@cache
def rust_program(name: str) -> str | None:
    """Return the path of `cargo` or `rustc` when it answers, else None.

    A rustup without a toolchain puts both on PATH, and neither runs.
    """
    program = shutil.which(name)
    if program is None:
        return None
    done = subprocess.run([program, "--version"], capture_output=True, check=False)
    return program if done.returncode == 0 else None
