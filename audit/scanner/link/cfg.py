"""`#[cfg(..)]` predicates: parsed, and asked what they need."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

# The compiler itself gives up at 128.
_MOST_NESTED = 128
_TOKEN = re.compile(r'\s*(?:(?P<word>[A-Za-z_][\w:]*)|"(?P<text>[^"]*)"|(?P<sign>[(),=]))')


class Cfg(NamedTuple):
    """A cfg predicate: `all`, `any` or `not` over others, or a flag with an optional value."""

    name: str
    value: str | None = None
    parts: tuple[Cfg, ...] = ()

    def requires(self, name: str, values: frozenset[str] | None = None) -> bool:
        """Say whether the predicate can hold only with the flag (and one of the values) on."""
        if self.name == "all":
            return any(part.requires(name, values) for part in self.parts)
        if self.name == "any":
            return bool(self.parts) and all(part.requires(name, values) for part in self.parts)
        if self.name == "not":
            return False
        return self.name == name and (values is None or self.value in values)

    def excludes(self, name: str, values: frozenset[str] | None = None) -> bool:
        """Say whether the predicate can hold only with the flag (with one of the values) off."""
        if self.name == "all":
            return any(part.excludes(name, values) for part in self.parts)
        if self.name == "any":
            return bool(self.parts) and all(part.excludes(name, values) for part in self.parts)
        if self.name == "not":
            inner = self.parts[0] if self.parts else None
            return (
                inner is not None
                and inner.mentions(name, values)
                and not _has_alternative(inner, name, values)
            )
        return False

    def mentions(self, name: str, values: frozenset[str] | None = None) -> bool:
        """Say whether the flag (with one of the values) occurs anywhere."""
        if self.parts:
            return any(part.mentions(name, values) for part in self.parts)
        return self.name == name and (values is None or self.value in values)

    def flags(self) -> Iterable[tuple[str, str | None]]:
        """Yield every flag with its value."""
        if self.parts:
            for part in self.parts:
                yield from part.flags()
        else:
            yield self.name, self.value


def _has_alternative(cfg: Cfg, name: str, values: frozenset[str] | None) -> bool:
    """Say whether a negated conjunction may hold for another reason than the flag."""
    return cfg.name == "all" and not all(part.mentions(name, values) for part in cfg.parts)


@lru_cache(maxsize=4096)
def parse_cfg(attribute: str) -> Cfg | None:
    """Parse the predicate of a `#[cfg(..)]` or `#[cfg_attr(..)]`.

    None for any other attribute, and for one that is nested deeper than a compiler takes it.
    """
    body = attribute.strip().removeprefix("#").removeprefix("!").strip()
    if not body.startswith("[cfg"):
        return None
    inner = re.sub(r"^\[\s*cfg(?:_attr)?\s*\(", "", body)
    if _nesting(inner) > _MOST_NESTED:
        return None
    cfg, _ = _parse(inner, 0)
    return cfg


def _nesting(text: str) -> int:
    if text.count("(") <= _MOST_NESTED:
        return 0
    steps = ((sign == "(") - (sign == ")") for sign in text)
    return max(accumulate(steps))


def cfgs_of(attributes: Iterable[str]) -> tuple[Cfg, ...]:
    """Return the predicates of an item's `#[cfg(..)]` attributes."""
    found = []
    for attribute in attributes:
        if "cfg" in attribute and "cfg_attr" not in attribute:
            cfg = parse_cfg(attribute)
            if cfg is not None:
                found.append(cfg)
    return tuple(found)


def _parse(text: str, position: int) -> tuple[Cfg | None, int]:
    token = _TOKEN.match(text, position)
    if token is None or token["word"] is None:
        return None, position
    name = token["word"]
    position = token.end()
    following = _TOKEN.match(text, position)
    if following is not None and following["sign"] == "=":
        value = _TOKEN.match(text, following.end())
        if value is not None and value["text"] is not None:
            return Cfg(name, value["text"]), value.end()
        return Cfg(name), following.end()
    if following is None or following["sign"] != "(":
        return Cfg(name), position
    position = following.end()
    parts = []
    while True:
        part, position = _parse(text, position)
        if part is not None:
            parts.append(part)
        separator = _TOKEN.match(text, position)
        if separator is None:
            break
        position = separator.end()
        if separator["sign"] != ",":
            break
    return Cfg(name, None, tuple(parts)), position
