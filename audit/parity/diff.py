"""What changed between two PyTorch versions, as rows a page can list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from audit.parity.catalogue import Catalogue, Operator, OpInfo


class Subject(StrEnum):
    """What a change is about."""

    OPERATOR = "operator"
    OP_INFO = "op-info"
    PUBLIC_NAME = "public-name"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One difference: `aspect` of `name` was `before` and is `after`; an empty side means absent."""

    subject: Subject
    name: str
    aspect: str
    before: str
    after: str


def _words(values: Iterable[str]) -> str:
    return ", ".join(sorted(values))


def _compare(
    subject: Subject, before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]
) -> Iterator[Change]:
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            yield Change(subject, name, "exists", "yes" * (name in before), "yes" * (name in after))
            continue
        for aspect in sorted(before[name].keys() | after[name].keys()):
            old, new = before[name].get(aspect, ""), after[name].get(aspect, "")
            if old != new:
                yield Change(subject, name, aspect, old, new)


def _operator(row: Operator) -> dict[str, str]:
    return {
        "schema": row.schema,
        "kernels": _words(row.kernels),
        "runs on": _words(row.runs_on),
        "declared": _words(row.declared),
        "composite": row.composite,
        "autograd": row.autograd,
        "decomposition": row.decomposition,
        "variants": _words(row.variants),
    }


def _op_info(row: OpInfo) -> dict[str, str]:
    aspects = {f"{device} forward": _words(names) for device, names in row.dtypes.items()}
    aspects |= {f"{device} backward": _words(names) for device, names in row.backward_dtypes.items()}
    return {**aspects, "aliases": _words(row.aliases)}


def _public_names(catalogue: Catalogue) -> dict[str, dict[str, str]]:
    return {
        f"{namespace}.{name}": {"kind": kind}
        for namespace, names in catalogue.namespaces.items()
        for name, kind in names.items()
    }


def _title(name: str, variant: str) -> str:
    return f"{name} ({variant})" if variant else name


def changes(before: Catalogue, after: Catalogue) -> tuple[Change, ...]:
    """Return every difference between two catalogues, sorted.

    What was tried on a device is compared only where both were taken on a device of the same kind.
    """
    found = [
        *_compare(
            Subject.OPERATOR,
            {row.name: _operator(row) for row in before.operators},
            {row.name: _operator(row) for row in after.operators},
        ),
        *_compare(
            Subject.OP_INFO,
            {_title(row.name, row.variant): _op_info(row) for row in before.op_infos},
            {_title(row.name, row.variant): _op_info(row) for row in after.op_infos},
        ),
        *_compare(
            Subject.PUBLIC_NAME,
            _public_names(before),
            _public_names(after),
        ),
    ]
    if are_comparable(before, after):
        found += _refusals(before, after)
    return tuple(sorted(found))


def are_comparable(before: Catalogue, after: Catalogue) -> bool:
    """Say whether both were taken on a device of the same kind, so that what was tried there compares."""
    return before.environment.get("device") == after.environment.get("device")


def _refusals(before: Catalogue, after: Catalogue) -> Iterator[Change]:
    for key in sorted(before.refusals.keys() & after.refusals.keys()):
        old, new = before.refusals[key], after.refusals[key]
        if old != new:
            name, dtype, direction = key
            yield Change(
                Subject.REFUSAL,
                name,
                f"{dtype} {direction}",
                f"{old.exception or old.state}: {old.text}",
                f"{new.exception or new.state}: {new.text}",
            )
