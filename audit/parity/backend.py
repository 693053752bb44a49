"""The backend trait of a workspace: which methods have a default, of what kind, and what overrides it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from audit.parity.capability import Place
from audit.scanner.extract.facts import ScopeKind
from audit.scanner.link.unit import Fn
from audit.scanner.link.workspace import Workspace
from audit.scanner.profile import Profile


class Body(StrEnum):
    """What a method's body is, by its text alone."""

    REQUIRED = "required"
    TEXT_ERROR = "text-error"
    STRUCTURED_ERROR = "structured-error"
    DOWNLOAD = "download"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class BackendMethod:
    """A method of the backend trait; `overrides` maps devices to the implementing functions."""

    name: str
    declared: Fn
    default: Body
    overrides: Mapping[str, Fn] = field(default_factory=dict)

    @property
    def has_default(self) -> bool:
        """Whether the trait gives a body."""
        return self.default is not Body.REQUIRED

    def in_force(self, device: str) -> Fn:
        """Return the function that runs on a device."""
        return self.overrides.get(device, self.declared)


def body_kind(function: Fn, profile: Profile) -> Body:
    """Classify a body: an error is one when nothing else is called."""
    if not function.has_body:
        return Body.REQUIRED
    text = function.text(function.facts.body_start, function.facts.body_end)
    names = {call.name for call in function.facts.calls}
    if names & (profile.downloads - {"to"}):
        return Body.DOWNLOAD
    if "Err(" in text and "Ok(" not in text:
        variants = re.findall(r"::(\w+)\s*[{(]?", text.partition("Err(")[2])
        if any(variant in profile.errors.structured for variant in variants):
            return Body.STRUCTURED_ERROR
        if any(variant in profile.errors.stringly for variant in variants):
            return Body.TEXT_ERROR
    return Body.OTHER


def backend_methods(
    workspace: Workspace, profile: Profile, devices: Mapping[str, str], trait: str
) -> tuple[BackendMethod, ...]:
    """Return the methods of the backend trait, sorted by name.

    `devices` maps the crates that implement the trait to the device each stands for.
    """
    declared: dict[str, Fn] = {}
    overrides: dict[str, dict[str, Fn]] = {}
    for function in workspace.trait_methods.get(trait, []):
        if function.owner is None or not function.is_product_code:
            continue
        if function.owner.kind == ScopeKind.TRAIT:
            declared[function.name] = function
        elif function.unit.package is not None and function.unit.package.name in devices:
            device = devices[function.unit.package.name]
            overrides.setdefault(function.name, {})[device] = function
    return tuple(
        BackendMethod(name, function, body_kind(function, profile), overrides.get(name, {}))
        for name, function in sorted(declared.items())
    )


@dataclass(frozen=True, slots=True)
class BackendRow:
    """A method of the backend trait: what the trait gives as a default, and what overrides it on a device."""

    name: str
    default: Body
    declared: Place
    overrides: Mapping[str, Place]


def place_of(function: Fn, offset: int | None = None) -> Place:
    """Return the place of a function, or of an offset in it."""
    line = function.line if offset is None else function.unit.line(offset)
    return Place(function.unit.path, line, function.symbol)


def backend_rows(methods: Iterable[BackendMethod]) -> tuple[BackendRow, ...]:
    """Return methods with their places, which keep nothing of the workspace."""
    return tuple(
        BackendRow(
            method.name,
            method.default,
            place_of(method.declared),
            {device: place_of(function) for device, function in sorted(method.overrides.items())},
        )
        for method in methods
    )
