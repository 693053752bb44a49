"""Reads the Rust toolchain, and a workspace's pins and features."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from workers.protocol.readings import ProbeReading
from workers.runner.probe.measure import measure, read_file, run_command


def rust_readings(workspace: Path | None) -> Iterator[ProbeReading]:
    """Read the toolchain; with a workspace, also what it pins."""
    yield run_command("rustc", ["rustc", "-vV"], _fields)
    yield run_command("cargo", ["cargo", "-V"], lambda text: {"version": text.split()[1]})
    if workspace is None:
        return
    config = workspace / ".cargo" / "config.toml"
    yield read_file("cargo.config", config if config.is_file() else config.with_suffix(""), _pins)
    yield measure("features", f"read {workspace}/**/Cargo.toml", lambda: _ask_features(workspace), json.loads)


def _fields(output: str) -> dict[str, str]:
    pairs = (line.split(": ", 1) for line in output.splitlines() if ": " in line)
    return {key.strip().replace(" ", "_"): value.strip() for key, value in pairs}


def _pins(output: str) -> dict[str, str]:
    """Read what changes how the workspace builds: the CUDA version that cudarc is told, and rustflags."""
    try:
        config = tomllib.loads(output)
    except tomllib.TOMLDecodeError:
        return {}
    values: dict[str, str] = {}
    pinned = config.get("env", {}).get("CUDARC_CUDA_VERSION")
    if isinstance(pinned, dict):
        pinned = pinned.get("value")
    if pinned is not None:
        values["CUDARC_CUDA_VERSION"] = str(pinned)
    flags = config_rustflags(config)
    if flags:
        values["rustflags"] = json.dumps(flags)
    return values


def config_rustflags(config: dict[str, object], target: str | None = None) -> list[str]:
    """Give the rustflags of a cargo configuration: those for the target, else those for every build.

    Cargo joins the flags of all matching `[target]` tables and takes `[build]` only where there is none. A
    `cfg(...)` table counts as matching: what it would hold against a target is not evaluated here.
    """
    tables = config.get("target")
    found: list[str] = []
    for name, table in tables.items() if isinstance(tables, dict) else ():
        matches = target is None or name == target or str(name).startswith("cfg(")
        if matches and isinstance(table, dict):
            found += _split(table.get("rustflags"))
    build = config.get("build")
    return found or (_split(build.get("rustflags")) if isinstance(build, dict) else [])


def _split(flags: object) -> list[str]:
    if isinstance(flags, str):
        return flags.split()
    return [str(flag) for flag in flags] if isinstance(flags, list) else []


def _ask_features(workspace: Path) -> tuple[str, int]:
    found: dict[str, str] = {}
    for manifest in [*sorted(workspace.glob("*/Cargo.toml")), workspace / "Cargo.toml"]:
        if not manifest.is_file():
            continue
        try:
            parsed = tomllib.loads(manifest.read_text("utf-8", "replace"))
        except tomllib.TOMLDecodeError as error:
            return f"{manifest}: {error}", 1
        name = parsed.get("package", {}).get("name")
        features = parsed.get("features", {})
        if isinstance(name, str) and re.fullmatch(r"[\w-]+", name) and isinstance(features, dict):
            found[name] = " ".join(sorted(features))
    return json.dumps(found), 0
