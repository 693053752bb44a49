"""The vocabulary of a family of projects, as data: what its names mean."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from audit.scanner.errors import ScanError
from audit.scanner.report import Level

DEFAULT_PROFILE = "ferrotorch"
GENERIC_PROFILE = "generic"
# An entry of a list that stands for what the list holds in the profile that is extended.
INHERITED = "..."
_FOLDER = Path(__file__).parent / "profiles"


class ProfileError(ScanError):
    """A profile that can't be used: the message names file, key and reason."""


class DeviceWords(NamedTuple):
    """How code asks where data is."""

    predicates: tuple[str, ...]
    host_predicates: tuple[str, ...]
    variants: tuple[str, ...]
    host_variants: tuple[str, ...]
    tensor_types: tuple[str, ...]
    buffer_types: tuple[str, ...]
    storage_types: tuple[str, ...]
    layout_patterns: tuple[str, ...]
    narrow_predicates: tuple[str, ...] = ()


class TransferWords(NamedTuple):
    """How data crosses between host and device, and how host data comes to be."""

    download_methods: tuple[str, ...]
    download_functions: tuple[str, ...]
    upload_methods: tuple[str, ...]
    upload_functions: tuple[str, ...]
    in_place_uploads: tuple[str, ...]
    transfer_apis: tuple[str, ...]
    refusing_accessors: tuple[str, ...]
    status_patterns: tuple[str, ...]
    host_constructors: tuple[str, ...]
    host_types: tuple[str, ...]
    host_name_patterns: tuple[str, ...]
    device_arguments: tuple[str, ...] = ()
    metadata_types: tuple[str, ...] = ()
    index_operators: tuple[str, ...] = ()
    scalar_reads: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    host_storage_patterns: tuple[str, ...] = ()
    host_only_patterns: tuple[str, ...] = ()
    transfer_api_patterns: tuple[str, ...] = ()


class LaunchWords(NamedTuple):
    """How work gets onto the device."""

    calls: tuple[str, ...]
    call_patterns: tuple[str, ...]
    compile_calls: tuple[str, ...]
    backend_accessors: tuple[str, ...]
    backend_traits: tuple[str, ...]
    handle_constructors: tuple[str, ...]
    kernel_attributes: tuple[str, ...]
    library_families: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    driver_calls: tuple[str, ...] = ()


class GateWords(NamedTuple):
    """How a user opts in to a fallback. `strict_environment` are variables that switch fallbacks off.

    `kernel_fields` are the names under which a warning says which operation it is about.
    """

    environment_patterns: tuple[str, ...]
    functions: tuple[str, ...] = ()
    strict_environment: tuple[str, ...] = ()
    warning_macros: tuple[str, ...] = ("warn",)
    kernel_fields: tuple[str, ...] = ("kernel", "op", "operator", "operation", "collective", "function")


class ErrorWords(NamedTuple):
    """Which errors say what failed, and which are text in a catch-all.

    `text_macros` are those of `macros` that answer with text where there is an error type that could say it.
    Variants of the code's own error types that hold a single one of `text_types` are `stringly` too.
    """

    structured: tuple[str, ...]
    stringly: tuple[str, ...]
    unsupported_texts: tuple[str, ...]
    macros: tuple[str, ...] = ("bail",)
    text_macros: tuple[str, ...] = ()
    text_types: tuple[str, ...] = ()


class GpuWords(NamedTuple):
    """What is named or located as GPU code."""

    crates: tuple[str, ...]
    core_crates: tuple[str, ...]
    paths: tuple[str, ...]
    function_patterns: tuple[str, ...]
    emitter_patterns: tuple[str, ...]
    features: tuple[str, ...]
    # Cargo features that choose a backend of the host, for one and the same suite of tests.
    host_features: tuple[str, ...] = ()
    features_without_doubles: tuple[str, ...] = ()
    # What runs generated code on the host, and the targets of a compiler that promise the device.
    host_executor_patterns: tuple[str, ...] = ()
    target_patterns: tuple[str, ...] = ()


class AutogradWords(NamedTuple):
    """What computes gradients."""

    traits: tuple[str, ...]
    methods: tuple[str, ...]
    optimizer_traits: tuple[str, ...]
    function_patterns: tuple[str, ...] = ()
    # Where optimizers stand, and what their steps are called.
    optimizer_path_patterns: tuple[str, ...] = ()
    step_patterns: tuple[str, ...] = ()


class TestWords(NamedTuple):
    """How a test gets hold of a device."""

    constructors: tuple[str, ...]
    probe_patterns: tuple[str, ...]
    environment_patterns: tuple[str, ...] = ()
    presumed_patterns: tuple[str, ...] = ()


class SetupWords(NamedTuple):
    """Code that runs once or exports data: host work is what it is for.

    Constructors count only where they return their own type.
    """

    constructor_patterns: tuple[str, ...]
    export_patterns: tuple[str, ...]
    check_patterns: tuple[str, ...] = ()
    loader_types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """A validated profile.

    `digest` is the SHA-256 of its text and of the texts that it extends: two scans compare only under one
    digest. `levels` are what the project gives to rules, named by id or name, in place of their own.
    """

    name: str
    digest: str
    device: DeviceWords
    transfer: TransferWords
    launch: LaunchWords
    gate: GateWords
    errors: ErrorWords
    gpu: GpuWords
    autograd: AutogradWords
    tests: TestWords
    setup: SetupWords
    ptx_targets: tuple[str, ...] = field(default=())
    levels: tuple[tuple[str, Level], ...] = field(default=())

    @property
    def is_generic(self) -> bool:
        """Whether this is the profile for trees of which nothing is known: no other one fits."""
        return self.name == GENERIC_PROFILE

    def is_gpu_crate(self, package: str) -> bool:
        """Say whether a package is a GPU crate by its name."""
        return any(fnmatchcase(package, pattern) for pattern in self.gpu.crates)

    def is_gpu_file(self, package: str, path: str) -> bool:
        """Say whether a file holds GPU code, by its package or by its path."""
        known = self._gpu_files.get((package, path))
        if known is None:
            known = self._gpu_files[package, path] = self.is_gpu_crate(package) or any(
                fnmatchcase(f"/{path}", pattern) for pattern in self.gpu.paths
            )
        return known

    @cached_property
    def _gpu_files(self) -> dict[tuple[str, str], bool]:
        return {}

    def is_core_crate(self, package: str) -> bool:
        """Say whether a package is the crate that dispatches."""
        return any(fnmatchcase(package, pattern) for pattern in self.gpu.core_crates)

    @cached_property
    def downloads(self) -> frozenset[str]:
        """All names that copy device data to the host."""
        return frozenset(self.transfer.download_methods + self.transfer.download_functions)

    @cached_property
    def uploads(self) -> frozenset[str]:
        """All names that copy host data to the device."""
        return frozenset(self.transfer.upload_methods + self.transfer.upload_functions)

    @cached_property
    def launches(self) -> frozenset[str]:
        """All names that launch device work by themselves."""
        return frozenset(self.launch.calls)


PROFILE_SECTIONS: dict[str, type[Any]] = {
    "device": DeviceWords,
    "transfer": TransferWords,
    "launch": LaunchWords,
    "gate": GateWords,
    "errors": ErrorWords,
    "gpu": GpuWords,
    "autograd": AutogradWords,
    "tests": TestWords,
    "setup": SetupWords,
}


@lru_cache(maxsize=1024)
def any_pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Compile patterns into one that matches where any of them does (nowhere, when there is none)."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")


def load_profile(source: str | Path = DEFAULT_PROFILE) -> Profile:
    """Load a profile by name, or from a file."""
    text, origin = _text_of(source)
    return parse_profile(text, origin)


def profile_names() -> tuple[str, ...]:
    """List the profiles that come with the scanner."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def parse_profile(text: str, origin: str) -> Profile:
    """Parse and validate a profile's text; `origin` names it in error messages."""
    layers = _layers(text, origin)
    name = layers[0].document.get("name")
    if not isinstance(name, str) or not name:
        raise ProfileError(f"{origin}: `name` must be a text")
    sections: dict[str, Any] = {
        key: _section(section, layers, key) for key, section in PROFILE_SECTIONS.items()
    }
    digest = hashlib.sha256("".join(layer.text for layer in layers).encode()).hexdigest()
    return Profile(
        name=name,
        digest=digest,
        ptx_targets=_merged(layers, "", "ptx_targets") or (),
        levels=_levels(layers),
        **sections,
    )


class _Layer(NamedTuple):
    """A profile's text as it stands, without what it extends."""

    origin: str
    text: str
    document: dict[str, Any]


def _text_of(source: str | Path) -> tuple[str, str]:
    if isinstance(source, Path) or source.endswith(".toml"):
        path = Path(source)
        try:
            return path.read_text("utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise ProfileError(f"{path}: cannot read the profile: {error}") from error
    if source not in profile_names():
        raise ProfileError(f"no profile is named `{source}`; there are {', '.join(profile_names())}")
    return (_FOLDER / f"{source}.toml").read_text("utf-8"), f"{source}.toml"


def _layers(text: str, origin: str) -> list[_Layer]:
    """Return a profile and those that it extends, the nearest first."""
    found = [_layer(text, origin)]
    while (base := found[-1].document.get("extends")) is not None:
        if base not in profile_names():
            names = ", ".join(profile_names())
            raise ProfileError(f"{found[-1].origin}: `extends` must name one of {names}")
        if any(layer.origin == f"{base}.toml" for layer in found):
            raise ProfileError(f"{found[-1].origin}: `extends`: `{base}` extends itself")
        found.append(_layer(*_text_of(base)))
    return found


def _layer(text: str, origin: str) -> _Layer:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{origin}: not TOML: {error}") from error
    except RecursionError as error:
        raise ProfileError(f"{origin}: not TOML: nested too deeply") from error
    unknown = set(document) - set(PROFILE_SECTIONS) - {"name", "extends", "ptx_targets", "levels"}
    if unknown:
        raise ProfileError(f"{origin}: `{min(unknown)}` is no key of a profile")
    for key, section in PROFILE_SECTIONS.items():
        table = document.get(key, {})
        if not isinstance(table, dict):
            raise ProfileError(f"{origin}: `{key}` must be a table, `[{key}]`")
        for word, value in table.items():
            if word not in section._fields:
                raise ProfileError(f"{origin}: `{key}.{word}` is no key of a profile")
            _check_words(value, f"{key}.{word}", origin)
    _check_words(document.get("ptx_targets", []), "ptx_targets", origin)
    _check_levels(document.get("levels", {}), origin)
    return _Layer(origin, text, document)


def _check_levels(table: object, origin: str) -> None:
    if not isinstance(table, dict):
        raise ProfileError(f"{origin}: `levels` must be a table, `[levels]`")
    for word, level in table.items():
        if level not in tuple(Level):
            names = ", ".join(f'"{one}"' for one in reversed(Level))
            raise ProfileError(f"{origin}: `levels.{word}` must be one of {names}")


def _levels(layers: Sequence[_Layer]) -> tuple[tuple[str, Level], ...]:
    """Return the levels of rules, the nearest profile's first of all."""
    found: dict[str, Level] = {}
    for layer in reversed(layers):
        found |= {word: Level(level) for word, level in layer.document.get("levels", {}).items()}
    return tuple(found.items())


def _section(section: type[Any], layers: Sequence[_Layer], key: str) -> object:
    values = {}
    for name in section._fields:
        words = _merged(layers, key, name)
        if words is not None:
            values[name] = words
        elif name not in section._field_defaults:
            raise ProfileError(f"{layers[0].origin}: `{key}.{name}` is missing")
    return section(**values)


def _merged(layers: Sequence[_Layer], key: str, word: str) -> tuple[str, ...] | None:
    """Return a list with what it inherits, None where no layer holds it."""
    for number, layer in enumerate(layers):
        table = layer.document.get(key, {}) if key else layer.document
        if word not in table:
            continue
        found: list[str] = []
        for entry in table[word]:
            if entry != INHERITED:
                found.append(entry)
                continue
            inherited = _merged(layers[number + 1 :], key, word)
            if inherited is None:
                where = f"{key}.{word}" if key else word
                raise ProfileError(
                    f"{layer.origin}: `{where}`: there is nothing that `{INHERITED}` stands for"
                )
            found += inherited
        return tuple(found)
    return None


def _check_words(value: object, key: str, origin: str) -> None:
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise ProfileError(f"{origin}: `{key}` must be a list of texts")
    if not key.endswith("patterns"):
        return
    for pattern in value:
        # As a part of a larger one, which is how it is used: there flags such as `(?i)` and groups differ.
        _check_pattern((pattern,), f"`{pattern}`", key, origin)
    _check_pattern(tuple(value), "the list as a whole", key, origin)


def _check_pattern(patterns: tuple[str, ...], called: str, key: str, origin: str) -> None:
    try:
        any_pattern(patterns)
    except (re.error, RecursionError, OverflowError) as error:
        raise ProfileError(f"{origin}: `{key}`: {called} is no pattern: {error}") from error
