"""What a run reports while it runs and when it ends."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from queue import SimpleQueue

from triplecast.index.snapshot import take_census
from triplecast.journal import Journal
from triplecast.model.match import MatchStats
from triplecast.model.publication import Reject
from triplecast.model.subscription import SubscriptionCounts
from triplecast.outbox import Outbox, UndecidedPair
from triplecast.pipeline.acceptor import DocumentSource
from triplecast.pipeline.sink import Matched
from triplecast.registry.file_source import FileSource
from triplecast.registry.lines import SubscriptionFault
from triplecast.registry.registry import Registry, standing_registrations

Notice = Reject | SubscriptionFault | UndecidedPair | str

REPORTED = 1000
"""How many rejects a `Summary` lists; all are in the journal."""

_REPORT_SECONDS = 0.25
_RATE_SECONDS = 5.0


class Phase(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts since the run began, and its present state."""

    phase: Phase
    subscriptions: int
    """Live registrations."""
    accepted: int
    """Publications that the journal took."""
    publications: int
    """Publications matched and committed to the outbox."""
    matches: int
    rejects: int
    undecided: int
    rate: float
    """Publications committed a second over the last seconds."""
    lag: int
    """Publications that were accepted, in this run or before it, and are not matched yet."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one run did."""

    subscriptions: int
    """Live registrations at the end."""
    accepted: int
    unchanged: int
    """Documents whose content was that of their latest version."""
    publications: int
    """Publications matched and committed to the outbox, those that an earlier run left over among them."""
    matches: int
    undecided: int
    rejects: tuple[Reject, ...]
    """In the order of the journal; at most `REPORTED` of them."""
    reject_count: int
    faults: tuple[SubscriptionFault, ...]
    """Invalid subscriptions in the files at the end of the run."""
    ignored: tuple[str, ...]
    """What is in the inbox and is never taken: files with another extension, links, pipes."""
    seconds: float
    """From the start of the run to its end."""
    matching_seconds: float
    """Of the batches, and of the pauses between them but those in which it waited for documents."""
    interrupted: bool
    """Whether it was stopped before it was done: with ``once`` before the inbox was drained, else with `left`."""
    left: int
    """Publications accepted and not matched yet, or waiting for operators: the next run begins with them."""
    ignored_subscriptions: tuple[str, ...] = ()
    """Files of another extension beside the subscription files, which are not read."""
    warnings: int = 0
    """Warnings about the subscriptions that this run registered."""
    live: SubscriptionCounts = field(default_factory=SubscriptionCounts)
    """The live registrations at the end, by what they cost and by who decides them."""
    work: MatchStats = field(default_factory=MatchStats)
    """What matching took; a batch that was matched again is counted again."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who follows a run's progress, on the thread that called `run`, and may end it."""

    on_progress: Callable[[Progress], None] = lambda progress: None
    """Called a few times a second."""
    on_notice: Callable[[Notice], None] = lambda notice: None
    """Called for each reject, each subscription that is refused, and whatever else a user should know."""
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class ProgressReporter:
    """Reads the threads' counts and their notices, on the caller's thread."""

    _caller: Caller
    _notices: SimpleQueue[Notice]
    _journal: Journal
    _outbox: Outbox
    _registry: Registry
    _files: FileSource
    _acceptor: DocumentSource
    _matched: Matched
    _left_before: int
    _reported: float = 0.0
    _past: deque[tuple[float, int]] = field(default_factory=deque)
    _rejects: list[Reject] = field(default_factory=list)

    def report(self, phase: Phase) -> None:
        """Hand on all notices, and the progress unless that was reported a moment ago."""
        while not self._notices.empty():
            notice = self._notices.get()
            if isinstance(notice, Reject) and len(self._rejects) < REPORTED:
                self._rejects.append(notice)
            self._caller.on_notice(notice)
        now = time.monotonic()
        if now - self._reported >= _REPORT_SECONDS or phase is Phase.ENDING:
            self._reported = now
            self._caller.on_progress(self._progress(phase, now))

    def summary(self, seconds: float, drained: bool) -> Summary:
        """Summarise the run when no thread counts any more; `drained`: all that was to be taken was taken."""
        self.report(Phase.ENDING)
        left = self._journal.count_publications(self._outbox.told) + self._outbox.count_pending()
        taken, matched = self._acceptor.taken, self._matched
        standing = sum(1 for _ in standing_registrations(self._journal))
        return Summary(
            subscriptions=len(self._registry.index.snapshot) + standing,
            accepted=taken.accepted,
            unchanged=taken.unchanged,
            publications=matched.publications,
            matches=matched.matches,
            undecided=matched.undecided,
            rejects=tuple(self._rejects),
            reject_count=taken.rejects,
            faults=self._files.faults,
            ignored=self._acceptor.ignored,
            seconds=seconds,
            matching_seconds=matched.seconds,
            interrupted=bool(left) or not drained,
            left=left,
            ignored_subscriptions=self._files.ignored,
            warnings=self._files.warnings,
            live=replace(take_census(self._registry.index.snapshot), repository=standing),
            work=matched.work,
        )

    def _progress(self, phase: Phase, now: float) -> Progress:
        taken, matched = self._acceptor.taken, self._matched
        self._past.append((now, matched.publications))
        while now - self._past[0][0] > _RATE_SECONDS:
            self._past.popleft()
        (then, before), span = self._past[0], now - self._past[0][0]
        return Progress(
            phase=phase,
            subscriptions=len(self._registry.index.snapshot),
            accepted=taken.accepted,
            publications=matched.publications,
            matches=matched.matches,
            rejects=taken.rejects,
            undecided=matched.undecided,
            rate=(matched.publications - before) / span if now > then else 0.0,
            lag=max(0, self._left_before + taken.accepted - matched.publications),
        )
