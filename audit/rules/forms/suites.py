"""Tests of a suite whose backend a feature chooses, and which the device's backends leave out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from audit.rules.forms.probes import Probes
from audit.scanner.judge import Candidate, Judgement
from audit.scanner.link.cfg import cfgs_of
from audit.scanner.link.unit import Fn, Unit

_HOST_CLAIM = re.compile(r"(?i)(?:^|_)(?:cpu|host)(?:_|$)")
_FORM = "left-to-the-host"
_MESSAGE = "is compiled for other backends than the device's alone"


def left_to_the_host(judgement: Judgement, unit: Unit, probes: Probes) -> Iterator[Candidate]:
    """Yield tests, and files of tests, that a cfg leaves out of the build for the device.

    Only where a feature chooses the backend of the whole suite, and the profile names those of the host:
    elsewhere such a test is for what happens without a device.
    """
    host = frozenset(judgement.profile.gpu.host_features)
    device = frozenset(judgement.profile.gpu.features)
    declared = frozenset(unit.package.features) if unit.package is not None else frozenset[str]()
    if declared.isdisjoint(host) or declared.isdisjoint(device):
        return
    tests = [one for one in judgement.functions_of(unit) if one.is_test and one.has_body]
    device &= declared
    for attribute in unit.facts.inner_attributes:
        if _lacks_doubles(attribute, host, device, unit.data):
            continue
        if _leaves_out(attribute, host, device) and any(map(probes.opens_device, tests)):
            start = unit.data.find(attribute.encode())
            yield Candidate(unit, start, start + len(attribute.encode()), None, _FORM, message=_MESSAGE)
            return
    for test in tests:
        found = next((one for one in test.facts.attributes if _leaves_out(one, host, device)), "")
        if found and _lacks_doubles(found, host, device, unit.data[test.facts.start : test.facts.end]):
            continue
        if found and probes.opens_device(test) and not _is_named_after_the_host(test, host):
            start = unit.data.rfind(found.encode(), 0, test.facts.name_start)
            yield Candidate(unit, start, start + len(found.encode()), test, _FORM, message=_MESSAGE)


def _leaves_out(attribute: str, host: frozenset[str], device: frozenset[str]) -> bool:
    return any(
        cfg.requires("feature", host) or cfg.excludes("feature", device) for cfg in cfgs_of((attribute,))
    )


def _lacks_doubles(attribute: str, host: frozenset[str], device: frozenset[str], data: bytes) -> bool:
    """Say whether one device of several is left out of what tests doubles: some devices have none."""
    named = {value for cfg in cfgs_of((attribute,)) for _, value in cfg.flags()}
    return named & device < device and host.isdisjoint(named) and b"f64" in data.lower()


def _is_named_after_the_host(test: Fn, host: frozenset[str]) -> bool:
    return bool(_HOST_CLAIM.search(test.name)) or not host.isdisjoint(test.name.split("_"))
