"""Ways to write an address that must not be reached, each as a URL."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

PRIVATE_4 = (
    "127.0.0.1", "127.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.0.1",
    "169.254.169.254", "0.0.0.0", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "224.0.0.1",
    "239.255.255.250", "255.255.255.255", "240.0.0.1", "192.0.2.1", "168.63.129.16",
)  # fmt: skip
SPECIAL_6 = (
    "::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "fd12:3456::1", "ff02::1", "ff0e::1",
    "100::1", "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002::1", "3fff::1", "5f00::1",
    "64:ff9b:1::1", "4000::1", "::2:3", "2620:4f:8000::1",
)  # fmt: skip


def written_4(text: str) -> Iterator[str]:
    """Hosts that some parser reads as this address."""
    address = IPv4Address(text)
    a, b, c, d = address.packed
    number = int(address)
    yield text
    yield str(number)
    yield hex(number)
    yield f"0{number:o}"
    yield f"{a}.{(b << 16) | (c << 8) | d}"
    yield f"{a}.{b}.{(c << 8) | d}"
    yield ".".join(f"0{part:o}" for part in (a, b, c, d))
    yield ".".join(f"{part:03d}" for part in (a, b, c, d))
    yield ".".join(hex(part) for part in (a, b, c, d))
    yield f"{hex(a)}.{b}.{c}.{d}"
    yield f"{text}."
    yield text.replace(".", "。")
    yield text.translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)})
    yield text.translate({ord(str(digit)): 0x2080 + digit for digit in range(10)})
    yield text.replace(".", "%2e")
    yield "".join(f"%{byte:02x}" for byte in text.encode())
    yield f"{number + (1 << 32)}"
    yield f"{a + 256}.{b}.{c}.{d}"


def written_6(text: str) -> Iterator[str]:
    """Addresses that carry an IPv4 one, in brackets."""
    number = int(IPv4Address(text))
    yield f"[::ffff:{text}]"
    yield f"[::FFFF:{number >> 16:x}:{number & 0xFFFF:x}]"
    yield f"[0:0:0:0:0:ffff:{text}]"
    yield f"[::{text}]"
    yield f"[64:ff9b::{text}]"
    yield f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]"
    yield f"[{IPv6Address((0x20010000 << 96) | (0xFFFFFFFF ^ number))}]"  # Teredo's client, inverted
    yield f"[{IPv6Address((0x20010000 << 96) | (number << 64))}]"  # Teredo's server
    yield f"[::ffff:0:{text}]"
    yield f"[2a00:1450:4001:800:0:5efe:{text}]"  # ISATAP
    yield f"[::ffff:{text}%25eth0]"


def around(host: str) -> Iterator[str]:
    yield f"http://{host}/"
    yield f"https://{host}:443/hook?a=b"


ODD_URLS = (
    "http://user@example.org/", "http://user:secret@example.org/", "http://example.org@127.0.0.1/",
    "http://127.0.0.1#@example.org/", "http://127.0.0.1\\@example.org/", "http://example.org\\@127.0.0.1/",
    "http://example.org:80@127.0.0.1/", "http:127.0.0.1/", "http:///127.0.0.1/", "http:/\\127.0.0.1/",
    "//127.0.0.1/", "file:///etc/passwd", "ftp://example.org/", "gopher://127.0.0.1:6379/_INFO", "javascript:alert(1)",
    "http://", "http://:80/", "http://[::1", "http://::1/", "http://[::1]x/", "http://[fe80::1%25lo]/",
    "http://[fe80::1%lo]/", "http://[v1.a]/", "http://example.org./", "http://.example.org/", "http://a..org/",
    "http://exa mple.org/", "http://example.org/a b", "http://exam\tple.org/", "http://example.org\n/", "\nhttp://a.org/",
    "http://example.org/\r\nHost: other", "http://ex\u00e4mple.org/", "http://\u24d4xample.org/", "http://127。0。0。1/",
    "http://example.org:0/", "http://example.org:65536/", "http://example.org:080/", "http://example.org:+80/",
    "http://example.org:8\uff10/", "http://example.org:/", "http://-a.org/", "http://a-.org/", "http://%65xample.org/",
    "http://example.org%00.other.org/", "http://0/", "http://0x/", "http://1.2.3/", "http://1.2.3.4.5/",
    "http://127.0.0.1.0x1/", "http://a.0/", "http://a.0x7f/", "http://a.1e1.7/", "http://[::127.0.0.1.5]/",
    "http://" + "a" * 64 + ".org/", "http://" + "a." * 130 + "org/", "http://a.org/" + "b" * 5000, "HTTP://127.0.0.1/",
    "http://example.org:22/", "https://example.org:8443/", "http://example.org:6379/", "http://[::ffff:8.8.8.8]:25/",
)  # fmt: skip


def forbidden() -> list[str]:
    """At least 500 URLs of which none may lead to a packet."""
    hosts = [host for text in PRIVATE_4 for host in (*written_4(text), *written_6(text))]
    hosts += [f"[{text}]" for text in SPECIAL_6] + [f"[{IPv6Address(text).exploded}]" for text in SPECIAL_6]
    return [url for host in dict.fromkeys(hosts) for url in around(host)] + [*ODD_URLS]
