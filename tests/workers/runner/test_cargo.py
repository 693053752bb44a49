"""How a repository's own build settings become those of a bundle."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.toolchain import rust_program
from workers.runner import cargo
from workers.runner.cargo import (
    BuildError,
    BuildRequest,
    Built,
    build_tests,
    check_out,
    chosen_rustflags,
    is_package_of,
    unpack_source,
)
from workers.runner.execute import other_user
from workers.runner.toolchain import ToolchainError, pinned_channel, prepare_toolchain


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / ".cargo").mkdir()
    return tmp_path


def configured(workspace: Path, text: str) -> Path:
    (workspace / ".cargo" / "config.toml").write_text(text)
    return workspace


def test_a_native_target_cpu_is_left_out_and_told(workspace: Path) -> None:
    text = (
        '[target.\'cfg(target_arch = "x86_64")\']\nrustflags = ["-C", "target-cpu=native", "-C", "lto=off"]\n'
    )
    kept, dropped = chosen_rustflags(configured(workspace, text), None)
    assert kept == ["-C", "lto=off"]
    assert dropped == ["-C target-cpu=native"]


@pytest.mark.parametrize("spelling", ["-Ctarget-cpu=native", "-C target-cpu=native"])
def test_every_spelling_of_it_is_left_out(workspace: Path, spelling: str) -> None:
    kept, dropped = chosen_rustflags(configured(workspace, f'[build]\nrustflags = "{spelling}"\n'), None)
    assert kept == [] and dropped == [spelling]


def test_a_named_target_cpu_stays_unless_the_job_names_another(workspace: Path) -> None:
    configured(workspace, '[build]\nrustflags = ["-C", "target-cpu=x86-64-v3"]\n')
    assert chosen_rustflags(workspace, None) == (["-C", "target-cpu=x86-64-v3"], [])
    kept, dropped = chosen_rustflags(workspace, "x86-64-v2")
    assert kept == ["-C", "target-cpu=x86-64-v2"] and dropped == ["-C target-cpu=x86-64-v3"]


def test_without_a_configuration_there_are_no_flags(tmp_path: Path) -> None:
    assert chosen_rustflags(tmp_path, None) == ([], [])


@pytest.mark.parametrize(
    ("package_id", "is_of"),
    [
        ("path+file:///w/my-gpu#0.1.0", True),
        ("path+file:///w/folder#my-gpu@0.1.0", True),
        ("my-gpu 0.1.0 (path+file:///w/my-gpu)", True),
        ("path+file:///w/other#0.1.0", False),
        ("path+file:///w/my-gpu#other@0.1.0", False),
        ("registry+https://example.org/index#my-gpu-core@1.0.0", False),
    ],
)
def test_a_package_id_names_its_crate_in_each_of_cargos_forms(package_id: str, is_of: bool) -> None:
    assert is_package_of(package_id, "my-gpu") is is_of


def test_a_commit_that_is_not_there_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="git"):
        check_out(tmp_path, "0" * 40, tmp_path / "out")


def packed(folder: Path, *members: tuple[str, bytes, str]) -> Path:
    """Write an archive of members: a name, a tar type, and the text of a file or the target of a link."""
    archive = folder / "source.tar"
    with tarfile.open(archive, "w") as target:
        for name, kind, text in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o755
            if kind == tarfile.REGTYPE:
                member.size = len(text)
                target.addfile(member, io.BytesIO(text.encode()))
            else:
                member.linkname = text
                target.addfile(member)
    return archive


def test_a_source_is_unpacked_with_its_folders_and_inner_links(tmp_path: Path) -> None:
    archive = packed(
        tmp_path,
        (".", tarfile.DIRTYPE, ""),
        ("src", tarfile.DIRTYPE, ""),
        ("src/lib.rs", tarfile.REGTYPE, "mod a;"),
        ("src/a.rs", tarfile.SYMTYPE, "../a.rs"),
        ("build.sh", tarfile.REGTYPE, "true"),
    )
    unpack_source(archive, tmp_path / "out")
    assert (tmp_path / "out/src/lib.rs").read_text() == "mod a;"
    assert (tmp_path / "out/src/a.rs").readlink() == Path("../a.rs")
    assert os.access(tmp_path / "out/build.sh", os.X_OK)


@pytest.mark.parametrize(
    "members",
    [
        [("../outside", tarfile.REGTYPE, "x")],
        [("/ferroaudit-outside", tarfile.REGTYPE, "x")],
        [("a/../../outside", tarfile.REGTYPE, "x")],
        [("link", tarfile.SYMTYPE, "../outside")],
        [("link", tarfile.SYMTYPE, "/etc/passwd")],
        [("link", tarfile.LNKTYPE, "../outside")],
        [("inner", tarfile.SYMTYPE, "file"), ("inner", tarfile.REGTYPE, "x")],
        [("pipe", tarfile.FIFOTYPE, "")],
        [("device", tarfile.CHRTYPE, "")],
    ],
    ids=lambda members: f"{members[-1][0]} {members[-1][1].decode()}",
)
def test_a_source_that_would_leave_its_folder_is_refused(
    tmp_path: Path, members: list[tuple[str, bytes, str]]
) -> None:
    with pytest.raises(BuildError):
        unpack_source(packed(tmp_path, *members), tmp_path / "out")
    assert not (tmp_path / "outside").exists()
    assert not Path("/ferroaudit-outside").exists()


BUILD_SCRIPT = """
use std::{env, fs, net::TcpStream, path::Path};
fn main() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let uid = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
    let names: Vec<String> = env::vars().map(|(name, _)| name).collect();
    let reached = TcpStream::connect("127.0.0.1:PORT").is_ok();
    let home = fs::read_dir("HOME").is_ok();
    let facts = format!("{uid}\\n{}\\nnetwork {reached}\\nhome {home}", names.join(" "));
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("facts"), facts).unwrap();
}
"""
has_cargo = pytest.mark.skipif(rust_program("cargo") is None, reason="no cargo that works")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


def build(folder: Path, files: dict[str, str]) -> Built:
    source = folder / "source"
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    return build_tests(
        source,
        BuildRequest(crate="c"),
        repository="r",
        commit="0" * 40,
        target_folder=folder / "cache" / "target",
        work=folder,
    )


MANIFEST = '[package]\nname = "c"\nversion = "0.1.0"\nedition = "2021"\n'
TESTS = "#[test]\nfn passes() {}\n"


@has_cargo
@as_root
def test_a_build_script_runs_as_tests_do(
    open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_TOKEN", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:password@127.0.0.1:9")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        script = BUILD_SCRIPT.replace("PORT", str(listener.getsockname()[1])).replace("HOME", str(tmp_path))
        built = build(open_folder, {"Cargo.toml": MANIFEST, "build.rs": script, "src/lib.rs": TESTS})
    assert built.manifest.binaries[0].tests == ("passes",)
    (facts,) = (open_folder / "cache" / "target").glob("**/facts")
    uid, names, network, home = facts.read_text().splitlines()
    user = other_user()
    assert user is not None and uid.split()[1:] == [str(user.uid)] * 4
    assert not {"RUNNER_TOKEN", "HTTPS_PROXY", "SECRET_KEY"} & set(names.split())
    assert home == "home false"
    can_be_cut = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    assert network == "network false" or can_be_cut.returncode != 0


def test_a_source_that_unpacks_to_more_than_the_disk_is_refused(tmp_path: Path) -> None:
    hole = tarfile.TarInfo("hole")
    hole.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 40)}
    with tarfile.open(tmp_path / "source.tar", "w", format=tarfile.PAX_FORMAT) as target:
        target.addfile(hole)
    assert (tmp_path / "source.tar").stat().st_size < 1 << 16
    with pytest.raises(BuildError, match="1099511627776 bytes unpacked"):
        unpack_source(tmp_path / "source.tar", tmp_path / "out")
    assert not (tmp_path / "out/hole").exists()


@has_cargo
@as_root
def test_the_caches_secrets_stay_with_the_runner(
    open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "cargo"
    own.mkdir()
    monkeypatch.setenv("CARGO_HOME", str(own))
    user = other_user()

    def carried(text: str) -> bool:
        (own / "config.toml").write_text(text)
        cache = open_folder / "cache"
        prepare_toolchain(workspace=open_folder, own=cache, toolchains=cache / "toolchains", user=user)
        return any(cache.glob("cargo-home-*/config.toml"))

    assert carried('[source.crates-io]\nreplace-with = "mirror"\n')
    assert not carried('[registries.mirror]\ntoken = "secret"\n')
    assert not carried("[not toml")


@has_cargo
def test_an_executable_that_the_build_did_not_make_is_refused(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forged(messages: object, crate: str) -> Iterator[tuple[str, tuple[str, Path]]]:
        yield "c", ("unit", Path("/etc/passwd"))

    monkeypatch.setattr(cargo, "_executables", forged)
    with pytest.raises(BuildError, match="which it did not make"):
        build(open_folder, {"Cargo.toml": MANIFEST, "src/lib.rs": TESTS})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[toolchain]\npath = "/opt/evil"\n', "by its path"),
        ('[toolchain]\nchannel = "../evil"\n', "no channel"),
        ("/opt/evil", "no channel"),
        ('toolchain = "x"\n', "by its path"),
    ],
)
def test_a_toolchain_that_the_workspace_brings_along_is_not_run(
    workspace: Path, text: str, said: str
) -> None:
    (workspace / "rust-toolchain").write_text(text)
    with pytest.raises(ToolchainError, match=said):
        pinned_channel(workspace)


def test_a_pinned_channel_is_read_in_both_forms(workspace: Path) -> None:
    assert pinned_channel(workspace) is None
    (workspace / "rust-toolchain.toml").write_text('[toolchain]\nchannel = "1.80.0"\n')
    assert pinned_channel(workspace) == "1.80.0"
    (workspace / "rust-toolchain").write_text("nightly-2026-01-01\n")
    assert pinned_channel(workspace) == "nightly-2026-01-01"


@as_root
def test_a_cache_that_the_user_of_tests_can_not_enter_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(BuildError, match="can't be entered by the user"):
        build(tmp_path, {"Cargo.toml": MANIFEST, "src/lib.rs": TESTS})
