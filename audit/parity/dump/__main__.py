"""`python -m audit.parity.dump --output FILE`: write down what the installed torch does.

`FILE` ends in `.json` or `.json.xz`. A section that fails does not end the dump: it is named with its error
under `sections`, and the command then exits 1.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SCHEMA = "ferroaudit-torch-dump/1"
PARTIAL = 1
NO_TORCH = 2


def render(dump: dict[str, Any]) -> str:
    """Return the dump as JSON with one row per line, so that two dumps can be compared by lines."""

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    parts = []
    for key in sorted(dump):
        value = dump[key]
        if isinstance(value, list):
            body = "[\n" + ",\n".join(line(row) for row in value) + "\n]"
        elif isinstance(value, dict):
            rows = [f"{json.dumps(name)}:{line(value[name])}" for name in sorted(value)]
            body = "{\n" + ",\n".join(rows) + "\n}"
        else:
            body = line(value)
        parts.append(f"{json.dumps(key)}:{body}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write(dump: dict[str, Any], output: Path) -> None:
    """Write the dump, compressed when the name ends in `.xz`."""
    data = render(dump).encode("utf-8")
    output.write_bytes(
        lzma.compress(data, preset=9 | lzma.PRESET_EXTREME) if output.suffix == ".xz" else data
    )


def take(arguments: Sequence[str], seconds: float) -> dict[str, Any]:
    """Take every section; keep what a failing one said."""
    from audit.parity.dump import distributions, environment, missing, op_infos, operators, public, refusals

    dump: dict[str, Any] = {"schema": SCHEMA, "environment": environment.environment(arguments)}
    sections: dict[str, dict[str, str]] = {}

    def section(name: str, taking: Callable[[], Any]) -> None:
        began = time.monotonic()
        try:
            dump[name] = taking()
            sections[name] = {"state": "taken"}
        except Exception:
            sections[name] = {"state": "failed", "error": traceback.format_exc(limit=4)}
        print(f"{name}: {sections[name]['state']} in {time.monotonic() - began:.1f} s", file=sys.stderr)

    section("operators", operators.operators)
    section("namespaces", public.namespaces)
    section("op_infos", op_infos.op_infos)
    section("modules", public.modules)
    section("optimizers", public.optimizers)
    section("distributions", distributions.distribution_classes)
    section("kl_divergences", distributions.kl_divergences)
    section("behaviours", public.behaviours)
    section("missing_kernels", lambda: missing.missing_kernels(dump.get("operators", [])))
    section("refusals", lambda: refusals.refusals(seconds))
    dump["sections"] = sections
    return dump


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; exit 0 when every section was taken, 1 when some were not, 2 without torch."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="python -m audit.parity.dump", description=__doc__)
    parser.add_argument("--output", type=Path, help="the file to write, .json or .json.xz")
    parser.add_argument("--seconds", type=float, default=120.0, help="time for trying unsupported dtypes")
    parser.add_argument("--tries", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    warnings.simplefilter("ignore")
    try:
        import torch

        torch.manual_seed(0)
    except ImportError as error:
        print(f"torch cannot be imported here ({error}); run this where it is installed", file=sys.stderr)
        return NO_TORCH
    if options.tries:
        from audit.parity.dump import refusals

        return refusals.child(options.tries, options.start, options.seconds)
    if options.output is None:
        parser.error("--output is needed")
    dump = take(given, options.seconds)
    write(dump, options.output)
    failed = sorted(name for name, state in dump["sections"].items() if state["state"] == "failed")
    print(f"wrote {options.output}" + (f"; not taken: {', '.join(failed)}" if failed else ""))
    return PARTIAL if failed else 0


if __name__ == "__main__":
    sys.exit(main())
