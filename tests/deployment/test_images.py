"""The images hold all that they run: nothing is imported that their locks and folders don't bring."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment.test_locks import pins

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

# Refuses what no package of the image's lock brings, then does what the image is asked for.
PROGRAM = """
import importlib, importlib.abc, importlib.metadata, pkgutil, re, sys

locked = set(sys.argv[1].split(","))
homes = importlib.metadata.packages_distributions()
known = {name: {re.sub("[-_.]+", "-", one).lower() for one in made_by} for name, made_by in homes.items()}


class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        home = known.get(name.partition(".")[0])
        if home is not None and not home & locked:
            raise ModuleNotFoundError(f"the image has no {name}", name=name)
        return None


sys.meta_path.insert(0, Refuse())
exec(sys.argv[2])
"""
SETTINGS = {
    "DATABASE_URL": "postgres://nobody@localhost/none",
    "BROKER_URL": "redis://localhost",
    "SECRET_KEY": "k" * 60,
    "DJANGO_SETTINGS_MODULE": "migrations_tracker.settings",
}
IN_THE_APP = {
    "pages": "import django; django.setup(); import migrations_tracker.wsgi, migrations_tracker.urls",
    "worker and clock": "from workers.celery import app; app.loader.import_default_modules(); app.tasks",
    "everything but what sets up a machine": (
        "import django; django.setup()\n"
        "import audit, workers, migrations_tracker\n"
        "import audit.scanner.__main__\n"
        "elsewhere = ('workers.runner', 'migrations_tracker.supervisor', 'audit.parity.dump')\n"
        "for package in (audit, workers, migrations_tracker):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        name = module.name\n"
        "        if not name.startswith(elsewhere) and not name.endswith('__main__'):\n"
        "            importlib.import_module(name)"
    ),
}
IN_THE_RUNNER = {
    "everything": (
        "import workers.runner.__main__, workers.runner_worker, workers.protocol\n"
        "for package in (workers.runner, workers.protocol):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not module.name.endswith('__main__'):\n"
        "            importlib.import_module(module.name)"
    ),
}


def copied(stage: str) -> list[str]:
    """Return what the Dockerfile copies into a stage, but for its lock."""
    text = re.split(r"^FROM ", DOCKERFILE.split(f" AS {stage}\n")[1], flags=re.MULTILINE)[0]
    lines = re.findall(r"^COPY (.+)$", text, flags=re.MULTILINE)
    return [source for line in lines for source in line.split()[:-1] if not source.endswith(".lock")]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for stage in ("app", "runner"):
        made[stage] = tmp_path_factory.mktemp(stage)
        for name in copied(stage):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, made[stage] / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, made[stage] / name)
    return made


def run_in(image: Path, lock: str, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, ",".join(pins(lock, PYTHON)), program],
        cwd=image,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(image), **SETTINGS},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("name", IN_THE_APP)
def test_the_app_image_can_import(name: str, images: dict[str, Path]) -> None:
    ran = run_in(images["app"], "docker/app.lock", IN_THE_APP[name])
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.parametrize("name", IN_THE_RUNNER)
def test_the_runner_image_can_import(name: str, images: dict[str, Path]) -> None:
    ran = run_in(images["runner"], "docker/runner.lock", IN_THE_RUNNER[name])
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.parametrize(
    ("stage", "lock", "lacked"),
    [("app", "docker/app.lock", "pynvml"), ("runner", "docker/runner.lock", "django")],
)
def test_what_an_image_lacks_is_refused_here(
    stage: str, lock: str, lacked: str, images: dict[str, Path]
) -> None:
    ran = run_in(images[stage], lock, f"import {lacked}")
    assert f"the image has no {lacked}" in ran.stderr
    assert ran.returncode == 1
