"""A web server on this machine that tests tell what to answer, and that notes what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from triplecast.egress import Egress, EgressRules

SEND = Egress(EgressRules(private=True, ports=frozenset())).send
"""Requests to this machine."""


class Asked(NamedTuple):
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""


class Said(NamedTuple):
    body: bytes | str = b""
    status: int = 200
    headers: Mapping[str, str] = {}


class FeedServer:
    """`pages` says by path what is answered: what stands there, or what a function makes of the request."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, Said | Callable[[Asked], Said]] = {}
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()

    def url(self, path: str) -> str:
        return f"{self.address}{path}"

    def answer(self, asked: Asked) -> Said:
        with self._lock:
            self.asked.append(asked)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            said = self.pages.get(asked.path, Said(b"no such page", 404))
            return said(asked) if callable(said) else said
        finally:
            with self._lock:
                self._now -= 1


@contextmanager
def serve_feeds() -> Iterator[FeedServer]:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
            said = served.answer(asked)
            body = said.body.encode() if isinstance(said.body, str) else said.body
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    served = FeedServer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def rss(items: list[tuple[str, str, str]], title: str = "News") -> str:
    """An RSS 2.0 feed of (guid, title, ISO date or empty) items."""
    entries = "".join(
        f'<item><guid isPermaLink="false">{guid}</guid><title>{name}</title><link>https://news.example/{guid}</link>'
        + (f"<dc:date>{date}</dc:date>" if date else "")
        + "</item>"
        for guid, name, date in items
    )
    return (
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>'
        f"<title>{title}</title><link>https://news.example/</link>{entries}</channel></rss>"
    )
