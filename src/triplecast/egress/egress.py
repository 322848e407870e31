"""One request to a vetted address, bounded in time and bytes.

Over `http.client` on a socket of our own: it follows nothing, asks no environment, and is there without an extra; an
HTTP library would hide the name look-up and the connection, which are what must be ours.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from threading import BoundedSemaphore, Thread
from typing import Protocol

from triplecast.egress.addresses import Address, is_refused
from triplecast.egress.body import read_body
from triplecast.egress.deadline import DeadlineSocket
from triplecast.egress.url import RequestTarget, read_url
from triplecast.errors import EgressFailed, EgressRefused

SECONDS = 15.0
"""Of a request, from the look-up of the name to the last byte."""
MOST_BYTES = 64 << 10
"""Of a body that is kept."""
HEAD_BYTES = 256 << 10
"""Of all else that is read of an answer."""
ADDRESSES = 4
"""Of a name that are tried."""
LOOKUPS = 32
"""Names that are looked up at a time: a look-up cannot be ended."""
AGENT = "Triplecast"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OURS = {"host", "content-length", "transfer-encoding", "connection"}

Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a name, as `ipaddress` reads them. Raises OSError."""


@dataclass(frozen=True, slots=True)
class EgressRules:
    private: bool = False
    """Whether this machine and private networks may be reached (`is_refused`)."""
    ports: frozenset[int] = frozenset({80, 443})
    """Empty: all."""
    option: str = "--webhook-port"
    """Of the command line: it allows another port."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    """From 200; a redirection is one too."""
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, in the order they came."""
    body: bytes
    """Unpacked where `content-encoding` said so; of at most `most_bytes`."""
    truncated: bool
    """Whether there was more."""

    def header(self, name: str) -> str | None:
        """The first of this name, in lower case."""
        return next((value for key, value in self.headers if key == name), None)


class Send(Protocol):
    """What `Egress.send` is; tests give their own."""

    def __call__(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        seconds: float = SECONDS,
        most_bytes: int = MOST_BYTES,
    ) -> HttpAnswer: ...


class Egress:
    """Sends requests; may be used from any thread."""

    def __init__(
        self, rules: EgressRules = EgressRules(), resolve: Resolve | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.rules = rules
        self._resolve = resolve or _look_up
        self._tls = tls or ssl.create_default_context()
        self._lookups = BoundedSemaphore(LOOKUPS)

    def check(self, url: str) -> RequestTarget:
        """What can be said of a URL without looking its name up. Raises `EgressRefused`."""
        target = read_url(url)
        if self.rules.ports and target.port not in self.rules.ports:
            allowed = ", ".join(map(str, sorted(self.rules.ports)))
            hint = f"use one of {allowed}, or allow this one by `{self.rules.option} {target.port}`"
            raise EgressRefused(target.origin, f"port {target.port} is not allowed", hint)
        if target.address is not None:
            self._check_addresses(target, [target.address])
        return target

    def send(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        seconds: float = SECONDS,
        most_bytes: int = MOST_BYTES,
    ) -> HttpAnswer:
        """Send one request and return its answer, whatever its status.

        Raises `EgressRefused` where the request may not be made, and `EgressFailed` where there is no answer in time,
        or none that is HTTP.
        """
        deadline = time.monotonic() + seconds
        target = self.check(url)
        head = self._head(target, method, headers, body)
        addresses = self._addresses(target, deadline)
        try:
            with self._connect(target, addresses, deadline) as connected:
                connected.most_bytes = most_bytes + HEAD_BYTES
                return _exchange(connected, method, target.path, head, body, most_bytes)
        except TimeoutError:
            raise EgressFailed(target.origin, f"it did not answer within {seconds:g} s") from None
        except (OSError, HTTPException, zlib.error, ValueError) as error:
            what = str(error) or type(error).__name__
            raise EgressFailed(target.origin, what[:200]) from error

    def _head(
        self, target: RequestTarget, method: str, headers: Iterable[tuple[str, str]], body: bytes | None
    ) -> list[tuple[str, str]]:
        given = [*headers]
        for name, value in given:
            if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value) or name.lower() in _OURS:
                raise EgressRefused(target.origin, f"the header {name!r} cannot be sent", "leave it out")
        if not _TOKEN.fullmatch(method):
            raise EgressRefused(target.origin, f"{method!r} is no method", "use GET or POST")
        head = [("Host", target.authority), ("Connection", "close")]
        if body is not None:
            head.append(("Content-Length", str(len(body))))
        named = {name.lower() for name, _ in given}
        ours = {"User-Agent": AGENT, "Accept-Encoding": "gzip"}
        return [*head, *((name, value) for name, value in ours.items() if name.lower() not in named), *given]

    def _addresses(self, target: RequestTarget, deadline: float) -> list[Address]:
        """Look a name up once. All its addresses must be allowed: one that is not says that something is wrong."""
        if target.address is not None:
            return [target.address]
        found: list[Address] = []
        for text in dict.fromkeys(self._look_up_until(target, deadline)):
            try:
                found.append(ip_address(text))
            except ValueError:
                raise EgressRefused(target.origin, "its name has an address that is none", "mend its DNS") from None
        self._check_addresses(target, found)
        return found[:ADDRESSES]

    def _look_up_until(self, target: RequestTarget, deadline: float) -> Sequence[str]:
        """Raises `EgressFailed` at the deadline; the look-up goes on, which nobody can end, and takes its place."""
        outcome: list[Sequence[str] | OSError] = []
        if not self._lookups.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise EgressFailed(target.origin, f"{LOOKUPS} names are being looked up already")

        def look_up() -> None:
            try:
                outcome.append(self._resolve(target.host, target.port))
            except (OSError, UnicodeError) as error:
                outcome.append(OSError(str(error)))
            finally:
                self._lookups.release()

        thread = Thread(target=look_up, name="triplecast-lookup", daemon=True)
        thread.start()
        thread.join(max(0.0, deadline - time.monotonic()))
        if not outcome:
            raise EgressFailed(target.origin, "its name was not found in time")
        if isinstance(outcome[0], OSError):
            raise EgressFailed(target.origin, "its name is not known")
        return outcome[0]

    def _check_addresses(self, target: RequestTarget, addresses: Sequence[Address]) -> None:
        if not addresses:
            raise EgressFailed(target.origin, "its name has no address")
        if any(is_refused(address, self.rules.private) for address in addresses):
            hint = "use a public one, or have the administrator allow private networks: `--private`"
            if self.rules.private:
                hint = "use another one: link-local addresses, those of cloud metadata and the like are never allowed"
            raise EgressRefused(target.origin, "its address is not a public one", hint)

    def _connect(self, target: RequestTarget, addresses: Sequence[Address], deadline: float) -> DeadlineSocket:
        """Raises OSError of the last address that was tried."""
        failed: OSError = OSError("no address")
        for place, address in enumerate(addresses):
            left = deadline - time.monotonic()
            family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
            connection = socket.socket(family, socket.SOCK_STREAM)
            try:
                connection.settimeout(max(0.001, left / (len(addresses) - place)))
                connection.connect((str(address), target.port))
                peer = ip_address(connection.getpeername()[0])
                if peer != address:
                    raise EgressRefused(target.origin, "another address answered", "look at this machine's network")
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.settimeout(max(0.001, deadline - time.monotonic()))
                if target.scheme == "https":
                    connection = self._tls.wrap_socket(connection, server_hostname=target.host)
                return DeadlineSocket(connection, deadline)
            except OSError as error:
                connection.close()
                failed = error
            except BaseException:
                connection.close()
                raise
        raise failed


def _exchange(
    connected: DeadlineSocket, method: str, path: str, head: list[tuple[str, str]], body: bytes | None, most_bytes: int
) -> HttpAnswer:
    connection = HTTPConnection("unused")
    connection.auto_open = 0
    connection.sock = connected
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in head:
        connection.putheader(name, value)
    connection.endheaders(body)
    with connection.getresponse() as response:
        if response.status < 200:
            raise HTTPException(f"it answers {response.status}, and goes on")
        headers = tuple((name.lower(), value) for name, value in response.getheaders())
        return HttpAnswer(response.status, headers, *read_body(response, most_bytes))


def _look_up(host: str, port: int) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
