"""A dump of PyTorch comes into the database once, whole, or not at all."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from audit.models import ParityChange, ParityDump, ParityOperator
from audit.parity.catalogue import load, newest, shipped
from audit.parity.diff import changes

pytestmark = pytest.mark.django_db


def test_the_shipped_dumps_are_imported_once(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("parity_import")
    call_command("parity_import")
    older, dump = sorted(ParityDump.objects.all(), key=lambda one: one.version_key)
    assert dump.torch_version == newest().version
    assert (older.torch_version, older.device, dump.device) == ("2.9.1+cu128", "cpu", "cuda")
    assert dump.gpu_name.startswith("NVIDIA")
    assert f"{dump.operator_count} operators" in capsys.readouterr().out
    names = set(dump.operators.values_list("name", flat=True))
    assert {f"aten::{base}" for base in newest().by_base} <= names
    assert {"torch.nn.Linear", "torch.distributions.Gamma.log_prob"} <= names


def test_an_operator_has_its_keys_dtypes_and_refusals() -> None:
    call_command("parity_import")
    rows = ParityOperator.objects.filter(dump__torch_version=newest().version)
    facts = rows.get(name="aten::add").facts
    tensor = next(row for row in facts["overloads"] if row["name"] == "add.Tensor")
    assert tensor["declared"]
    assert "float64" in facts["tests"][0]["backward_dtypes"]["cuda"]
    lgamma = rows.get(name="aten::lgamma").facts
    assert any(row["exception"] for row in lgamma["refusals"])


def test_the_same_content_in_another_dress_is_the_same_dump(tmp_path: Path) -> None:
    call_command("parity_import")
    data = json.loads(lzma.decompress(list(shipped())[-1].read_bytes()))
    plain = tmp_path / "torch.json"
    plain.write_text(json.dumps(data, indent=1), "utf-8")
    call_command("parity_import", str(plain))
    assert ParityDump.objects.count() == len(list(shipped()))


def test_another_version_stands_beside_the_first(tmp_path: Path) -> None:
    call_command("parity_import")
    data = json.loads(lzma.decompress(list(shipped())[-1].read_bytes()))
    data["environment"]["torch_version"] = "2.99.0"
    other = tmp_path / "torch.json"
    other.write_text(json.dumps(data), "utf-8")
    call_command("parity_import", str(other))
    versions = set(ParityDump.objects.values_list("torch_version", flat=True))
    assert versions == {"2.9.1+cu128", newest().version, "2.99.0"}
    assert ParityChange.objects.filter(after__torch_version="2.99.0").exists()
    assert not ParityChange.objects.filter(before__torch_version="2.99.0").exists()


def test_what_changed_between_two_versions_is_stored_once_from_the_older_to_the_newer() -> None:
    call_command("parity_import")
    call_command("parity_import")
    rows = ParityChange.objects.filter(before__torch_version="2.9.1+cu128")
    assert rows.count() == ParityChange.objects.count() == len(changes(*map(load, shipped())))
    bilinear = rows.get(name="nn.functional.bilinear", aspect="cuda forward")
    assert "bfloat16" not in bilinear.was
    assert "bfloat16" in bilinear.becomes
    # One was taken without a GPU: what it raised there is no change of what a GPU raises.
    assert not rows.filter(subject="refusal").exists()


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": "other/9", "sections": {}}'])
def test_a_file_that_is_no_dump_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "torch.json"
    path.write_text(text, "utf-8")
    with pytest.raises(CommandError, match=r"torch\.json"):
        call_command("parity_import", str(path))
    assert not ParityDump.objects.exists()
