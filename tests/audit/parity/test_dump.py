"""The parts of the dump that run without torch."""

from __future__ import annotations

import importlib.util
import json
import lzma
from pathlib import Path

import pytest

from audit.parity.dump import __main__ as dump


def test_without_torch_the_command_says_so_and_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed here")
    assert dump.main(["--output", str(tmp_path / "torch.json")]) == dump.NO_TORCH
    assert "run this where it is installed" in capsys.readouterr().err
    assert not (tmp_path / "torch.json").exists()


def test_a_rendered_dump_is_json_with_one_row_per_line_in_a_fixed_order() -> None:
    text = dump.render({"b": [{"z": 1, "a": 2}, {"k": "ö"}], "a": {"y": 1, "x": {}}, "c": "text"})
    assert json.loads(text) == {"b": [{"z": 1, "a": 2}, {"k": "ö"}], "a": {"y": 1, "x": {}}, "c": "text"}
    assert text.splitlines() == [
        "{",
        '"a":{',
        '"x":{},',
        '"y":1',
        "},",
        '"b":[',
        '{"a":2,"z":1},',
        '{"k":"ö"}',
        "],",
        '"c":"text"',
        "}",
    ]


def test_the_name_decides_whether_the_file_is_compressed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "d.json", tmp_path / "d.json.xz"
    dump.write({"a": 1}, plain)
    dump.write({"a": 1}, packed)
    assert lzma.decompress(packed.read_bytes()) == plain.read_bytes()
