"""Ask sources when they are to be asked, and publish what they bring: nothing twice, nothing lost.

An answer is *taken* in one step: what is to be published of it, what is known of it from now on, and when it is asked
next. What was taken is published before anything else is taken, and then struck off. So a process that ends in between
publishes it again, which the journal knows to be unchanged; and one that ends before asks with the old validators.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from triplecast.crash_points import reach
from triplecast.egress import Send
from triplecast.engine import Engine, Receipt
from triplecast.errors import EgressFailed, EgressRefused, TriplecastError
from triplecast.ingest import Document, Parser
from triplecast.journal import Clock, read_clock, system_clock, time_text
from triplecast.model.printable import shortened
from triplecast.sources.crawling import GONE, CheckFailed, Crawled, Crawler, KnownPage
from triplecast.sources.items import read_items, sift_items
from triplecast.sources.schedule import (
    DEFAULT_BOUNDS,
    LONGEST_WAIT,
    Bounds,
    next_interval,
    wait_after_failure,
    wait_after_success,
)
from triplecast.sources.snapshots import compare_snapshot
from triplecast.sources.source import FEED, KnownSource, SourcePage, Validators
from triplecast.sources.source_list import SourceList, seconds
from triplecast.sqlite import SqliteFile

AGENT = "Triplecast"
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
N_TRIPLES = "application/n-triples"


@dataclass(slots=True)
class _Round:
    """What threads share that ask all sources whose time has come."""

    hosts: deque[list[KnownSource]]
    tell: Callable[[Polled], None]
    outcomes: list[Polled] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Polled:
    """What became of one check of a source."""

    url: str
    next_check: int
    error: str = ""
    """Why it failed, or what of it was left out."""
    new: int = 0
    edited: int = 0
    removed: int = 0
    withheld: int = 0
    failed: bool = False


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
    ) -> None:
        self.sources = SourceList(folder)
        self._engine = engine
        self._clock = clock
        self._chance = chance
        self._bounds = bounds
        self._parser = Parser()
        self._crawler = Crawler(send, self._parser, agent)
        self._lock = Lock()
        self._busy: dict[str, int] = {}
        """Until when servers are left alone that asked for it, or gave no answer."""
        self._ended = Event()
        self.fault: TriplecastError | None = None
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
                self.fault = None
            except TriplecastError as fault:  # of the disk, most likely: what was taken is published once it is mended
                self.fault = fault
            self._ended.wait(LOOK_EVERY)

    def _due(self, urls: set[str] | None) -> dict[str, list[KnownSource]]:
        """What is to be asked now, by server, once all is published that was taken."""
        with self._lock:
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
            crawled = self._crawler.crawl(source, self._known_pages(source), now)
        except (CheckFailed, EgressRefused, EgressFailed) as fault:
            return self._fail(source, fault, read_clock(self._clock))
        reach("sources.fetched")
        with self._lock:
            if self._ended.is_set():
                return None
            self._publish_taken()
            polled = self._take(source, crawled, read_clock(self._clock))
            reach("sources.taken")
            self._publish_taken()
        return polled

    def _known_pages(self, source: KnownSource) -> dict[str, KnownPage]:
        return {
            url: KnownPage(Validators(etag, last_modified), following)
            for url, etag, last_modified, following in self.sources.pages(source)
        }

    def _take(self, source: KnownSource, crawled: Crawled, now: int) -> Polled | None:
        """Write down what is to be done of an answer, and that it was taken."""
        with self.sources.writing() as file:
            there = self.sources.at(file, source.id)
            if there is None:
                return None
            error = _left_out(crawled.pages)
            if crawled.kind == FEED:
                polled, newest = self._take_feed(file, there, crawled.pages, now)
            else:
                polled, newest = self._take_snapshot(file, there, crawled.pages, now), there.newest
            changed = bool(polled.new or polled.edited or polled.removed)
            interval = next_interval(there.interval, changed, self._bounds)
            wait = wait_after_success(interval, crawled.fresh_seconds, self._bounds, self._chance())
            polled = replace(polled, error=polled.error or error, next_check=now + seconds(wait))
            moves = (
                there.moves + 1 if crawled.moved_to and crawled.moved_to == there.moving_to else bool(crawled.moved_to)
            )
            after = replace(
                there,
                location=crawled.moved_to if moves >= MOVED else there.location,
                kind=crawled.kind,
                next_check=polled.next_check,
                last_check=now,
                last_change=now if changed else there.last_change,
                interval=int(interval),
                failures=0,
                error=polled.error,
                withheld=polled.withheld,
                newest=newest,
                moves=int(moves) % MOVED,
                moving_to=crawled.moved_to,
                is_released=there.is_released and crawled.kind == "",
            )
            self.sources.note(file, after)
        return polled

    def _take_feed(
        self, file: SqliteFile, source: KnownSource, pages: Sequence[SourcePage], now: int
    ) -> tuple[Polled, str]:
        (page,) = pages
        if page.parsed is None:
            return Polled(source.url, 0, withheld=source.withheld), source.newest
        sifted = sift_items(file, source, read_items(page.parsed.drafts, source), now)
        for item in sifted.due:
            self._owe(file, source, page, now, item.graph, item.data, N_TRIPLES)
        self.sources.note_pages(file, source, pages)
        error = f"{sifted.withheld} items look like an old archive: they wait for a release" if sifted.withheld else ""
        return Polled(source.url, 0, error, sifted.new, sifted.edited, withheld=sifted.withheld), sifted.newest

    def _take_snapshot(self, file: SqliteFile, source: KnownSource, pages: Sequence[SourcePage], now: int) -> Polled:
        compared = compare_snapshot(file, source, pages, now)
        if compared.withheld:
            error = f"{compared.missing} of its publications are missing: nothing is taken until they are released"
            return Polled(source.url, 0, error, withheld=compared.missing)
        for page in compared.pages:
            self._owe(file, source, page, now, page.url, page.body, page.media_type, source.split)
        for graph in compared.removed:
            self._owe(file, source, pages[0], now, graph, None)
        self.sources.note_pages(file, source, pages)
        return Polled(source.url, 0, "", compared.new, compared.edited, compared.missing)

    def _owe(
        self,
        file: SqliteFile,
        source: KnownSource,
        page: SourcePage,
        now: int,
        graph: str,
        data: bytes | None,
        media_type: str | None = None,
        split: str | None = None,
    ) -> None:
        """Have a document published, or without `data` removed."""
        origin = (source.url, page.address, time_text(now), *page.validators)
        file.run(
            "INSERT INTO due(source, address, fetched_at, etag, last_modified, graph, media_type, split, data) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(*origin, graph, media_type, split, data)],
        )

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
        elif retry is not None and status in (429, 503):
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


def _left_out(pages: Sequence[SourcePage]) -> str:
    rejects = [each for page in pages if page.parsed is not None for each in page.parsed.rejects]
    if not rejects:
        return ""
    more = f" (and {len(rejects) - 1} more)" if len(rejects) > 1 else ""
    return shortened(f"left out: {rejects[0].reason}{more}", 1000)
