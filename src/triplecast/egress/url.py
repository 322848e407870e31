"""A URL that somebody named, read strictly: what two programs could read differently is refused."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple

from triplecast.egress.addresses import Address
from triplecast.errors import EgressRefused

LONGEST = 4096
"""Characters of a URL."""
DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>[^#]*)(?:#.*)?", re.I)
_AUTHORITY = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+))(?::(?P<port>[1-9][0-9]{0,4}))?", re.I)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class RequestTarget(NamedTuple):
    """Where a request goes."""

    scheme: str
    host: str
    """A name in lower case, or an address as `ipaddress` writes it, without brackets."""
    port: int
    path: str
    """With the query, never empty."""
    address: Address | None
    """Of a host that is one."""

    @property
    def origin(self) -> str:
        """Without what may be a secret: for messages."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def read_url(url: str) -> RequestTarget:
    """Raises `EgressRefused` for all but plain `http` and `https` URLs: for user names, escapes and other alphabets in
    the host, numbers that are no dotted address, zones, white space and control characters."""
    if len(url) > LONGEST:
        raise EgressRefused("a URL", f"it has more than {LONGEST} characters", "use a shorter one")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise EgressRefused("a URL", "it has characters that no URL has", "write them escaped (%20, xn--…)")
    parts = _URL.fullmatch(url)
    if parts is None or parts["scheme"].lower() not in DEFAULT_PORTS:
        raise EgressRefused("a URL", "it is no absolute http or https URL", "write https://host/path")
    scheme = parts["scheme"].lower()
    authority = _AUTHORITY.fullmatch(parts["authority"])
    if authority is None:
        what = "it has a user name or password" if "@" in parts["authority"] else "its host is malformed"
        raise EgressRefused("a URL", what, "write https://host/path, with a plain host and at most a port")
    host, address = _read_host(authority["name"], authority["six"])
    port = int(authority["port"] or DEFAULT_PORTS[scheme])
    if port > 65535:
        raise EgressRefused("a URL", f"{port} is no port", "write one from 1 to 65535")
    path = parts["rest"]
    return RequestTarget(scheme, host, port, path if path.startswith("/") else f"/{path}", address)


def _read_host(name: str | None, six: str | None) -> tuple[str, Address | None]:
    if name is None:
        try:
            address = IPv6Address(six or "")
        except AddressValueError:
            raise EgressRefused("a URL", "its host is no IPv6 address", "write it as [2001:…]") from None
        return str(address), address
    labels = name.lower().split(".")
    if _NUMBER.fullmatch(labels[-1]):  # the browsers' rule: a last label that is a number makes the host an address
        try:
            return name, IPv4Address(name)
        except AddressValueError:
            hint = "write an address as four decimal numbers, or use a name"
            raise EgressRefused("a URL", "its host is a number that is no dotted IPv4 address", hint) from None
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise EgressRefused("a URL", "its host is no name", "write letters, digits and hyphens, and no dot at the end")
    return ".".join(labels), None
