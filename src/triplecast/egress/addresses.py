"""Which addresses a request may go to: public unicast ones, by the special-purpose registries of IANA.

`ipaddress.is_global` is no such list: it is true of multicast, and of IPv6 addresses that carry a private IPv4 one.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_PRIVATE_4 = tuple(map(IPv4Network, ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_PRIVATE_6 = tuple(map(IPv6Network, ("::1/128", "fc00::/7")))
"""What `EgressRules.private` allows: this machine and private networks."""
_SPECIAL_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network: Linux connects 0.0.0.0 to itself
            "100.64.0.0/10",  # carrier-grade NAT; 100.100.100.200 tells a cloud's secrets
            "168.63.129.16/32",  # Azure's host, inside a public range
            "169.254.0.0/16",  # link-local; 169.254.169.254 tells a cloud's secrets
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT
            "192.88.99.0/24",  # 6to4 relays
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/3",  # multicast, reserved and broadcast
        ),
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
"""All that IANA gives out as unicast; the rest is refused without a list."""
_SPECIAL_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID, AMT, AS112
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
            "fd00:ec2::/32",  # a cloud's metadata, also where private networks are allowed
            "fd20:ce::/32",  # another cloud's
        ),
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
"""The middle 32 bits of an address that ends with an IPv4 one (RFC 5214)."""


def is_refused(address: Address, private: bool = False) -> bool:
    """Whether nothing may be sent to `address`. With `private`, this machine and private networks are allowed; never
    multicast, link-local, reserved or transition addresses, nor those of cloud metadata."""
    if isinstance(address, IPv4Address):
        return _is_in(address, _SPECIAL_4) or (not private and _is_in(address, _PRIVATE_4))
    if address.scope_id is not None:
        return True
    if address in _MAPPED or address in _NAT64:  # these are ways to write an IPv4 address, and to reach it
        return is_refused(embedded(address), private)
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP and is_refused(embedded(address), private):
        return True
    if _is_in(address, _SPECIAL_6):
        return True
    return not private if _is_in(address, _PRIVATE_6) else address not in _GLOBAL_6


def embedded(address: IPv6Address) -> IPv4Address:
    """The IPv4 address in the last 32 bits."""
    return IPv4Address(int(address) & 0xFFFFFFFF)


def _is_in(address: Address, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    return any(address in network for network in networks)
