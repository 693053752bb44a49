"""What a hostile or broken command can do to the runner: nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from workers.protocol.evidence import DeviceSample, Ending, RunRecord
from workers.protocol.job import Limits
from workers.runner.execute import Sampler, User, other_user, run, scratch_folder

PYTHON = "/usr/bin/python3"
LIMITS = Limits(wall_s=20, cpu_s=20, memory_bytes=1024**3, disk_bytes=64 * 1024**2, output_bytes=4096)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
needs_python = pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"{PYTHON} is not there")
pytestmark = needs_python


def run_python(
    code: str,
    parent: Path,
    limits: Limits = LIMITS,
    environment: Mapping[str, str] | None = None,
    user: User | None = None,
    sampler: Sampler | None = None,
) -> RunRecord:
    with scratch_folder(parent, user) as scratch:
        command = [PYTHON, "-c", code]
        return run(
            command, scratch=scratch, limits=limits, environment=environment or {}, user=user, sampler=sampler
        )


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_output_exit_code_and_time_are_recorded(open_folder: Path) -> None:
    record = run_python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", open_folder)
    assert (record.ending, record.exit_code, record.signal) == (Ending.EXITED, 3, None)
    assert (record.stdout, record.stderr) == ("out\n", "err\n")
    assert 0 < record.wall_s < 20 and record.cpu_s > 0 and record.peak_memory_bytes > 0


def test_nothing_of_the_runners_environment_is_passed_on(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_PASSWORD", "secret")
    record = run_python("import os; print(sorted(os.environ))", open_folder, environment={"GIVEN": "1"})
    assert "BROKER_PASSWORD" not in record.stdout
    assert "'GIVEN'" in record.stdout and "'HOME'" in record.stdout


def test_a_gigabyte_of_output_keeps_head_and_tail(open_folder: Path) -> None:
    code = (
        "import os\nos.write(1, b'first')\n"
        "for _ in range(1024): os.write(1, b'x' * 1048576)\nos.write(1, b'last')"
    )
    record = run_python(code, open_folder)
    assert record.ending is Ending.EXITED
    assert record.stdout_bytes >= 1024**3
    assert len(record.stdout) < 5000
    assert record.stdout.startswith("first") and record.stdout.endswith("last")
    assert "bytes left out" in record.stdout


def test_a_command_that_never_ends_meets_its_wall_limit(open_folder: Path) -> None:
    record = run_python("import time; time.sleep(60)", open_folder, replace(LIMITS, wall_s=0.5))
    assert record.ending is Ending.WALL_LIMIT and "longer than 0.5 s" in record.detail


def test_a_command_that_computes_for_ever_meets_its_cpu_limit(open_folder: Path) -> None:
    record = run_python("while True: pass", open_folder, replace(LIMITS, cpu_s=1))
    assert record.ending is Ending.CPU_LIMIT


def test_a_command_that_takes_all_memory_is_ended(open_folder: Path) -> None:
    code = "import time\nheld = []\nwhile True:\n held.append(bytearray(b'x' * 8388608)); time.sleep(0.01)"
    record = run_python(code, open_folder, replace(LIMITS, memory_bytes=128 * 1024**2))
    assert record.ending is Ending.MEMORY_LIMIT and "limit is 134217728" in record.detail


def test_one_file_beyond_the_disk_share_ends_the_command(open_folder: Path) -> None:
    code = (
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "f = open('big', 'wb')\nwhile True: f.write(b'x' * 1048576)"
    )
    assert run_python(code, open_folder).ending is Ending.DISK_LIMIT


def test_many_files_beyond_the_disk_share_end_the_command(open_folder: Path) -> None:
    code = "import time\nfor n in range(10**6):\n open(str(n), 'wb').write(b'x' * 4194304); time.sleep(0.01)"
    assert run_python(code, open_folder).ending is Ending.DISK_LIMIT


def test_a_fork_bomb_is_ended_with_all_its_processes(open_folder: Path) -> None:
    code = "import os, time\nfor _ in range(60):\n if os.fork() == 0: time.sleep(60)\ntime.sleep(60)"
    record = run_python(code, open_folder, replace(LIMITS, processes=20))
    assert record.ending is Ending.PROCESS_LIMIT
    assert record.left_behind >= 20


def test_a_child_that_leaves_its_session_does_not_outlive_the_command(open_folder: Path) -> None:
    code = (
        "import os, time\n"
        "reads, writes = os.pipe()\n"
        "if os.fork() == 0:\n"
        " os.setsid()\n"
        " if os.fork() == 0:\n"
        "  print(os.getpid(), flush=True); os.write(writes, b'x'); time.sleep(60)\n"
        " os._exit(0)\n"
        "os.wait(); os.read(reads, 1)"
    )
    record = run_python(code, open_folder)
    assert record.ending is Ending.EXITED and record.left_behind == 1
    assert not is_alive(int(record.stdout))


def test_a_child_that_holds_the_pipe_does_not_hold_the_runner(open_folder: Path) -> None:
    begun = time.monotonic()
    run_python("import os, time\nif os.fork() == 0: time.sleep(60)", open_folder)
    assert time.monotonic() - begun < 15


def test_a_command_killed_by_a_signal_says_which(open_folder: Path) -> None:
    record = run_python("import os; os.kill(os.getpid(), 9)", open_folder)
    assert (record.ending, record.signal) == (Ending.SIGNALLED, signal.SIGKILL)


def test_what_cannot_be_started_says_why(open_folder: Path) -> None:
    with scratch_folder(open_folder, None) as scratch:
        record = run(["/nowhere/at/all"], scratch=scratch, limits=LIMITS, environment={})
    assert record.ending is Ending.NOT_STARTED and "/nowhere/at/all" in record.detail


def test_a_nul_in_the_output_is_replaced(open_folder: Path) -> None:
    assert run_python("import os; os.write(1, b'a\\0b\\xff')", open_folder).stdout == "a\ufffdb\ufffd"


def test_the_libraries_that_were_loaded_are_known(open_folder: Path) -> None:
    record = run_python("import ctypes; ctypes.CDLL('libm.so.6')", open_folder)
    assert record.libraries is not None
    assert "libc.so.6" in record.libraries and "libnowhere.so" not in record.libraries


@needs_root
def test_root_runs_tests_as_another_user_without_a_network(open_folder: Path) -> None:
    code = (
        "import os, socket\nprint(os.getuid(), os.getgroups())\n"
        "s = socket.socket(); s.settimeout(5)\n"
        "try: s.connect(('192.0.2.1', 9))\nexcept OSError as e: print(e.errno)\n"
        "try: open('/etc/shadow')\nexcept PermissionError: print('closed')"
    )
    user = other_user()
    assert user is not None
    record = run_python(code, open_folder, user=user)
    assert record.stdout.splitlines()[0] == f"{user.uid} []"
    assert record.stdout.splitlines()[-1] == "closed"
    assert record.user == user.name
    if record.network == "cut":
        assert record.stdout.splitlines()[1] == "101"  # ENETUNREACH: no route, not even a timeout


class FakeSampler:
    def __init__(self) -> None:
        self.started = False
        self.pids: frozenset[int] = frozenset()

    def start(self) -> None:
        self.started = True

    def stop(self, pids: frozenset[int]) -> tuple[DeviceSample, ...]:
        self.pids = pids
        return (DeviceSample(device="GPU-0", polls=3),)


def test_the_sampler_is_told_all_processes_of_the_run(open_folder: Path) -> None:
    sampler = FakeSampler()
    record = run_python(
        "import os, time\nprint(os.getpid())\nif os.fork() == 0: time.sleep(0.2)\nelse: time.sleep(0.3)",
        open_folder,
        sampler=sampler,
    )
    assert sampler.started and len(sampler.pids) == 2
    assert int(record.stdout.split()[0]) in sampler.pids
    assert record.samples == (DeviceSample(device="GPU-0", polls=3),)
