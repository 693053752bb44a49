"""Posting to an address that a person gave: no redirects, no way into the inner network."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from fnmatch import fnmatch
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from migrations_tracker.errors import PlanError

TIMEOUT_SECONDS = 20.0
ANSWER_KEPT = 300
# Their last four bytes are the address that is meant: NAT64 (RFC 6052), and the older IPv4-compatible form.
_TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))


class NotDeliveredError(Exception):
    """A message did not arrive; it may be tried again."""


def address_check(url: str) -> SplitResult:
    """Return an address in parts, or raise where nothing may be posted to it."""
    try:
        parts = urlsplit(url.strip())
        is_usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise PlanError(f"`{url[:100]}` is no URL.") from error
    if parts.scheme not in {"https", "http"} or not is_usable:
        raise PlanError("A webhook's address begins with `https://` and names a host.")
    if parts.username is not None or parts.password is not None:
        raise PlanError("The address holds a name or password, which would be stored. Messages are signed.")
    if any(character.isspace() or ord(character) < 32 for character in url.strip()) or len(url) > 500:
        raise PlanError("An address holds no spaces and at most 500 characters.")
    patterns = settings.WEBHOOK_HOSTS
    if patterns and not _is_named(parts):
        raise PlanError(
            f"Nothing is posted to `{parts.hostname}`. The administrator allows "
            f"{', '.join(f'`{pattern}`' for pattern in patterns)}, with WEBHOOK_HOSTS."
        )
    return parts


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a body, or raise `NotDeliveredError` with what was wrong."""
    try:
        parts = address_check(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        connection = _Pinned(parts, port, _address_of(parts, port))
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, {"Content-Type": "application/json", **headers})
            response = connection.getresponse()
            answer = response.read(ANSWER_KEPT).decode(errors="replace")
        finally:
            connection.close()
    except PlanError as error:
        raise NotDeliveredError(str(error)) from error
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise NotDeliveredError(f"{type(error).__name__}: {error}"[:ANSWER_KEPT]) from error
    if not 200 <= response.status < 300:
        raise NotDeliveredError(f"The answer was {response.status} {response.reason}. {answer}".strip())


class _Pinned(http.client.HTTPConnection):
    """Speaks to the network address that was looked at, whatever its name says a moment later."""

    def __init__(self, parts: SplitResult, port: int, address: str) -> None:
        super().__init__(parts.hostname or "", port, timeout=TIMEOUT_SECONDS)
        self._pinned = address
        self._is_https = parts.scheme == "https"

    def connect(self) -> None:
        """Connect to the pinned address, under the name that was given."""
        plain = socket.create_connection((self._pinned, self.port), self.timeout)
        if self._is_https:
            self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)
        else:
            self.sock = plain


def _address_of(parts: SplitResult, port: int) -> str:
    found = [str(info[4][0]) for info in socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)]
    # A host that the administrator names may be in the inner network.
    usable = [address for address in found if _is_named(parts) or is_outside(address)]
    if not usable:
        raise NotDeliveredError(
            f"`{parts.hostname}` is in the inner network. The administrator can name it in WEBHOOK_HOSTS."
        )
    return usable[0]


def is_outside(text: str) -> bool:
    """Whether a network address leads out of the inner network, also where it carries another one."""
    address = ipaddress.ip_address(text.split("%")[0])
    if address.is_multicast:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global
    carried = _carried(address)
    # What carries an address is no more global than what it carries: it is sent on to that.
    if carried:
        return all(is_outside(str(one)) for one in carried)
    return address.is_global and not address.is_site_local


def _carried(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    """Return the IPv4 addresses that one of IPv6 is translated or tunnelled to."""
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if any(address in network for network in _TRANSLATED):
        return (ipaddress.IPv4Address(address.packed[-4:]),)
    return ()


def _is_named(parts: SplitResult) -> bool:
    return any(fnmatch(parts.hostname or "", pattern.lower()) for pattern in settings.WEBHOOK_HOSTS)
