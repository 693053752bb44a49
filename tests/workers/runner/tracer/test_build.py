"""The tracer is compiled once, or brought along, or its lack is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workers.runner.tracer.build import (
    CANARY_NAME,
    LIBRARY_NAME,
    SOURCES,
    TracerError,
    compile_tracer,
    prepare_tracer,
)

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on the PATH")


@pytest.fixture
def cupti(tmp_path: Path) -> Path:
    path = tmp_path / "wheel" / "libcupti.so.13"
    path.parent.mkdir()
    path.write_bytes(b"a library")
    return path


@needs_compiler
def test_it_is_compiled_once_and_open_to_every_user(tmp_path: Path, cupti: Path) -> None:
    first = prepare_tracer(cache=tmp_path / "cache", cupti=cupti)
    again = prepare_tracer(cache=tmp_path / "cache", cupti=cupti, compilers=())
    assert first.origin.startswith("compiled with") and again.origin == "cached"
    assert first.library == again.library
    for path in (again.library, again.canary, again.cupti, again.library.parent):
        assert path.stat().st_mode & 0o005 == 0o005
    assert again.cupti.read_bytes() == b"a library" and again.cupti.parent == again.library.parent


@needs_compiler
def test_without_a_compiler_a_tracer_from_elsewhere_serves(tmp_path: Path, cupti: Path) -> None:
    (tmp_path / "prebuilt").mkdir()
    compile_tracer(tmp_path / "prebuilt", "cc")
    made = prepare_tracer(cache=tmp_path / "cache", cupti=cupti, compilers=(), prebuilt=tmp_path / "prebuilt")
    assert made.origin == f"prebuilt from {tmp_path / 'prebuilt'}"
    assert made.library.is_file() and made.canary.is_file()


def test_a_tracer_that_does_not_load_here_is_refused(tmp_path: Path, cupti: Path) -> None:
    (tmp_path / "prebuilt").mkdir()
    for name in (LIBRARY_NAME, CANARY_NAME):
        (tmp_path / "prebuilt" / name).write_bytes(b"\x7fELF of another machine")
    with pytest.raises(TracerError, match="does not load here"):
        prepare_tracer(cache=tmp_path / "cache", cupti=cupti, compilers=(), prebuilt=tmp_path / "prebuilt")


def test_neither_compiler_nor_prebuilt_is_an_error_that_says_so(tmp_path: Path, cupti: Path) -> None:
    with pytest.raises(TracerError, match=r"no C compiler \(nowhere-cc\) on the PATH"):
        prepare_tracer(cache=tmp_path / "cache", cupti=cupti, compilers=("nowhere-cc",))


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, cupti: Path) -> None:
    with pytest.raises(TracerError, match="ended with 1"):
        prepare_tracer(cache=tmp_path / "cache", cupti=cupti, compilers=("false",))
    assert not list((tmp_path / "cache").glob("tracer-*"))


def test_the_sources_come_with_the_package() -> None:
    assert {"tracer.c", "trace_file.c", "canary.c"} <= {path.name for path in SOURCES.iterdir()}
