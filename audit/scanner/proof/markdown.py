"""The mechanical report as Markdown: what goes into a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from audit.scanner.output.markdown_text import code, escaped
from audit.scanner.proof.mechanical import Detour, FunctionReport, Line, MechanicalReport, ToldTest

T = TypeVar("T")

CHECKS = {
    "4a": "backend evidence",
    "4b": "CPU detours",
    "4c": "stub residue",
    "4d": "test reachability",
    "4e": "adversarial review",
}


def as_markdown(report: MechanicalReport) -> str:
    """Write a report."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def as_section(report: MechanicalReport, *, most_characters: int) -> str:
    """Write a report as a section of a comment; where all of it is too long, as much of its table as fits."""
    lines = [f"#{line}" if line.startswith("#") else line for line in _lines(report)]
    inside = ("<details><summary>Each function</summary>", *lines[1:], "", "</details>", "")
    short = (_summary(report), "") if report.functions else ()
    whole = "\n".join([lines[0], "", *short, *inside])
    if len(whole) <= most_characters:
        return whole
    table = [line for line in lines if line.startswith("|")]
    kept = [lines[0], "", _summary(report), "", *table[:2]]
    rest = table[2:]
    room = most_characters - sum(len(line) + 1 for line in kept) - 60
    while rest and room >= len(rest[0]) + 1:
        room -= len(rest[0]) + 1
        kept.append(rest.pop(0))
    if rest:
        kept += ["", f"{len(rest)} more rows have no room here."]
    return "\n".join([*kept, ""])[: max(most_characters, 0)]


def _lines(report: MechanicalReport) -> Iterator[str]:
    yield f"# Mechanical report: {escaped(report.subject)}"
    yield ""
    if report.commit:
        yield f"At commit {code(report.commit)}" + (f", since {code(report.since)}." if report.since else ".")
        yield ""
    if not report.functions:
        yield "No function that has to do with the GPU is in it."
        return
    if not report.has_runs:
        yield "No GPU runs were at hand: what tests proved is not known here."
        yield ""
    yield _summary(report)
    yield ""
    yield "| function | claims the GPU | checks that do not hold |"
    yield "| --- | --- | --- |"
    for function in report.functions:
        failing = ", ".join(f"{check} {CHECKS[check]}" for check in function.failed_checks) or "none"
        yield f"| {code(function.symbol)} | {'yes' if function.claims_gpu else 'no'} | {failing} |"
    if report.left_out:
        yield ""
        yield f"{report.left_out} more functions changed and were not looked at: nobody may call that done."
    for function in report.functions:
        yield ""
        yield from _function(function)


def _summary(report: MechanicalReport) -> str:
    """Say in a sentence how it stands."""
    claiming = [function for function in report.functions if function.claims_gpu]
    holding = sum(1 for function in claiming if not function.failed_checks)
    text = f"{holding} of {len(claiming)} functions that claim the GPU hold every check."
    others = len(report.functions) - len(claiming)
    return text + (f" {others} more have to do with it and claim nothing." if others else "")


def _function(function: FunctionReport) -> Iterator[str]:
    yield f"## {code(function.symbol)}"
    yield ""
    yield code(f"{function.path}:{function.line}")
    yield ""
    yield f"**4a Backend evidence.** {_evidence(function)}"
    yield from _listed(function.launches, function.launch_count, _at)
    yield ""
    known = len(function.detours)
    yield "**4b CPU detours.** " + (
        f"{function.open_detours} without a justification." if known else "None in it or in what it calls."
    )
    yield from _listed(function.detours, known, _detour)
    yield ""
    yield f"**4c Stub residue.** {function.stub_count or 'None'}."
    yield from _listed(function.stubs, function.stub_count, _at)
    yield ""
    yield (
        f"**4d Test reachability.** {function.test_count} tests reach it; {function.device_test_count} "
        "open a device and run by themselves."
    )
    yield from _listed(function.tests, function.test_count, _test)
    yield ""
    yield "**4e Adversarial review.**"
    yield ""
    for answer in function.answers:
        yield f"- *{answer.question}* {escaped(answer.answer)}{'' if answer.is_strong else ' (weak)'}"


def _evidence(function: FunctionReport) -> str:
    if function.refusal is not None:
        return f"It launches nothing and refuses: {_at(function.refusal)}."
    if not function.launches:
        return "Zero matches in it and in what it calls: this is not GPU code, whatever its name is."
    parts = [f"kernels {', '.join(map(code, function.kernels[:8]))}"] if function.kernels else []
    parts += [f"libraries {escaped(', '.join(function.families))}"] if function.families else []
    lines = f"{function.launch_count} line{'s' if function.launch_count != 1 else ''} that launch or compile"
    return lines + (f": {'; '.join(parts)}." if parts else ".")


def _listed(items: Sequence[T], count: int, told: Callable[[T], str]) -> Iterator[str]:
    if items:
        yield ""
    for item in items:
        yield f"- {told(item)}"
    if count > len(items):
        yield f"- and {count - len(items)} more"


def _at(line: Line) -> str:
    return f"{code(f'{line.path}:{line.line}')} {code(line.text)}"


def _detour(detour: Detour) -> str:
    return f"{_at(detour.at)}: {escaped(detour.justification) or '**not justified**'}"


def _test(told: ToldTest) -> str:
    test, word = told.test, told.word
    if word is not None:
        beside = ", passes without a GPU" if word.passes_without_gpu else ""
        said = f"{word.verdict}{beside}"
    elif test.is_ignored:
        said = "ignored"
    else:
        said = "opens a device; not run yet" if test.opens_device else "opens no device"
    return f"{code(test.name)} ({code(f'{test.path}:{test.line}')}): {said}"
