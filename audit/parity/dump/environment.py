"""Which torch, CUDA, GPU and driver a dump was taken from."""

from __future__ import annotations

import datetime as dt
import platform
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import torch


def device() -> str:
    """Return the device that is tried: `cuda` where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _driver() -> str:
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def environment(arguments: Sequence[str]) -> dict[str, str]:
    """Return what the dump was taken from and the command that took it, with file names only."""
    has_cuda = torch.cuda.is_available()
    major, minor = torch.cuda.get_device_capability(0) if has_cuda else (0, 0)
    return {
        "torch_version": torch.__version__,
        "torch_git_version": str(torch.version.git_version or ""),
        "cuda_version": str(torch.version.cuda or ""),
        "cudnn_version": str(torch.backends.cudnn.version() or "") if has_cuda else "",
        "device": device(),
        "gpu_name": torch.cuda.get_device_name(0) if has_cuda else "",
        "compute_capability": f"{major}.{minor}" if has_cuda else "",
        "driver_version": _driver() if has_cuda else "",
        "python_version": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "taken_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "-m", "audit.parity.dump", *(Path(a).name for a in arguments)]),
    }
