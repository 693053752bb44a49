"""Makefile, continuous integration and pre-commit: one set of tools, called the same way everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()


def make(*arguments: str) -> str:
    """Return what make would do."""
    done = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.replace("\\\n", " ")


def test_pre_commit_calls_what_make_check_calls() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"]
    entries = {hook["entry"].removesuffix(" .") for hook in hooks[0]["hooks"]}
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE)
    assert recipe is not None
    commands = {
        line.strip().removesuffix(" .") for line in recipe[1].replace("$(TOOL)", ".venv/bin").splitlines()
    }
    assert entries == commands


def test_continuous_integration_checks_and_tests_and_skips_no_browser() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "FERROAUDIT_REQUIRE_BROWSER=1" in script
    assert script.index("make check") < script.index("make test")


@pytest.mark.parametrize(
    "path", ["/srv/a folder", "it's here", "$HOME", "https://host/x.git?a=1&b=2", '"quoted"']
)
def test_a_repository_arrives_as_it_was_given(path: str) -> None:
    command = next(
        line
        for line in make("run", f"REPO={path.replace('$', '$$')}", "REV=v1.0").splitlines()
        if "manage.py up" in line
    )
    echoed = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {command.partition('manage.py')[2]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert echoed.stdout.splitlines() == ["up", "--repo", path, "--rev", "v1.0"]


@pytest.mark.parametrize("target", ["run", "test", "check", "fix", "accuracy", "bench"])
def test_every_target_is_listed_by_help(target: str) -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^{target} .*\w", listed, flags=re.MULTILINE)


# Stands for an interpreter: making a real environment takes seconds, and `make test` has just made one.
INTERPRETER = """#!/bin/sh
echo "$@" >> calls
case "$*" in
    *"-m venv"*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Give a folder with what tools/setup.sh needs, and `bin` as its search path."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "setup.sh").write_text((ROOT / "tools" / "setup.sh").read_text())
    (tmp_path / "requirements.lock").write_text("something==1.0\n")
    (tmp_path / "bin").mkdir()
    for name in ("awk", "cat", "cksum", "cp", "dirname", "id", "mkdir", "rm", "sh"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    return tmp_path


def put_program(clone: Path, name: str, script: str = INTERPRETER) -> None:
    program = clone / "bin" / name
    program.write_text(script)
    program.chmod(0o755)


def set_up(clone: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", "tools/setup.sh"],
        cwd=clone,
        env={"PATH": str(clone / "bin"), "HOME": str(clone), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_is_made_of_the_lock_with_its_hashes(clone: Path) -> None:
    put_program(clone, "python3.11")
    done = set_up(clone)
    assert done.returncode == 0, done.stderr
    installed = next(line for line in (clone / "calls").read_text().splitlines() if "pip install" in line)
    assert "--require-hashes" in installed
    assert "-r requirements.lock" in installed


def test_without_python_it_says_what_to_install(clone: Path) -> None:
    done = set_up(clone)
    assert done.returncode == 1
    assert "No Python 3.11 or later was found" in done.stderr
    assert "apt-get install python3" in done.stderr


def test_a_name_that_does_not_run_is_passed_over(clone: Path) -> None:
    put_program(clone, "python3.13", "#!/bin/sh\nexit 127\n")
    put_program(clone, "python3.12", "#!/bin/sh\nexit 1\n")
    put_program(clone, "python3.11")
    assert f"Making .venv with {clone}/bin/python3.11" in set_up(clone).stdout


SLOW = '[ "$1" != - ] || exit 1\n'


@pytest.fixture
def slow_first(clone: Path) -> str:
    """Give a search path that begins with a Python compiled without profile-guided optimisation."""
    (clone / "other").mkdir()
    put_program(clone, "python3.11", INTERPRETER + SLOW)
    (clone / "bin" / "python3.11").rename(clone / "other" / "python3.11")
    return f"{clone / 'other'}:{clone / 'bin'}"


def test_of_one_version_the_python_that_was_optimised_is_taken(clone: Path, slow_first: str) -> None:
    put_program(clone, "python3.11")
    assert f"Making .venv with {clone}/bin/python3.11" in set_up(clone, PATH=slow_first).stdout


def test_one_that_was_not_optimised_is_taken_where_no_other_makes_environments(
    clone: Path, slow_first: str
) -> None:
    assert f"Making .venv with {clone}/other/python3.11" in set_up(clone, PATH=slow_first).stdout
    shutil.rmtree(clone / ".venv")
    put_program(clone, "python3.11", '#!/bin/sh\ncase "$*" in *ensurepip*) exit 1 ;; esac\n')
    assert f"Making .venv with {clone}/other/python3.11" in set_up(clone, PATH=slow_first).stdout


def test_the_version_counts_for_more_than_how_it_was_compiled(clone: Path, slow_first: str) -> None:
    older = INTERPRETER + 'case "$*" in *print*version_info*) echo 3.10 ;; esac\n'
    put_program(clone, "python3.11", older)
    put_program(clone, "python3")
    assert f"Making .venv with {clone}/other/python3.11" in set_up(clone, PATH=slow_first).stdout


def test_a_python_that_reads_what_it_is_given_hides_no_other(clone: Path, slow_first: str) -> None:
    (clone / "other" / "python3.11").write_text("#!/bin/sh\ncat\nexit 1\n")
    put_program(clone, "python3.11")
    assert f"Making .venv with {clone}/bin/python3.11" in set_up(clone, PATH=slow_first).stdout


@pytest.mark.parametrize("name", ["/nowhere/python3", "old", "a folder"])
def test_a_named_python_that_can_not_be_used_is_an_error(clone: Path, name: str) -> None:
    put_program(clone, "python3.11")
    put_program(clone, "old", "#!/bin/sh\nexit 1\n")
    (clone / "a folder").mkdir()
    done = set_up(clone, PYTHON=name)
    assert done.returncode == 1
    assert f"PYTHON={name} is no Python 3.11 or later" in done.stderr


def test_a_python_that_is_named_comes_first(clone: Path) -> None:
    put_program(clone, "python3.13")
    put_program(clone, "mine")
    assert "Making .venv with mine" in set_up(clone, PYTHON="mine").stdout


def test_a_python_without_its_venv_module_is_named_with_its_package(clone: Path) -> None:
    lacking = '#!/bin/sh\ncase "$*" in *ensurepip*) exit 1 ;; *version_info*2*) echo 3.11 ;; esac\n'
    put_program(clone, "python3.11", lacking)
    done = set_up(clone)
    assert done.returncode == 1
    assert "apt-get install python3.11-venv" in done.stderr


def test_a_second_time_nothing_is_done(clone: Path) -> None:
    put_program(clone, "python3.11")
    set_up(clone)
    again = set_up(clone)
    assert (again.returncode, again.stdout) == (0, "")


def test_a_lock_that_changed_is_installed_again_in_the_same_environment(clone: Path) -> None:
    put_program(clone, "python3.11")
    set_up(clone)
    (clone / "requirements.lock").write_text("something==2.0\n")
    again = set_up(clone).stdout
    assert "Installing" in again
    assert "Making" not in again


def test_an_installation_that_failed_is_tried_again(clone: Path) -> None:
    put_program(clone, "python3.11", INTERPRETER + 'case "$*" in *"pip install"*) exit 1 ;; esac\n')
    failed = set_up(clone)
    assert failed.returncode == 1
    assert "pip could not install everything" in failed.stderr
    put_program(clone, "python3.11")
    (clone / "bin" / "python3.11").rename(clone / ".venv" / "bin" / "python")
    assert "Packages are in .venv" in set_up(clone).stdout


def test_an_environment_whose_python_is_gone_is_made_again(clone: Path) -> None:
    put_program(clone, "python3.11")
    set_up(clone)
    python = clone / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert "Making .venv" in set_up(clone).stdout


@pytest.fixture
def without_browser(tmp_path: Path) -> Path:
    """Give a search path with nothing that could drive or install a browser."""
    (tmp_path / "id").symlink_to("/usr/bin/id")
    return tmp_path


def look_for_browser(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", ROOT / "tools" / "browser.sh"],
        env={"PATH": str(path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_browser_is_said_loudly_and_stops_nothing(without_browser: Path) -> None:
    done = look_for_browser(without_browser)
    assert done.returncode == 0
    assert "NO BROWSER" in done.stderr
    assert "apt-get install chromium" in done.stderr


def test_a_missing_browser_stops_continuous_integration(without_browser: Path) -> None:
    assert look_for_browser(without_browser, FERROAUDIT_REQUIRE_BROWSER="1").returncode == 1


def test_a_browser_that_is_there_needs_no_word(without_browser: Path) -> None:
    (without_browser / "chromium").symlink_to("/bin/true")
    done = look_for_browser(without_browser, FERROAUDIT_REQUIRE_BROWSER="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
