"""A folder with one subscription, its engine, and its delivery at a clock that is stepped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import triplecast
from triplecast.delivery.attempt import Deliver
from triplecast.delivery.deliveries import Deliveries
from triplecast.delivery.requests import TargetRequests
from triplecast.delivery.sending import sender_of, ways_of
from triplecast.delivery.store import FOLDER, TargetStore
from triplecast.delivery.target import KINDS
from triplecast.egress import HttpAnswer
from triplecast.journal import JournalFile
from triplecast.model.operators import NO_OPERATORS
from triplecast.outbox import OutboxReader

SECOND = 1_000_000
QUERY = "SELECT ?t { ?i dc:title ?t }"
HOOK = "https://hook.example/a"


def answer(status: int, *headers: tuple[str, str]) -> HttpAnswer:
    return HttpAnswer(status, headers, b"", False)


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = 1_700_000_000 * SECOND
        self.sent: list[tuple[str, dict[str, str], bytes]] = []
        """URL, headers and body of each request."""
        self.reply: Callable[[], HttpAnswer] = lambda: answer(204)
        self.kinds = KINDS
        self.engine = triplecast.Engine.open(path, clock=lambda: self.now)
        self.ticket = self.engine.subscribe(QUERY, id="q", lease=triplecast.FOREVER, notify="every").ticket
        self.opened = ExitStack()
        self.start()

    def start(self) -> None:
        """Begin to deliver, or begin again."""
        self.opened.close()
        (self.path / FOLDER).mkdir(exist_ok=True)
        store = self.opened.enter_context(closing(TargetStore.writer(self.path / FOLDER)))
        self.journal = self.opened.enter_context(closing(JournalFile.read_only(self.path)))
        self.outbox = self.opened.enter_context(closing(OutboxReader.read_only(self.path)))
        self.deliveries = Deliveries(store, self.outbox, self.journal, lambda: self.now, lambda: 0.5, self.kinds)
        self.requests = TargetRequests(self.deliveries, self.journal, self.outbox, lambda: self.now)
        self.deliver: Deliver = sender_of(
            self.deliveries, ways_of(self.send, None, True), self.journal, lambda: NO_OPERATORS
        )

    def send(
        self, method: str, url: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None, **_: Any
    ) -> HttpAnswer:
        self.sent.append((url, dict(headers), body or b""))
        return self.reply()

    def publish(self, title: str) -> None:
        text = f'<urn:a> <http://purl.org/dc/elements/1.1/title> "{title}" .'
        self.engine.publish(text, media_type="text/turtle", graph="urn:g")

    def ask(self, request: str, **fields: object) -> Any:
        return self.requests.answer({"request": request, **fields})

    def add(self, url: str = HOOK, to: str = "q", **fields: object) -> str:
        id: str = self.ask("add", subscription=to, delivery={"webhook": url}, **fields)["target"]
        return id

    def target(self) -> Any:
        (found,) = self.ask("list")["targets"]
        return found

    def go(self, seconds: float = 0.0) -> int:
        """Let time pass, make what is due, and return how many attempts that were."""
        self.now += int(seconds * SECOND)
        attempts = 0
        while True:
            is_behind = self.deliveries.read()
            due = self.deliveries.due()
            for attempt in due:
                self.deliveries.settle(attempt, self.deliver(attempt))
            attempts += len(due)
            if not (due or is_behind or self.deliveries.is_behind):
                self.deliveries.flush()
                return attempts

    def go_until_quiet(self) -> int:
        attempts = self.go()
        while (due := self.deliveries.next_due()) is not None:
            self.now = max(self.now, due)
            attempts += self.go()
        return attempts

    def close(self) -> None:
        self.opened.close()
        self.engine.close()
