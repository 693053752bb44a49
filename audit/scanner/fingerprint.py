"""What makes a result the same result in another commit."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|[A-Za-z_]\w*|\d[\w.]*|::|->|=>|&&|\|\||[^\s\w]", re.DOTALL
)


class Identity(NamedTuple):
    """What a fingerprint is made of. Nothing in it changes when unrelated lines do.

    `guard` and `anchor` are by their `tokens`. `body` is the `body_print` of a function, if there is one.
    """

    rule_id: str
    crate: str
    item: str
    cfg: str
    guard: str
    anchor: str
    body: str = ""


SITE_KEYS = "site/"
"""The fingerprints that tell one place from all others; several versions may stand side by side."""

ANCHOR_KEY = "anchor/v1"
"""The same for equal places of one item: which of them is gone is told by where the others stand."""

BODY_KEY = "body/v1"
"""The same for equal functions under whatever name, in whatever module or crate."""


def strict_fingerprints(fingerprints: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the fingerprints that hold the anchor, of every version; looser ones say that it was edited."""
    return {item for item in fingerprints.items() if item[0].startswith(SITE_KEYS)}


def tokens(text: str) -> str:
    """Return the syntax tokens of a text, without comments, joined by spaces."""
    return " ".join(token for token in _TOKEN.findall(text) if not token.startswith(("//", "/*")))


def fingerprints(identities: Sequence[Identity]) -> list[Mapping[str, str]]:
    """Return the versioned fingerprints of results in the order given; equals are told apart by their order.

    `site/v1` is the strict one; `item/v1` leaves out guard and anchor, so that an edited site is still found;
    `anchor/v1` leaves out the order, and `body/v1` the name of the item.
    """
    strict: Counter[tuple[str, ...]] = Counter()
    loose: Counter[tuple[str, ...]] = Counter()
    found: list[Mapping[str, str]] = []
    for identity in identities:
        place, item = identity[:-1], identity[:3]
        one = {
            "site/v1": _digest((*place, str(strict[place]))),
            "item/v1": _digest((*item, str(loose[item]))),
            ANCHOR_KEY: _digest(place),
        }
        if identity.body:
            one[BODY_KEY] = identity.body
        found.append(one)
        strict[place] += 1
        loose[item] += 1
    return found


def body_print(rule_id: str, guard: str, body: str) -> str:
    """Return the fingerprint of an anchor and its whole function, as they are under whatever name it has."""
    return _digest((rule_id, guard, body))


def _digest(parts: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
