"""Typed readers of the environment, which remember what they read: docs/configure.md is made of that."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

YES = frozenset({"1", "true", "yes", "on"})
NO = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable that the settings read."""

    name: str
    kind: str
    default: str
    meaning: str


class Environment:
    """Reads typed values, fails with the variable's name, and keeps a list of every variable read."""

    def __init__(self, source: MutableMapping[str, str] | None = None) -> None:
        self.source = os.environ if source is None else source
        self.variables: list[Variable] = []

    def load_file(self, file: Path) -> None:
        """Take from a file of `NAME=value` lines what the environment does not say itself."""
        if file.is_file():
            for name, value in _lines(file):
                self.source.setdefault(name, value)

    def text(self, name: str, *, default: str = "", meaning: str) -> str:
        """Read a string."""
        self._note(name, "text", default, meaning)
        return self.source.get(name) or default

    def choice(self, name: str, words: tuple[str, ...], *, default: str, meaning: str) -> str:
        """Read one of some words; another is an error, never silently the weakest."""
        self._note(name, "choice", default, meaning)
        word = (self.source.get(name) or default).strip().lower()
        if word not in words:
            raise ImproperlyConfigured(f"{name} is `{word}`: write one of {', '.join(words)}.")
        return word

    def flag(self, name: str, *, default: bool, meaning: str) -> bool:
        """Read a yes or no; anything but the usual spellings is an error, never a silent no."""
        self._note(name, "yes or no", "yes" if default else "no", meaning)
        word = self.source.get(name, "").strip().lower()
        if word in YES:
            return True
        if word in NO:
            return False
        if word:
            raise ImproperlyConfigured(f"{name} is `{word}`: write `yes` or `no`.")
        return default

    def number(self, name: str, *, default: int, meaning: str) -> int:
        """Read a whole number."""
        self._note(name, "number", str(default), meaning)
        raw = self.source.get(name) or str(default)
        try:
            return int(raw)
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} is `{raw}`, which is no whole number.") from error

    def names(self, name: str, *, default: tuple[str, ...] = (), meaning: str) -> list[str]:
        """Read a list separated by commas."""
        self._note(name, "list", ",".join(default), meaning)
        raw = self.source.get(name) or ",".join(default)
        return [part.strip() for part in raw.split(",") if part.strip()]

    def secret(self, name: str, *, meaning: str) -> str:
        """Read a secret, from the variable or from the file that `<name>_FILE` names."""
        self._note(name, "secret", "", f"{meaning} `{name}_FILE` may name a file that holds it instead.")
        file = self.source.get(f"{name}_FILE")
        if not file:
            return self.source.get(name, "")
        try:
            return Path(file).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(
                f"{name}_FILE names `{file}`, which cannot be read: {error}."
            ) from error

    def database(self, name: str, *, meaning: str) -> dict[str, Any]:
        """Read the address of a PostgreSQL database as Django's settings for it."""
        address = self.secret(name, meaning=meaning)
        if not address:
            return {"ENGINE": "django.db.backends.postgresql"}
        settings: dict[str, Any] = environ.Env.db_url_config(address)
        if settings.get("ENGINE") != "django.db.backends.postgresql":
            raise ImproperlyConfigured(
                f"{name} must be an address of the form `postgresql://user:password@host/name`."
            )
        return settings

    def _note(self, name: str, kind: str, default: str, meaning: str) -> None:
        self.variables.append(Variable(name, kind, default, meaning))


def _lines(file: Path) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, found, value = line.partition("=")
        if not found:
            raise ImproperlyConfigured(f"`{file}`, line {number}: expected `NAME=value`.")
        pairs.append((name.removeprefix("export ").strip(), value.strip().strip("'\"")))
    return pairs
