"""PTX texts are loaded in a process of their own; one that kills it does not take the others along."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.protocol.job import Limits, PtxText
from workers.runner.execute import other_user
from workers.runner.probe.conclusions import RUN_ON_DEVICE
from workers.runner.probe.machine import probe_machine
from workers.runner.ptx import is_open_to_all, load_on_driver

TEXTS = tuple(PtxText(name, name) for name in ("good", "bad", "deadly", "after"))

FAKE = """
import json, os, sys
texts = json.load(open(sys.argv[1]))
for index in range(int(sys.argv[2]), len(texts)):
    print(json.dumps({"begins": index}), flush=True)
    if texts[index] == "deadly":
        os.abort()
    bad = texts[index] == "bad"
    line = {"index": index, "result": 218 if bad else 0, "error": "CUDA_ERROR_INVALID_PTX" if bad else ""}
    line |= {"log": "line 3: syntax error" if bad else "", "device": "D", "version": "13000"}
    print(json.dumps(line))
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A loader that needs no driver."""
    path = tmp_path / "loader.py"
    path.write_text(FAKE)
    return path


def test_each_text_gets_the_drivers_word_and_a_deadly_one_only_itself(fake: Path, tmp_path: Path) -> None:
    good, bad, deadly, after = load_on_driver(TEXTS, work=tmp_path, limits=Limits(wall_s=30), loader=fake)
    assert good.loaded and after.loaded
    assert (bad.loaded, bad.result, bad.log) == (False, 218, "line 3: syntax error")
    assert not deadly.loaded and deadly.result is None and "Abort" in deadly.error


def test_root_has_texts_of_strangers_read_by_another_user(open_folder: Path, tmp_path: Path) -> None:
    user = other_user()
    if user is None:
        pytest.skip("only root may become another user")
    tell = tmp_path / "loader.py"
    tell.write_text(
        "import json, os\n"
        "print(json.dumps({'driver': f'{os.getuid()} {os.environ.get(\"SECRET_KEY\")} {os.getcwd()}'}))\n"
    )
    tell.chmod(0o600)
    (reading,) = load_on_driver(TEXTS[:1], work=open_folder, limits=Limits(wall_s=30), user=user, loader=tell)
    uid, secret, folder = reading.error.split()
    assert (uid, secret) == (str(user.uid), "None") and folder.startswith(str(open_folder))


def test_a_program_below_a_closed_folder_is_not_open_to_all(open_folder: Path) -> None:
    program = open_folder / "closed" / "python3"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    (open_folder / "link").symlink_to(program)
    assert is_open_to_all(program) and is_open_to_all(open_folder / "link")
    program.parent.chmod(0o700)
    assert not is_open_to_all(program) and not is_open_to_all(open_folder / "link")
    assert not is_open_to_all(open_folder / "nothing")


def test_without_a_driver_no_text_is_said_to_be_refused(tmp_path: Path) -> None:
    if probe_machine().inability(RUN_ON_DEVICE) is None:
        pytest.skip("this machine has a driver")
    readings = load_on_driver(TEXTS, work=tmp_path, limits=Limits(wall_s=30))
    assert [reading.result for reading in readings] == [None] * 4
    assert all("libcuda" in reading.error for reading in readings)
