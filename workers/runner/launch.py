"""Becomes the tested command: drops rights and network, sets limits, and replaces itself.

Started as a script of its own, `python -I -S launch.py SETTINGS`, because a process with threads can't safely
run Python between fork and exec. Whatever goes wrong is told on the descriptor `report`; its silent end is
the sign that the command took over.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import sys
from typing import Any

_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def cut_network() -> str:
    """Move into a network namespace that has its own loopback alone; say how far that went."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        return f"open: unshare: {os.strerror(ctypes.get_errno())}"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
    except OSError as error:
        return f"cut, without loopback: {error.strerror}"
    return "cut"


def set_limits(settings: dict[str, Any]) -> None:
    """Set what the kernel itself enforces."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (settings["cpu_s"], settings["cpu_s"] + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (settings["file_bytes"], settings["file_bytes"]))


def become(uid: int, gid: int) -> None:
    """Become another user, for good."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def main() -> None:
    """Prepare, report, and become the command."""
    settings = json.loads(sys.argv[1])
    report = settings["report"]
    try:
        network = cut_network() if settings["cut_network"] else "open: not asked"
        set_limits(settings)
        if settings["uid"] is not None:
            resource.setrlimit(resource.RLIMIT_NPROC, (settings["tasks"], settings["tasks"]))
            become(settings["uid"], settings["gid"])
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # The change of user clears this, so it comes after: the command dies with the runner.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.umask(0o022)
        os.chdir(settings["folder"])
        # Python ignores these two, and ignoring is inherited.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.write(report, json.dumps({"network": network}).encode() + b"\n")
        os.set_inheritable(report, False)
        os.execve(settings["command"][0], settings["command"], settings["environment"])  # noqa: S606
    except OSError as error:
        os.write(report, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        os._exit(127)


if __name__ == "__main__":
    main()
