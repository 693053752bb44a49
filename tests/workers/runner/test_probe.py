"""What can't be done on a machine is concluded from readings alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from workers.protocol.readings import ProbeReading
from workers.runner.probe.conclusions import BUILD, RUN_ON_DEVICE, TRACE, conclude
from workers.runner.probe.machine import probe_machine
from workers.runner.probe.measure import list_folder, measure, run_command
from workers.runner.probe.rust import config_rustflags, rust_readings
from workers.runner.probe.toolkit import find_cupti

CUPTI = {"/usr/local/cuda/lib64/libcupti.so.13": "toolkit"}


def reading(name: str, exit_code: int | None = 0, output: str = "", **values: str) -> ProbeReading:
    return ProbeReading(name, name, output, exit_code, "2026-01-01T00:00:00+00:00", 0.0, values)


def machine(*changed: ProbeReading) -> tuple[ProbeReading, ...]:
    """A machine on which everything works, but for what is changed."""
    whole = {
        "nvml": reading("nvml", devices="1", cuda_driver="13000"),
        "nvml.device.0": reading("nvml.device.0", compute_mode="default"),
        "libcuda": reading("libcuda"),
        "cupti": reading("cupti", output=json.dumps(CUPTI)),
        "cargo": reading("cargo"),
        "rustc": reading("rustc"),
        "ptxas": reading("ptxas"),
    }
    return tuple((whole | {one.name: one for one in changed}).values())


def inability(what: str, *changed: ProbeReading) -> tuple[str, str] | None:
    found = {i.what: i for i in conclude(machine(*changed))}
    return (found[what].because, found[what].reading) if what in found else None


def test_a_whole_machine_lacks_nothing() -> None:
    assert conclude(machine()) == ()


def test_no_nvml_no_device_no_library_and_a_prohibited_mode_each_cite_their_reading() -> None:
    assert inability(RUN_ON_DEVICE, reading("nvml", 12, "not found")) == ("NVML answers `not found`", "nvml")
    none = reading("nvml", devices="0", cuda_driver="13000")
    assert inability(RUN_ON_DEVICE, none) == ("NVML lists 0 devices", "nvml")
    library = inability(RUN_ON_DEVICE, reading("libcuda", None, "OSError"))
    assert library is not None and library[1] == "libcuda"
    mode = inability(RUN_ON_DEVICE, reading("nvml.device.0", compute_mode="prohibited"))
    assert mode is not None and mode[1] == "nvml.device.0"


def test_tracing_needs_a_cupti_that_the_driver_takes() -> None:
    assert inability(TRACE, reading("cupti", 1, "none"))
    old = reading("nvml", devices="1", cuda_driver="12040")
    found = inability(TRACE, old)
    assert found == ("no CUPTI for a driver of CUDA 12040", "cupti")


def test_building_needs_cargo_and_no_nvcc() -> None:
    found = inability(BUILD, reading("cargo", None, "FileNotFoundError"))
    assert found is not None and found[1] == "cargo"
    assert inability(RUN_ON_DEVICE, reading("nvcc", None)) is None


@pytest.mark.parametrize(
    ("driver", "libraries", "chosen"),
    [
        (13000, ["a/libcupti.so.12", "b/libcupti.so.13"], "b/libcupti.so.13"),
        (12040, ["a/libcupti.so.12", "b/libcupti.so.13"], "a/libcupti.so.12"),
        (11080, ["a/libcupti.so.12"], None),
        (
            13000,
            ["/usr/local/cuda-13.0/lib64/libcupti.so.2025.3.1"],
            "/usr/local/cuda-13.0/lib64/libcupti.so.2025.3.1",
        ),
    ],
)
def test_cupti_is_chosen_by_the_drivers_version(
    driver: int, libraries: list[str], chosen: str | None
) -> None:
    assert find_cupti(driver, dict.fromkeys(libraries, "")) == chosen


def test_a_reading_keeps_command_output_exit_code_and_time() -> None:
    taken = run_command("x", ["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (taken.command, taken.exit_code) == ("sh -c echo out; echo err >&2; exit 3", 3)
    assert "out" in taken.output and "err" in taken.output and taken.duration_s > 0 and taken.started_at


def test_what_is_not_there_is_a_reading_too() -> None:
    missing = run_command("x", ["/nowhere/nvidia-smi"])
    assert missing.exit_code is None and "FileNotFoundError" in missing.output
    assert list_folder("x", Path("/nowhere")).output == "/nowhere is not there"


def test_values_are_read_only_from_success() -> None:
    assert measure("x", "x", lambda: ("a", 1), lambda text: {"v": text}).values == {}
    assert measure("x", "x", lambda: ("a", 0), lambda text: {"v": text}).values == {"v": "a"}


def test_the_workspaces_pins_and_features_are_read(tmp_path: Path) -> None:
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo" / "config.toml").write_text(
        '[target.\'cfg(target_arch = "x86_64")\']\nrustflags = ["-C", "target-cpu=native"]\n'
        '[env]\nCUDARC_CUDA_VERSION = { value = "12080", force = false }\n'
    )
    (tmp_path / "gpu").mkdir()
    (tmp_path / "gpu" / "Cargo.toml").write_text(
        '[package]\nname = "my-gpu"\n[features]\ndefault = ["cuda"]\ncuda = []\n'
    )
    found = {one.name: one for one in rust_readings(tmp_path)}
    assert found["cargo.config"].values["CUDARC_CUDA_VERSION"] == "12080"
    assert json.loads(found["cargo.config"].values["rustflags"]) == ["-C", "target-cpu=native"]
    assert found["features"].values == {"my-gpu": "cuda default"}


def test_target_flags_take_the_place_of_build_flags_as_in_cargo() -> None:
    text = (
        '[build]\nrustflags = "-C lto"\n[target.x86_64-unknown-linux-gnu]\nrustflags = ["-C", "strip=none"]\n'
        '[target.aarch64-apple-darwin]\nrustflags = ["-Dwarnings"]\n'
    )
    config = tomllib.loads(text)
    assert config_rustflags(config, "x86_64-unknown-linux-gnu") == ["-C", "strip=none"]
    assert config_rustflags(config, "riscv64gc-unknown-linux-gnu") == ["-C", "lto"]


def test_this_machine_can_be_probed() -> None:
    probe = probe_machine()
    names = {one.name for one in probe.readings}
    wanted = {"nvml", "nvidia-smi", "libcuda", "cuda.include", "cuda.lib64", "cuda.bin", "ptxas", "cupti"}
    assert wanted | {"rustc", "cargo", "kernel", "cpu", "memory", "disk", "cc"} <= names
    assert all(one.output or one.exit_code == 0 for one in probe.readings)
