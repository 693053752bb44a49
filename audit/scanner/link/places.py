"""Where conditions and patterns say that the data is, in the words of a profile."""

from __future__ import annotations

import re
from enum import StrEnum

from audit.scanner.extract.items import split_list
from audit.scanner.profile import Profile, any_pattern


class Place(StrEnum):
    """Where a test says that the data is."""

    DEVICE = "device"
    HOST = "host"


class DeviceTests:
    """Reads device tests in the words of a profile."""

    def __init__(self, profile: Profile) -> None:
        self._atoms: dict[str, Place | None] = {}
        words = profile.device
        self._device = any_pattern(
            (
                *(rf"(?:\.|\b){re.escape(name)}\s*\(" for name in words.predicates),
                r"==\s*&?(?:\w+::)*(?:" + "|".join(map(re.escape, words.variants)) + ")",
                r"matches!\s*\([^,]*,\s*(?:\w+::)*(?:" + "|".join(map(re.escape, words.variants)) + ")",
            )
        )
        self._host = any_pattern(
            (
                *(rf"(?:\.|\b){re.escape(name)}\s*\(" for name in words.host_predicates),
                r"==\s*&?(?:\w+::)*(?:" + "|".join(map(re.escape, words.host_variants)) + ")",
                r"matches!\s*\([^,]*,\s*(?:\w+::)*(?:" + "|".join(map(re.escape, words.host_variants)) + ")",
                r"!=\s*&?(?:\w+::)*(?:" + "|".join(map(re.escape, words.variants)) + ")",
            )
        )
        # Where one of these does not hold, the data may lie on a device of another kind.
        self._narrow = any_pattern(
            tuple(rf"(?:\.|\b){re.escape(name)}\s*\(" for name in words.narrow_predicates)
        )
        self._not_host = any_pattern(
            (r"!=\s*&?(?:\w+::)*(?:" + "|".join(map(re.escape, words.host_variants)) + ")",)
        )
        self._device_variant = any_pattern(tuple(rf"\b{re.escape(name)}\b" for name in words.variants))
        self._host_variant = any_pattern(tuple(rf"\b{re.escape(name)}\b" for name in words.host_variants))
        short = tuple(rf"\b{re.escape(name.rpartition('::')[2])}\b" for name in words.variants)
        self._short_variant = any_pattern(short)
        self._short_host_variant = any_pattern(
            tuple(rf"\b{re.escape(name.rpartition('::')[2])}\b" for name in words.host_variants)
        )

    def mixes(self, subject: str, pattern: str) -> bool:
        """Say whether a pattern takes the host and a device alike."""
        is_short = "device" in subject
        bare = re.sub(r"\((?:_|\.\.)\)", "", pattern)
        names_device = self._device_variant.search(bare) or (is_short and self._short_variant.search(bare))
        names_host = self._host_variant.search(bare) or (is_short and self._short_host_variant.search(bare))
        return bool(names_device and names_host) and "(" not in bare

    def names_host(self, text: str) -> bool:
        """Say whether a text names a host device."""
        return bool(self._host_variant.search(text))

    def mentions_device(self, text: str) -> bool:
        """Say whether a text asks for the device anywhere."""
        return bool(self._device.search(text) or self._device_variant.search(text))

    def atom_place(self, condition: str, holds: bool) -> Place | None:
        """Read a condition without `&&`, `||` and `!`."""
        if condition not in self._atoms:
            self._atoms[condition] = self._place_named(condition)
        place = self._atoms[condition]
        if place is None or holds:
            return place
        if place is Place.HOST:
            return Place.DEVICE
        return None if self._narrow.search(condition) else Place.HOST

    def _place_named(self, condition: str) -> Place | None:
        if self._not_host.search(condition) or self._device.search(condition):
            return Place.DEVICE
        return Place.HOST if self._host.search(condition) else None

    def pattern_place(self, subject: str, pattern: str, holds: bool) -> Place | None:
        """Read a pattern that matched or did not."""
        bare = pattern.partition(" if ")[0]
        has_guard = bare != pattern
        if bare.startswith("(") and subject.startswith("("):
            return self._tuple_place(subject, bare) if holds else None
        device = bool(self._device_variant.search(bare)) or (
            "device" in subject and bool(self._short_variant.search(bare))
        )
        host = bool(self._host_variant.search(bare)) or (
            "device" in subject and bool(self._short_host_variant.search(bare))
        )
        if device == host:
            place = self.atom_place(subject, True) if bare in ("true", "false") else None
            if place is not None and (bare == "true") != holds:
                return Place.HOST if place is Place.DEVICE else Place.DEVICE
            return place
        if holds:
            return Place.DEVICE if device else Place.HOST
        if has_guard:
            return None
        return Place.HOST if device else Place.DEVICE

    def _tuple_place(self, subject: str, pattern: str) -> Place | None:
        """Read a tuple of predicates against a tuple of outcomes: one on the device is enough."""
        subjects, patterns = split_list(subject.strip()[1:-1]), split_list(pattern.strip()[1:-1])
        if len(subjects) != len(patterns):
            return None
        told = [
            self.pattern_place(one, other.strip(), True)
            for one, other in zip(subjects, patterns, strict=True)
        ]
        if Place.DEVICE in told:
            return Place.DEVICE
        return Place.HOST if told and all(one is Place.HOST for one in told) else None
