"""One size of the workload: engines are built one after the other, hold the same answers, and are timed in turns."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.answers import Answer, hash_pairs
from benchmarks.peers.probe import Pairs, find_pairs
from benchmarks.peers.protocol import GaveUp, Peer, Round
from benchmarks.peers.workload import WITNESSES, draw_given, write_given


@dataclass(frozen=True, slots=True)
class Contestant:
    name: str
    command: Callable[[Path], list[str]]
    """Of the workload's folder."""
    surroundings: Mapping[str, str] = field(default_factory=dict)
    """Environment variables."""
    gives_up_above: int = sys.maxsize
    """Subscriptions; it is not started with more."""
    ways: Sequence[str] = ("",)
    """In which one process matches; each but the empty one is told after the name."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take; seconds."""

    build: float
    warm: float
    """Of unmeasured rounds before the measured ones."""
    shortest: float
    """A turn goes over its publications again until it lasts so long."""
    turn: float
    """A turn longer than this has fewer publications."""
    turns: int


@dataclass(frozen=True, slots=True)
class Score:
    name: str
    version: str
    subscriptions: int
    """Of the workload."""
    asked: int
    """Subscriptions that were asked; fewer are a sample, and seconds are multiplied."""
    publications: int
    """Of each turn."""
    matches: float
    """A publication, of the asked subscriptions."""
    rates: Sequence[float]
    """Publications/s of each turn."""
    core_rates: Sequence[float]
    """Publications per second that the process had a core."""
    build: float
    """Seconds."""
    index: int
    """Bytes."""
    resident: int
    """Bytes of the process after the build."""

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def core_rate(self) -> float:
        return statistics.median(self.core_rates)


@dataclass(frozen=True, slots=True)
class Contest:
    scores: Sequence[Score]
    given_up: Mapping[str, str]
    """Name → how far it came."""


class AnswersDiffer(Exception):
    def __init__(self, name: str, subscriptions: int, told: Answer, right: Answer) -> None:
        super().__init__(
            f"{name} at {subscriptions:,} subscriptions told {told.matches} matches with hash {told.digest}; "
            f"the right answer has {right.matches} with hash {right.digest}"
        )


def hold_contest(
    subscriptions: int, publications: int, contestants: Sequence[Contestant], limits: Limits, folder: Path
) -> Contest:
    """Raises AnswersDiffer when a match-set hash is not that of the plain probe."""
    given = draw_given(subscriptions, publications)
    write_given(given, folder)
    right = find_pairs(given)
    peers: list[Peer] = []
    entered: list[tuple[Peer, str]] = []
    given_up: dict[str, str] = {}
    try:
        for contestant in contestants:
            _say(subscriptions, contestant.name)
            try:
                peer = _start(contestant, subscriptions, limits, folder)
                peers.append(peer)
                entered += [(peer, way) for way in contestant.ways]
            except GaveUp as reason:
                given_up[contestant.name] = str(reason)
        entrants = []
        for peer, way in entered:
            entrant = _Entrant(peer, way, right, subscriptions, publications)
            try:
                entrant.warm_up(limits)
                entrants.append(entrant)
            except GaveUp as reason:
                given_up[peer.name] = str(reason)
        for turn in range(limits.turns):
            _say(subscriptions, f"turn {turn + 1} of {limits.turns}")
            for entrant in entrants:
                entrant.take_turn(limits)
        scores = [entrant.score() for entrant in entrants]
    finally:
        for peer in peers:
            peer.close()
    return Contest(scores, given_up)


def _start(contestant: Contestant, subscriptions: int, limits: Limits, folder: Path) -> Peer:
    if subscriptions > contestant.gives_up_above:
        raise GaveUp(f"gave up at {contestant.gives_up_above:,} subscriptions already")
    command = contestant.command(folder)
    return Peer(contestant.name, command, folder, limits.build * 1.5, contestant.surroundings)


class _Entrant:
    """An engine in the contest: what it is asked and what it has shown."""

    def __init__(self, peer: Peer, way: str, right: Pairs, subscriptions: int, publications: int) -> None:
        self._peer, self._way = peer, way
        self._right = [pair for pair in right if pair[1] < peer.greeting.subscriptions]
        self._subscriptions = subscriptions
        self._count = publications
        self._rates: list[float] = []
        self._core_rates: list[float] = []
        self._matches = 0

    def warm_up(self, limits: Limits) -> None:
        """Checks the witnesses, and settles how many publications fit into a turn."""
        self._ask(0, WITNESSES, limits)  # loads code: tells nothing of speed
        end = time.monotonic() + limits.warm
        last, count = self._ask(0, WITNESSES, limits), WITNESSES
        while time.monotonic() < end:
            count = self._fit(last.seconds / count, limits)
            last = self._ask(WITNESSES, count, limits)
        self._count = self._fit(last.seconds / count, limits)

    def _fit(self, seconds: float, limits: Limits) -> int:
        """How many publications of so many `seconds` each are a turn."""
        return max(1, min(self._count, int(limits.turn / seconds)))

    def take_turn(self, limits: Limits) -> None:
        told = [self._ask(WITNESSES, self._count, limits)]
        while sum(part.seconds for part in told) < limits.shortest:
            told.append(self._ask(WITNESSES, self._count, limits))
        asked = self._count * len(told) * self._peer.greeting.subscriptions / self._subscriptions
        self._rates.append(asked / sum(part.seconds for part in told))
        self._core_rates.append(asked / sum(part.core for part in told))
        self._matches = told[0].answer.matches

    def _ask(self, first: int, count: int, limits: Limits) -> Round:
        told = self._peer.match(first, count, self._way, limits.build)
        right = hash_pairs([pair for pair in self._right if first <= pair[0] < first + count])
        if told.answer != right:
            raise AnswersDiffer(self._peer.name, self._subscriptions, told.answer, right)
        return told

    def score(self) -> Score:
        greeting = self._peer.greeting
        return Score(
            f"{self._peer.name}, {self._way}" if self._way else self._peer.name,
            greeting.version,
            self._subscriptions,
            greeting.subscriptions,
            self._count,
            self._matches / self._count,
            self._rates,
            self._core_rates,
            greeting.seconds,
            greeting.index,
            self._peer.resident,
        )


def _say(subscriptions: int, what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {subscriptions:,} subscriptions: {what}", file=sys.stderr, flush=True)
