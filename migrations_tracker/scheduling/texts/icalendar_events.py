"""The schedule as iCalendar (RFC 5545), one event per placed unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from migrations_tracker.scheduling.texts.lines import PlanLine

_OCTETS = 75


def icalendar_events(lines: Sequence[PlanLine], stamp: datetime, host: str) -> str:
    """Return a calendar; `stamp` is when the plan was made and `host` makes the ids unique."""
    content = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Ferroaudit//Plan//EN", "CALSCALE:GREGORIAN"]
    for line in lines:
        if line.start is not None and line.finish is not None:
            content.extend(_event(line, line.start, line.finish, stamp, host))
    content.append("END:VCALENDAR")
    return "".join(f"{folded}\r\n" for line in content for folded in _folded(line))


def _event(line: PlanLine, start: datetime, finish: datetime, stamp: datetime, host: str) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{_text(line.unit.key)}@{host}"
    yield f"DTSTAMP:{_utc(stamp)}"
    yield f"DTSTART:{_utc(start)}"
    yield f"DTEND:{_utc(finish)}"
    yield f"SUMMARY:{_text(line.unit.title)}"
    details = [line.question, f"Who: {line.person}", f"Runner: {line.runner}" if line.runner else ""]
    yield f"DESCRIPTION:{_text(chr(10).join(filter(None, details)))}"
    yield f"CATEGORIES:{_text(line.unit.phase.name.lower())}"
    yield "END:VEVENT"


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    return escaped.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n")


def _folded(line: str) -> Iterator[str]:
    """Lines of at most 75 octets; a fold never cuts a character."""
    current, size = "", 0
    for char in line:
        octets = len(char.encode())
        if size + octets > _OCTETS:
            yield current
            current, size = " ", 1
        current += char
        size += octets
    yield current
