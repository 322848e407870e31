"""Ask sources when they are to be asked, and publish what they bring: nothing twice, nothing lost.

An answer is *taken* in one step: what is to be published of it, what is known of it from now on, and when it is asked
next. What was taken is published before anything else is taken, and then struck off. So a process that ends in between
publishes it again, which the journal knows to be unchanged; and one that ends before asks with the old validators.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from triplecast.crash_points import reach
from triplecast.egress import AGENT, Send
from triplecast.engine import Engine, Receipt
from triplecast.errors import EgressFailed, EgressRefused, TriplecastError
from triplecast.ingest import Document, Parser
from triplecast.journal import Clock, read_clock, system_clock
from triplecast.model.printable import shortened
from triplecast.sources.crawling import GONE, MOST_PAGES, Crawled, Crawler, KnownPage
from triplecast.sources.fetching import SERVER_BUSY, CheckFailed
from triplecast.sources.following import follow_changes
from triplecast.sources.hubs import Subscriber, is_pushed, is_signed, note_hub
from triplecast.sources.items import is_feed
from triplecast.sources.oai import BAD_TOKEN, OaiPage, is_oai
from triplecast.sources.schedule import DEFAULT_BOUNDS, LONGEST_WAIT, Bounds, wait_after_failure
from triplecast.sources.source import CHANGES, FEED, HUBBED, OAI, KnownSource, SourcePage, Validators
from triplecast.sources.source_list import SourceList, seconds
from triplecast.sources.taking import Polled, settled, take_feed, take_records, take_snapshot
from triplecast.sqlite import SqliteFile

HOSTS = 8
"""Servers that are asked at a time, one request each."""
AT_ONCE = 200
"""Documents that are published in one call."""
MOVED = 3
"""Checks in a row that find a source elsewhere for good before it is asked there."""
DEAD_SECONDS = 300
"""How long the other sources of a server wait that gave no answer."""
LOOK_EVERY = 1.0
"""Seconds between two looks at what is to be asked."""

_Taken = TypeVar("_Taken")


@dataclass(slots=True)
class _Round:
    """What threads share that ask all sources whose time has come."""

    hosts: deque[list[KnownSource]]
    tell: Callable[[Polled], None]
    outcomes: list[Polled] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)


class Poller:
    """Polls the sources of the folder that `engine` has open. May be used from any thread; one per folder."""

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        send: Send,
        clock: Clock = system_clock,
        chance: Callable[[], float] = random.random,
        bounds: Bounds = DEFAULT_BOUNDS,
        agent: str = AGENT,
        callbacks: str = "",
    ) -> None:
        """`callbacks`: where hubs reach this process (`Subscriber`); none is subscribed to without."""
        self.sources = SourceList(folder)
        self._engine = engine
        self._clock = clock
        self._chance = chance
        self._bounds = bounds
        self._parser = Parser()
        self._crawler = Crawler(send, self._parser, agent)
        self.subscriber = Subscriber(self.sources, send, callbacks, agent) if callbacks else None
        self._lock = Lock()
        self._busy: dict[str, int] = {}
        """Until when servers are left alone that asked for it, or gave no answer."""
        self._ended = Event()
        self._has_begun = False
        self.fault: Exception | None = None
        """Why the thread of `start` could not publish when it looked last."""

    def start(self, tell: Callable[[Polled], None] = lambda polled: None) -> None:
        """Poll in a thread of its own until `close`; `tell` hears what becomes of each check."""
        Thread(target=self._run, args=(tell,), name="triplecast-sources", daemon=True).start()

    def close(self) -> None:
        """End, when what is being published is; what is being fetched is dropped, and asked for again later."""
        with self._lock:
            self._ended.set()
        self._parser.close()

    def poll(self, urls: Iterable[str] | None = None, tell: Callable[[Polled], None] | None = None) -> list[Polled]:
        """Ask all sources that are to be asked now, or of these those that are; return what became of each. Raises what
        publishing raises."""
        hosts = self._due(None if urls is None else {*urls})
        round = _Round(deque(hosts.values()), tell or (lambda polled: None))
        threads = [Thread(target=self._work, args=(round,), daemon=True) for _ in range(min(HOSTS, len(hosts)))]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if round.faults:
            raise round.faults[0]
        return round.outcomes

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _run(self, tell: Callable[[Polled], None]) -> None:
        """A server that is slow keeps its own sources waiting, and no other's."""
        asked: dict[str, tuple[Thread, _Round]] = {}
        tending: Thread | None = None
        while not self._ended.is_set():
            try:
                done = {host for host, (thread, _) in asked.items() if not thread.is_alive()}
                for fault in [each for host in done for each in asked.pop(host)[1].faults]:
                    raise fault
                for host, sources in self._due(None).items():
                    if host not in asked and len(asked) < HOSTS:
                        round = _Round(deque([sources]), tell)
                        asked[host] = Thread(target=self._work, args=(round,), daemon=True), round
                        asked[host][0].start()
                if self.subscriber is not None and (tending is None or not tending.is_alive()):
                    tending = Thread(target=self._tend, args=(self.subscriber,), daemon=True)
                    tending.start()
                self.fault = None
            except Exception as fault:  # of the disk, most likely: what was taken is published once it is mended
                self.fault = fault
            self._ended.wait(LOOK_EVERY)

    def _tend(self, subscriber: Subscriber) -> None:
        try:
            subscriber.tend(read_clock(self._clock))
        except TriplecastError as fault:
            self.fault = fault

    def _due(self, urls: set[str] | None) -> dict[str, list[KnownSource]]:
        """What is to be asked now, by server, once all is published that was taken."""
        with self._lock:
            if not self._has_begun:
                self.sources.ask_refused(read_clock(self._clock))
                self._has_begun = True
            self._publish_taken()
        hosts: dict[str, list[KnownSource]] = {}
        for source in self.sources.waiting(read_clock(self._clock), seconds(LONGEST_WAIT * 2)):
            if urls is None or source.url in urls:
                hosts.setdefault(source.host, []).append(source)
        return hosts

    def _work(self, round: _Round) -> None:
        """Ask one server after the other, of each one source after the other."""
        try:
            while not self._ended.is_set() and not round.faults:
                for source in round.hosts.popleft():
                    if self._ended.is_set():
                        return
                    if polled := self._check(source):
                        round.outcomes.append(polled)
                        round.tell(polled)
        except IndexError:
            return
        except Exception as fault:
            round.faults.append(fault)

    def _check(self, source: KnownSource) -> Polled | None:
        """None where its server is left alone, or it was removed meanwhile."""
        now = read_clock(self._clock)
        if now < (until := self._busy.get(source.host, 0)) <= now + seconds(LONGEST_WAIT):
            with self.sources.writing() as file:
                file.run("UPDATE source SET next_check = max(next_check, ?) WHERE id = ?", [(until, source.id)])
            return None
        try:
            if is_oai(source.url):
                return self._harvest(source)
            if source.kind in CHANGES:
                return self._follow(source)
            crawled = self._crawler.crawl(source, self._known_pages(source), now)
            if crawled.kind in CHANGES:
                return self._follow(replace(source, kind=crawled.kind))
        except (CheckFailed, EgressRefused, EgressFailed) as fault:
            return self._fail(source, fault, read_clock(self._clock))
        except TriplecastError:
            raise
        except Exception as error:  # whatever a server sends, it silences no other source
            return self._fail(source, CheckFailed(f"{type(error).__name__}: {error}"), read_clock(self._clock))
        return self._step(source, partial(self._take, crawled))

    def _step(self, source: KnownSource, take: Callable[[SqliteFile, KnownSource, int], _Taken]) -> _Taken | None:
        """What `take` gives, which writes down what is to be done of what was fetched, once that is published too; None
        where this has ended, or the source was removed meanwhile."""
        reach("sources.fetched")
        with self._lock:
            if self._ended.is_set():
                return None
            self._publish_taken()
            with self.sources.writing() as file:
                there = self.sources.at(file, source.id)
                if there is None:
                    return None
                taken = take(file, there, read_clock(self._clock))
            reach("sources.taken")
            self._publish_taken()
        return taken

    def _known_pages(self, source: KnownSource) -> dict[str, KnownPage]:
        return {
            url: KnownPage(Validators(etag, last_modified), following)
            for url, etag, last_modified, following in self.sources.pages(source)
        }

    def _take(self, crawled: Crawled, file: SqliteFile, there: KnownSource, now: int) -> Polled:
        fresh = crawled.fresh_seconds
        if crawled.kind == FEED:
            polled, newest = take_feed(self.sources, file, there, crawled.pages, now)
        else:
            polled, newest = take_snapshot(self.sources, file, there, crawled.pages, now), there.newest
        if crawled.kind in HUBBED and self._note_hub(file, there, crawled, now):
            fresh = self._bounds.most
        polled, after = self._settled(there, polled, fresh, now)
        moves = there.moves + 1 if crawled.moved_to and crawled.moved_to == there.moving_to else bool(crawled.moved_to)
        location = crawled.moved_to if moves >= MOVED else there.location
        moved = replace(after, location=location, moves=int(moves) % MOVED, moving_to=crawled.moved_to)
        self.sources.note(file, replace(moved, kind=crawled.kind, newest=newest))
        return polled

    def _settled(self, source: KnownSource, polled: Polled, fresh: float, now: int) -> tuple[Polled, KnownSource]:
        return settled(source, polled, fresh, now, self._bounds, self._chance())

    def _note_hub(self, file: SqliteFile, there: KnownSource, crawled: Crawled, now: int) -> bool:
        """Whether a hub says what is new."""
        if self.subscriber is None or crawled.pages[0].parsed is None:
            return self.subscriber is not None and is_pushed(file, there, now)
        return note_hub(file, there, crawled.hub, now)

    def receive(self, token: str, signature: str, body: bytes, media_type: str | None) -> bool:
        """Take what a hub sends of a feed; what is no part of one has the feed asked for. False where no hub is to send
        to this callback. What is not signed by the hub changes nothing."""
        found = self.subscriber.source_of(token) if self.subscriber is not None else None
        if found is None:
            return False
        id, secret = found
        with closing(self.sources.following()) as file:
            source = self.sources.at(file, id)
        if source is None or not is_signed(signature, secret, body):
            return source is not None
        (parsed,) = self._parser.parse_soon([Document(source.url, body, media_type, source.url)])
        page = SourcePage(source.url, source.location, Validators(), parsed, body, media_type)
        self._step(source, partial(self._take_sent, page))
        return True

    def _take_sent(self, page: SourcePage, file: SqliteFile, there: KnownSource, now: int) -> None:
        if page.parsed is None or there.kind != FEED or not is_feed(page.parsed.drafts, there.url):
            self.sources.note(file, replace(there, next_check=now))
            return
        polled, newest = take_feed(self.sources, file, there, [page], now, whole=False)
        changed = now if polled.new or polled.edited else there.last_change
        self.sources.note(file, replace(there, newest=newest, last_change=changed, withheld=polled.withheld))

    def _follow(self, source: KnownSource) -> Polled | None:
        clock = partial(read_clock, self._clock)
        return follow_changes(self.sources, self._crawler, source, clock, self._step, self._settled)

    def _harvest(self, source: KnownSource) -> Polled | None:
        """Take a list of records page by page: one that breaks off goes on where it was."""
        told = Polled(source.url, 0)
        known = self._known_pages(source).get(source.url)
        began, token = (known.validators.etag, known.following) if known else ("", "")
        for _ in range(MOST_PAGES):
            try:
                page, address = self._crawler.list_records(source, token, read_clock(self._clock))
            except (CheckFailed, EgressRefused, EgressFailed) as fault:
                if isinstance(fault, CheckFailed) and fault.reason.startswith(BAD_TOKEN):
                    with self.sources.writing() as file:
                        self.sources.note_pages(file, source, ())
                return self._fail(source, fault, read_clock(self._clock))
            began = began or page.answered[: len(source.since) or None]
            took = self._step(source, partial(self._take_records, page, address, began, told))
            if took is None or not (token := page.token):
                return took
            told = took
        return self._fail(source, CheckFailed(f"its list has more than {MOST_PAGES} pages: it goes on"), self._clock())

    def _take_records(
        self, page: OaiPage, address: str, began: str, told: Polled, file: SqliteFile, there: KnownSource, now: int
    ) -> Polled:
        polled = take_records(self.sources, file, replace(there, last_check=now), page, address, began, told)
        if not page.token:
            polled, after = self._settled(there, polled, 0.0, now)
            self.sources.note(file, replace(after, kind=OAI, since=began or there.since))
        return polled

    def _publish_taken(self) -> None:
        """The caller holds the lock: what was taken is published before anything else is taken, in its order."""
        while rows := self.sources.due(AT_ONCE):
            rows = _same_kind(rows)
            documents = [
                Document(graph, data, media_type, graph, split=split)
                for *_, graph, media_type, split, data in rows
                if data is not None
            ]
            receipts: list[Receipt] = []
            if documents:
                receipts = self._engine.publish_many(documents)
            else:
                for row in rows:
                    self._engine.remove(row[6])
            reach("sources.published")
            self.sources.strike_off(rows, receipts)
            reach("sources.settled")

    def _fail(self, source: KnownSource, fault: CheckFailed | EgressRefused | EgressFailed, now: int) -> Polled | None:
        status, retry = (fault.status, fault.retry_seconds) if isinstance(fault, CheckFailed) else (0, None)
        reason = fault.reason if isinstance(fault, CheckFailed) else str(fault)
        if isinstance(fault, EgressFailed):
            self._busy[source.host] = now + seconds(DEAD_SECONDS)
        elif retry is not None and status in SERVER_BUSY:
            self._busy[source.host] = now + seconds(min(retry, LONGEST_WAIT))
        with self.sources.writing() as file:
            there = self.sources.at(file, source.id)
            if there is None:
                return None
            failures = there.failures + 1
            wait = wait_after_failure(there.interval, failures, retry, self._bounds, self._chance())
            after = replace(
                there,
                location=there.url,
                next_check=now + seconds(wait),
                last_check=now,
                failures=failures,
                error=shortened(reason, 1000),
                gone=status == GONE and there.location == there.url,
                moves=0,
                moving_to="",
            )
            self.sources.note(file, after)
        return Polled(source.url, after.next_check, after.error, withheld=after.withheld, failed=True)


def _same_kind(rows: list[Any]) -> list[Any]:
    """The first ones that are all documents, or all removals; of one graph the first."""
    graphs: set[str] = set()
    for number, row in enumerate(rows):
        if (row[9] is None) != (rows[0][9] is None) or row[6] in graphs:
            return rows[:number]
        graphs.add(row[6])
    return rows
