"""What scheduling costs in the engine: a publication through the product's matcher, its operators' time left out.

Every subscription asks one operator about its numbers, ``FILTER(holds(?p, 17))``, so that each number is a predicate;
the workers are replaced by one that knows the answers. *Scheduling* is what `Asker.start` takes (rows and their
conditions become a schedule's arrays) and what the schedule's run takes; the *stage* is all that the matcher does but
for that worker. Both as shares of themselves and a millisecond for each call.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from experiments.figures import Figure, Line, Point
from experiments.measuring import without_collector
from experiments.operators.workload import Sizes, Workload, make_events, make_workload
from triplecast.compile.compiled import SubscriptionCompiler
from triplecast.index import IndexWriter, Snapshot
from triplecast.match import Matcher
from triplecast.model.answers import Found
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.operators import PublicationView, declared_operators, operator
from triplecast.operators.asking import Asker, match_and_ask
from triplecast.operators.asking.asker import ConditionRun
from triplecast.operators.asking.runs import Run
from triplecast.operators.asking.workers import Performed, Performer
from triplecast.operators.messages import PublicationCall
from triplecast.residual import PublicationConditions

SEED = 2007
OPERATOR_SECONDS = 0.001
IRI = "https://triplecast.example/experiments#holds"
_POPULARITY = {"uniform": 0.0, "Zipf": 1.0}
_PICTURE = b"<urn:picture> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Picture> .\n"


@operator(IRI, version="1", arguments=("bound", "bound"), cost=OPERATOR_SECONDS)
def holds(event: PublicationView, term: object, number: object) -> bool:
    """Never called: `_Told` answers."""
    return False


@dataclass(slots=True)
class Clock:
    """Seconds of this process."""

    spent: float = 0.0
    began: float = 0.0

    def __enter__(self) -> None:
        self.began = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.spent += time.process_time() - self.began


class _Told(Performer):
    """Answers by number, at once."""

    def __init__(self) -> None:
        super().__init__(declared_operators())
        self.satisfied: Sequence[bool] = ()
        self.calls = 0
        self.clock = Clock()

    def perform(self, asked: Sequence[PublicationCall]) -> list[Performed]:
        with self.clock:
            self.calls += len(asked)
            numbers = (int(each.call.arguments[1].split('"')[1]) for each in asked)
            return [Performed(Found(((),) if self.satisfied[each] else ()), OPERATOR_SECONDS) for each in numbers]


class _TimedRun(Run):
    """A run's own methods, with a clock beside those that choose and learn."""

    def __init__(self, run: Run, clock: Clock) -> None:
        self.run = run
        self.clock = clock

    def wanted(self, limit: int = 1) -> Sequence[int]:
        with self.clock:
            return self.run.wanted(limit)

    def learn(self, predicate: int, holds: bool | None) -> None:
        with self.clock:
            self.run.learn(predicate, holds)

    def outcomes(self) -> NDArray[np.uint8]:
        return self.run.outcomes()


class _TimedAsker(Asker):
    """The product's, with a clock beside its schedule."""

    def __init__(self, told: _Told) -> None:
        super().__init__(told)
        self.clock = Clock()

    def start(self, conditions: PublicationConditions, offered: int) -> ConditionRun:
        with self.clock:
            running = super().start(conditions, offered)
        running.run = _TimedRun(running.run, self.clock)
        return running


@dataclass(frozen=True, slots=True)
class Shares:
    """Of one event, per cent."""

    scheduling: float
    stage: float
    calls: int = field(compare=False)


def measure_share(divided_by: int, events: int) -> Iterator[Figure]:
    """`events` after one that is not measured, which loads kernels and teaches the schedule nothing but the prior."""
    scheduling: dict[str, list[Point]] = {f"adaptive, {name}": [] for name in _POPULARITY}
    stage: dict[str, list[Point]] = {f"adaptive, {name}": [] for name in _POPULARITY}
    for count in (20_000 // divided_by, 80_000 // divided_by):
        for name, exponent in _POPULARITY.items():
            workload = make_workload(Sizes(count, 40_000 // divided_by, exponent), SEED)
            found = ask_engine(workload, events + 1)[1:]
            scheduling[f"adaptive, {name}"].append(_spread(count, [each.scheduling for each in found]))
            stage[f"adaptive, {name}"].append(_spread(count, [each.stage for each in found]))
    sizes = f"{40_000 // divided_by:,} predicates, 3 to 5 a subscription; 1 ms a call, 32 at once; {events} events"
    sizes += " after one that is left out; processor time without the collector"
    yield _figure("share", "scheduling's share of a run in the engine", scheduling, sizes)
    yield _figure("share-stage", "the share of all but the operators", stage, sizes)


def ask_engine(workload: Workload, events: int) -> list[Shares]:
    """One matcher's events, in order: what it has learnt of one it believes in the next."""
    snapshot = _snapshot_of(workload)
    told = _Told()
    asker = _TimedAsker(told)
    shares = []
    with Matcher(operators=declared_operators()) as matcher:
        for number, satisfied in enumerate(make_events(workload, events, SEED)):
            told.satisfied, told.calls, told.clock.spent, asker.clock.spent = satisfied.tolist(), 0, 0.0, 0.0
            position = Position(len(workload.starts) + number)
            publication = Publication(position, f"urn:event:{number}", 1, "2026-01-01T00:00:00.000000Z", _PICTURE)
            whole = Clock()
            with without_collector(), whole:
                ((_, matched),) = match_and_ask(matcher, asker, snapshot, [publication])
            expected = int(np.logical_and.reduceat(satisfied[workload.members], workload.starts[:-1]).sum())
            if len(matched.registration) != expected:
                raise AssertionError(f"{len(matched.registration)} subscriptions match, expected {expected}")
            asked = told.calls * OPERATOR_SECONDS
            own = whole.spent - told.clock.spent
            scheduled = asker.clock.spent
            shares.append(Shares(100 * scheduled / (scheduled + asked), 100 * own / (own + asked), told.calls))
    return shares


def _snapshot_of(workload: Workload) -> Snapshot:
    rows = np.split(workload.members, workload.starts[1:-1])
    texts = (
        "SELECT ?p { ?p a <urn:Picture> " + " ".join(f"FILTER(<{IRI}>(?p, {each}))" for each in row.tolist()) + " }"
        for row in rows
    )
    standing = [Registration(RegistrationId(at), Subscription(str(at), text)) for at, text in enumerate(texts, 1)]
    return IndexWriter().apply(standing, (), len(standing), compiler=SubscriptionCompiler(declared_operators()))


def _spread(x: float, values: Sequence[float]) -> Point:
    return Point(x, float(np.mean(values)), min(values), max(values))


def _figure(name: str, title: str, points: dict[str, list[Point]], sizes: str) -> Figure:
    lines = tuple(Line(line, tuple(found)) for line, found in points.items())
    return Figure(name, title, "subscriptions", "%", lines, sizes=sizes)
