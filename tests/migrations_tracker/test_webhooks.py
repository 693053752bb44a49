"""Which network addresses a webhook may lead to."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_tracker.webhooks import is_outside

INNER = ("127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.1", "224.0.0.1")
OUTER = ("93.184.216.34", "8.8.8.8")


def carriers(inner: str) -> list[str]:
    """Write an IPv4 address in each form in which one of IPv6 carries it."""
    packed = ipaddress.IPv4Address(inner).packed
    zeros = bytes(12)
    inverted = bytes(byte ^ 0xFF for byte in packed)
    server = ipaddress.IPv4Address("65.54.227.120").packed
    forms = (
        zeros[:10] + b"\xff\xff" + packed,
        bytes.fromhex("0064ff9b") + zeros[:8] + packed,
        bytes.fromhex("2002") + packed + zeros[:10],
        bytes.fromhex("20010000") + server + zeros[:4] + inverted,
        zeros + packed,
    )
    return [str(ipaddress.IPv6Address(form)) for form in forms]


@pytest.mark.parametrize("address", INNER)
def test_the_inner_network_is_not_outside_in_whatever_form(address: str) -> None:
    assert [one for one in [address, *carriers(address)] if is_outside(one)] == []


@pytest.mark.parametrize("address", OUTER)
def test_an_address_outside_is_outside_in_whatever_form(address: str) -> None:
    assert [one for one in [address, *carriers(address)] if not is_outside(one)] == []


@pytest.mark.parametrize("address", ["::1", "::", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1"])
def test_the_inner_network_of_ipv6_is_not_outside(address: str) -> None:
    assert not is_outside(address)


def test_an_address_of_ipv6_outside_is_outside() -> None:
    assert is_outside("2606:2800:220:1:248:1893:25c8:1946")


@given(st.ip_addresses(v=4))
def test_a_carrier_is_outside_only_where_what_it_carries_is(address: ipaddress.IPv4Address) -> None:
    assert {is_outside(one) for one in carriers(str(address))} == {
        address.is_global and not address.is_multicast
    }
