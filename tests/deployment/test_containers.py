"""docker-compose.yml and Dockerfile, as far as they can be judged without an engine."""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import check_jsonschema
import jsonschema
import pytest
import yaml

from migrations_tracker import settings

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Path(check_jsonschema.__file__).parent / "builtin_schemas" / "vendor" / "compose-spec.json"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
# Set by compose itself for its own servers, not read by the product.
ONLY_COMPOSE = {"POSTGRES_PASSWORD", "BROKER_PASSWORD", "PORT"}


def test_compose_is_valid_by_the_schema_of_the_compose_specification() -> None:
    jsonschema.validate(COMPOSE, json.loads(SCHEMA.read_text()))


def test_the_schema_would_notice_a_mistake() -> None:
    broken = {**COMPOSE, "services": {"web": {"imagee": "misspelt"}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, json.loads(SCHEMA.read_text()))


def test_the_dockerfile_passes_hadolint() -> None:
    program = Path(sys.executable).with_name("hadolint")
    found = subprocess.run(
        [program, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert found.stdout == ""
    assert found.returncode == 0


def test_the_services_are_those_of_the_product() -> None:
    assert set(SERVICES) == {"database", "broker", "migrate", "web", "worker", "beat", "runner"}
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["runner"]


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_can_become_root(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    if "build" in service:
        stage = DOCKERFILE.split(f" AS {service['build']['target']}\n")[1].split("\nFROM ")[0]
        user = re.findall(r"^USER (\S+)$", stage, flags=re.MULTILINE)[-1]
    else:
        user = service["user"]
    assert user not in {"0", "root"}


@pytest.mark.parametrize("name", ["database", "broker", "web", "worker", "beat"])
def test_every_lasting_service_is_checked(name: str) -> None:
    in_image = "build" in SERVICES[name] and "HEALTHCHECK" in DOCKERFILE
    assert in_image or SERVICES[name]["healthcheck"]["test"]


def test_only_the_pages_are_published() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["web"]


def test_no_secret_stands_in_the_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("POSTGRES_PASSWORD", "BROKER_PASSWORD", "SECRET_KEY"):
        uses = re.findall(rf"\$\{{{name}[^}}]*\}}", text)
        assert uses
        assert all(use.startswith(f"${{{name}:?") for use in uses)


def test_every_variable_of_the_app_is_one_that_the_settings_read() -> None:
    read = {variable.name for variable in settings.env.variables}
    assert set(SERVICES["web"]["environment"]) <= read


def test_every_variable_of_the_settings_reaches_the_app() -> None:
    """One that stands in `.env` and goes no further would silently be the default: no second factor, say."""
    read = {variable.name for variable in settings.env.variables}
    in_the_volume = {name for name in read if name.endswith(("_DIR", "_ROOT"))}
    assert read - in_the_volume - {"DEBUG"} == set(SERVICES["web"]["environment"])


def test_the_example_names_only_variables_that_exist() -> None:
    read = {variable.name for variable in settings.env.variables} | ONLY_COMPOSE
    named = re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), flags=re.MULTILINE)
    assert named
    assert set(named) <= read


def test_every_volume_and_network_is_declared() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in COMPOSE["volumes"]
        assert set(service["networks"]) <= set(COMPOSE["networks"])


@pytest.mark.parametrize("name", ["migrate", "web", "worker", "beat", "runner"])
def test_the_programs_that_are_started_exist(name: str) -> None:
    command = SERVICES[name].get("command") or json.loads(_last_command(SERVICES[name]["build"]["target"]))
    modules = re.findall(r"\b((?:workers|migrations_tracker)(?:\.\w+)+)", " ".join(command))
    for module in modules:
        assert importlib.util.find_spec(module) is not None
    assert modules or "manage.py" in " ".join(command)


def test_the_health_check_of_the_image_is_a_program_of_the_product() -> None:
    assert "migrations_tracker.healthcheck" in DOCKERFILE
    assert importlib.util.find_spec("migrations_tracker.healthcheck") is not None


def test_everything_that_is_copied_exists_and_is_not_ignored() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    sources = [
        source
        for line in re.findall(r"^COPY (.+)$", DOCKERFILE, flags=re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(
            fnmatch.fnmatch(source, rule.removeprefix("!")) for rule in rules if rule.startswith("!")
        ), source


def _last_command(stage: str) -> str:
    body = DOCKERFILE.split(f" AS {stage}\n")[1].split("\nFROM ")[0].replace("\\\n", "")
    return str(re.findall(r"^CMD (\[.*\])$", body, flags=re.MULTILINE)[-1])
