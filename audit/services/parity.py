"""Bringing dumps of PyTorch into the database."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.dateparse import parse_datetime

from audit.errors import AuditError
from audit.models import ParityChange, ParityDump, ParityOperator
from audit.parity import catalogue as parity
from audit.parity.catalogue import Catalogue, CatalogueError, Operator, OpInfo, Reached, Refusal
from audit.parity.diff import changes
from audit.parity.families import family_of
from audit.services.copying import as_json, rows_copy


def parity_dumps_import_shipped() -> list[ParityDump]:
    """Import the dumps that come with the package."""
    return [parity_dump_import(path=path) for path in parity.shipped()]


def parity_dump_import(*, path: Path) -> ParityDump:
    """Import a dump, compressed or not. The same content again is the dump that is there already."""
    try:
        data = _data(path)
        catalogue = parity.parse(data, f"`{path}`")
    except (CatalogueError, OSError, KeyError, TypeError) as error:
        raise AuditError(f"`{path}` can't be imported: {error}") from error
    facts = catalogue.environment
    taken_at = parse_datetime(facts.get("taken_at", ""))
    if taken_at is None:
        raise AuditError(f"`{path}` does not say when it was taken.")
    rows = list(_rows(catalogue))
    with transaction.atomic():
        dump, is_new = ParityDump.objects.get_or_create(
            digest=_digest(data),
            defaults={
                "torch_version": catalogue.version,
                "cuda_version": facts.get("cuda_version", ""),
                "gpu_name": facts.get("gpu_name", ""),
                "taken_at": taken_at,
                "command": facts.get("command", ""),
                "device": facts.get("device", ""),
                "operator_count": len(catalogue.operators),
            },
        )
        if not dump.content:
            dump.content, dump.device = _packed(path), facts.get("device", "")
            dump.save(update_fields=["content", "device"])
            _compare(dump, catalogue)
        if is_new:
            rows_copy(
                table=ParityOperator._meta.db_table,
                columns=("dump_id", "name", "family", "facts"),
                rows=(
                    (dump.pk, name, family_of(catalogue, name).value, as_json(facts)) for name, facts in rows
                ),
            )
    return dump


def _data(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    try:
        data: dict[str, Any] = json.loads(lzma.decompress(raw) if path.suffix == ".xz" else raw)
    except (lzma.LZMAError, ValueError) as error:
        raise CatalogueError(f"`{path}` is no dump: {error}") from error
    return data


def _packed(path: Path) -> bytes:
    raw = path.read_bytes()
    return raw if path.suffix == ".xz" else lzma.compress(raw)


def _digest(data: Mapping[str, Any]) -> str:
    """Name a dump by its content, however it is compressed or laid out."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _compare(dump: ParityDump, catalogue: Catalogue) -> None:
    """Store what differs between a dump that is new and each that is there, the older version first."""
    for other in ParityDump.objects.exclude(pk=dump.pk).exclude(content=b""):
        stored = parity.parse(json.loads(lzma.decompress(other.content)), str(other))
        pair = sorted(((dump, catalogue), (other, stored)), key=lambda one: one[0].version_key)
        (before, older), (after, newer) = pair
        rows_copy(
            table=ParityChange._meta.db_table,
            columns=("before_id", "after_id", "subject", "name", "aspect", "was", "becomes"),
            rows=(
                (before.pk, after.pk, row.subject.value, row.name, row.aspect, row.before, row.after)
                for row in changes(older, newer)
            ),
        )


def _rows(catalogue: Catalogue) -> Iterator[tuple[str, Mapping[str, object]]]:
    tried = _refusals_by_name(catalogue)
    for base, overloads in catalogue.by_base.items():
        tests = catalogue.infos(base)
        missing = [
            catalogue.missing_kernels[row.name] for row in overloads if row.name in catalogue.missing_kernels
        ]
        yield (
            f"aten::{base}",
            {
                "overloads": [_overload(row) for row in overloads],
                "tests": [_test(row) for row in tests],
                "refusals": [
                    refusal for name in sorted({row.name for row in tests}) for refusal in tried.get(name, ())
                ],
                "missing_kernel": _refusal(missing[0]) if missing else None,
            },
        )
    for module in catalogue.modules:
        yield (
            module.name,
            {"dtypes": list(module.dtypes), "reached": {"cuda:float32": _reached(module.reached)}},
        )
    for distribution in catalogue.distributions:
        methods: dict[str, dict[str, object]] = {}
        for place, found in distribution.methods.items():
            for method, reached in found.items():
                methods.setdefault(method, {})[place] = _reached(reached)
        for method, places in methods.items():
            yield f"{distribution.name}.{method}", {"reached": places}


def _overload(row: Operator) -> dict[str, object]:
    return {
        "name": row.name,
        "schema": row.schema,
        "kernels": list(row.kernels),
        "runs_on": list(row.runs_on),
        "declared": sorted(row.declared),
        "composite": row.composite.value,
        "autograd": row.autograd.value,
        "derivative": dict(row.derivative),
        "decomposition": row.decomposition,
        "variants": list(row.variants),
        "tags": list(row.tags),
    }


def _test(row: OpInfo) -> dict[str, object]:
    return {
        "name": row.name,
        "variant": row.variant,
        "aliases": list(row.aliases),
        "supports_autograd": row.supports_autograd,
        "dtypes": {device: list(names) for device, names in row.dtypes.items()},
        "backward_dtypes": {device: list(names) for device, names in row.backward_dtypes.items()},
        "reached": _reached(row.reached),
    }


def _reached(row: Reached) -> dict[str, object]:
    return {
        "forward": list(row.forward),
        "backward": list(row.backward),
        "error": row.error,
        "refusals": {direction: _refusal(refusal) for direction, refusal in row.refusals.items()},
    }


def _refusal(row: Refusal) -> dict[str, str]:
    return {"state": row.state, "exception": row.exception, "text": row.text}


def _refusals_by_name(catalogue: Catalogue) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    entries: Iterable[tuple[tuple[str, str, parity.Direction], Refusal]] = catalogue.refusals.items()
    for (name, dtype, direction), refusal in entries:
        found.setdefault(name, []).append({"dtype": dtype, "direction": direction.value, **_refusal(refusal)})
    return found
