"""The backend trait of a branch's code, and the kernels that nothing calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from audit.models import Branch, CapabilityReading, OperationMatch
from audit.parity.backend import Body

DEFAULT_LABELS = {
    Body.REQUIRED: "none: implementors must give one",
    Body.TEXT_ERROR: "returns a text in a catch-all error",
    Body.STRUCTURED_ERROR: "returns a structured error",
    Body.DOWNLOAD: "reads device data on the host",
    Body.OTHER: "another body",
}


@dataclass(frozen=True, slots=True)
class BackendFilters:
    """What the methods are narrowed to; an empty field does not narrow.

    `in_force` names a device on which the trait's default runs.
    """

    default: str = ""
    in_force: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class BackendMethodRow:
    """A method, its default in words, the devices that override it, and the operator it is."""

    facts: Mapping[str, Any]
    label: str
    match: OperationMatch | None


@dataclass(frozen=True, slots=True)
class BackendPage:
    """The methods that fit, counts over all of them, and the kernels that nothing calls.

    `in_force` counts the text defaults that a device which implements the trait leaves in force.
    """

    reading: CapabilityReading
    rows: Sequence[BackendMethodRow]
    total: int
    with_default: int
    defaults: Sequence[tuple[str, str, int]]
    devices: Sequence[str]
    text_in_force: Sequence[tuple[str, Sequence[str]]]
    uncalled: Sequence[Mapping[str, Any]]


def filters_read(query: QueryDict) -> BackendFilters:
    """Read the filters from a URL; a value that is none is left out."""
    default = query.get("default", "")
    return BackendFilters(
        default=default if default in set(Body) else "",
        in_force=query.get("in_force", "").replace("\0", "")[:20],
        text=query.get("q", "").replace("\0", "").strip()[:200],
    )


def backend_page(*, branch: Branch, filters: BackendFilters) -> BackendPage | None:
    """Gather the backend page of a branch's last scan; None where no capabilities are known."""
    reading = (
        CapabilityReading.objects.filter(scan_run_id=branch.last_scan_id, failure_reason="")
        .select_related("scan_run__commit", "scan_run__repository")
        .first()
    )
    if reading is None:
        return None
    methods = reading.backend_methods
    devices = sorted({device for method in methods for device in method["overrides"]})
    matches = {
        match.symbol.rpartition("::")[2]: match
        for match in OperationMatch.objects.filter(
            repository_id=branch.repository_id, kind="backend-method", is_seen=True
        )
    }
    texts = [method for method in methods if method["default"] == Body.TEXT_ERROR.value]
    return BackendPage(
        reading=reading,
        rows=[
            BackendMethodRow(method, DEFAULT_LABELS[Body(method["default"])], matches.get(method["name"]))
            for method in methods
            if _fits(method, filters)
        ],
        total=len(methods),
        with_default=sum(method["default"] != Body.REQUIRED.value for method in methods),
        defaults=[
            (body.value, label, sum(method["default"] == body.value for method in methods))
            for body, label in DEFAULT_LABELS.items()
        ],
        devices=devices,
        text_in_force=[
            (device, [method["name"] for method in texts if device not in method["overrides"]])
            for device in devices
        ],
        uncalled=reading.uncalled_kernels,
    )


def _fits(method: Mapping[str, Any], filters: BackendFilters) -> bool:
    if filters.default and method["default"] != filters.default:
        return False
    if filters.in_force and (
        filters.in_force in method["overrides"] or method["default"] == Body.REQUIRED.value
    ):
        return False
    return all(word.lower() in method["name"].lower() for word in filters.text.split())
