"""What a message says, as an e-mail and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from migrations_tracker.models import Delivery, Notice

SHOWN_AT_MOST = 20


def subject_of(notices: Sequence[Notice]) -> str:
    """Write the subject of a message."""
    if len(notices) == 1:
        # A line break would begin another header of the mail.
        return " ".join(f"{notices[0].repository.name}: {notices[0].title}".split())
    names = sorted({notice.repository.name for notice in notices})
    shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    return " ".join(f"{len(notices)} notices of {shown}".split())


def text_of(notices: Sequence[Notice]) -> str:
    """Write the body of an e-mail."""
    return "\n\n".join(_paragraph(notice) for notice in notices) + (
        f"\n\n--\nYou asked to be told. Change that at {absolute('/notices/')}\n"
    )


def json_of(delivery: Delivery, notices: Sequence[Notice]) -> bytes:
    """Write the body of a webhook's message."""
    document = {"delivery": delivery.key, "notices": [_document(notice) for notice in notices]}
    return json.dumps(document, ensure_ascii=False, sort_keys=True).encode()


def absolute(path: str) -> str:
    """Return the address of a page as others reach it."""
    return f"{settings.SITE_URL.rstrip('/')}{path}"


def _paragraph(notice: Notice) -> str:
    lines = [f"{notice.repository.name}: {notice.title}", absolute(notice.path)]
    lines += [_line(item) for item in notice.items[:SHOWN_AT_MOST]]
    if notice.count > SHOWN_AT_MOST:
        lines.append(f"  and {notice.count - SHOWN_AT_MOST} more")
    return "\n".join(lines)


def _line(item: dict[str, Any]) -> str:
    if "text" in item:
        return f"  {item['text']}"
    return f"  {item['rule']} {item['path']}:{item['line']} {item['symbol']}"


def _document(notice: Notice) -> dict[str, Any]:
    return {
        "kind": notice.kind,
        "key": notice.key,
        "repository": notice.repository.slug,
        "branch": notice.branch_name,
        "title": notice.title,
        "url": absolute(notice.path),
        "count": notice.count,
        "items": notice.items,
        "at": notice.created_at.isoformat(),
    }
