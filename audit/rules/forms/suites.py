"""Tests of a suite whose backend a feature chooses, and which the device's backends leave out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.forms.probes import Probes
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.cfg import cfgs_of
from audit.scanner.link.unit import Fn, Unit

_HOST_CLAIM = re.compile(r"(?i)(?:^|_)(?:cpu|host)(?:_|$)")
_TOKEN = re.compile(r'\w+|"[^"]*"|[^\w\s]')
_DOUBLES = re.compile(rb"\bF64\b|\bf64>")
_FORM = "left-to-the-host"
_MESSAGE = "is left out of a build for the device by its cfg"


def left_to_the_host(judgement: Judgement, unit: Unit, probes: Probes) -> Iterator[Candidate]:
    """Yield tests, and files of tests, that a cfg leaves out of the build for the device.

    Only where a feature chooses the backend of the whole suite, and the profile names those of the host:
    elsewhere such a test is for what happens without a device.
    """
    words = judgement.profile.gpu
    host, device = frozenset(words.host_features), frozenset(words.features)
    declared = frozenset(unit.package.features) if unit.package is not None else frozenset[str]()
    if declared.isdisjoint(host) or declared.isdisjoint(device):
        return
    without_doubles = frozenset(words.features_without_doubles)
    tests = [one for one in judgement.functions_of(unit) if one.is_test and one.has_body]
    opening = [one for one in tests if probes.opens_device(one) and not _is_for_the_host(one, host)]
    for attribute in unit.facts.inner_attributes if opening else ():
        if _leaves_out(attribute, host, device) and not _lacks_doubles(
            attribute, without_doubles, device, unit.data
        ):
            start, end = _span(unit, attribute, len(unit.data)) or (0, 1)
            yield Candidate(unit, start, end, None, _FORM, message=_MESSAGE)
            return
    compiled = {one.name for one in tests if not _cfg_that_leaves_out(one, host, device)}
    for test in opening:
        found = _cfg_that_leaves_out(test, host, device)
        text = unit.data[test.facts.start : test.facts.end]
        if found and test.name not in compiled and not _lacks_doubles(found, without_doubles, device, text):
            facts = test.facts
            span = _span(unit, found, facts.name_start)
            start, end = span or (facts.name_start, facts.name_start + len(facts.name.encode()))
            yield Candidate(unit, start, end, test, _FORM, message=_MESSAGE)


def _cfg_that_leaves_out(test: Fn, host: frozenset[str], device: frozenset[str]) -> str:
    """Return the attribute of a test, or of a module around it, that leaves it out of a device's build."""
    attributes = [*test.facts.attributes, *(one for scope in test.scopes for one in scope.attributes)]
    return next((one for one in attributes if _leaves_out(one, host, device)), "")


def _leaves_out(attribute: str, host: frozenset[str], device: frozenset[str]) -> bool:
    return any(
        cfg.requires("feature", host) or cfg.excludes("feature", device) for cfg in cfgs_of((attribute,))
    )


def _lacks_doubles(
    attribute: str, without_doubles: frozenset[str], device: frozenset[str], data: bytes
) -> bool:
    """Say whether what is left out are devices without doubles alone, and doubles are what is tested."""
    named = {value for cfg in cfgs_of((attribute,)) for _, value in cfg.flags()} & device
    return bool(named) and named <= without_doubles and _DOUBLES.search(data) is not None


def _is_for_the_host(test: Fn, host: frozenset[str]) -> bool:
    """Say whether a test, its module or its file is named after the host, or after a backend of it."""
    stem = test.unit.path.rpartition("/")[2].removesuffix(".rs")
    names = (test.name, stem, *test.module)
    return any(_HOST_CLAIM.search(one) or not host.isdisjoint(one.split("_")) for one in names)


def _span(unit: Unit, attribute: str, before: int) -> tuple[int, int] | None:
    """Return where an attribute stands last before an offset: it may be written over several lines."""
    tokens = [re.escape(one.encode()) for one in _TOKEN.findall(attribute)]
    found = list(re.finditer(rb"\s*".join(tokens), unit.data[:before]))
    return found[-1].span() if found else None
