"""An index that grows part by part and is asked after each: milliseconds, bytes and counted steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from experiments.engine import BATCH, Engine
from experiments.figures import ENGINE, ENGINE_BATCH, Point
from experiments.measuring import Run, deep_size, take_turns, time_once, without_collector
from experiments.rtf.corrections import CORRECTED, SPARED, Form
from experiments.rtf.forest import TrieForest
from experiments.rtf.ibroker import InvertedIndex
from experiments.rtf.publications import Publication, read_publication
from experiments.rtf.queries import ContinuousQuery
from triplecast.model.subscription import Subscription

ENGINE_IDS = "Triplecast, ids alone"
"""Subscriptions without their bindings, which is what the paper's algorithms give, one publication a call."""
ENGINE_IDS_BATCH = "Triplecast, ids in batches"

Index = TrieForest | InvertedIndex


@dataclass(frozen=True, slots=True)
class Stream:
    """The publications."""

    contents: Sequence[bytes]
    """As N-Triples, for the engine; the first are its batch."""
    publications: Sequence[Publication]
    """The same, for the paper's algorithms."""
    alone: int
    """The first of them are filtered one by one, after each part, by all."""


@dataclass(frozen=True, slots=True)
class Stage:
    """An index when one more part of the subscriptions is in it."""

    subscriptions: int
    insertion: float
    """Milliseconds that this part took."""
    megabytes: float
    filtering: Mapping[str, Point]
    """By the name of the line."""


Answers = Sequence[Sequence[int]]
"""By publication: the subscriptions that match, ascending."""


def read_stream(contents: Sequence[bytes], alone: int) -> Stream:
    return Stream(contents, [read_publication(content) for content in contents], alone)


@dataclass(slots=True)
class Growing:
    """All indexes over the same queries, part by part."""

    stream: Stream
    indexes: Mapping[str, Index]
    """By the name of the line; in the spared form the line is ``name, hashed``."""
    engine: Engine = field(default_factory=lambda: Engine([]))
    answers: Answers = ()
    """The engine's to the first publications of the stream, after the last part."""

    def insert(self, queries: Sequence[ContinuousQuery], texts: Sequence[str]) -> dict[str, float]:
        """One more part: milliseconds by line."""
        before, added = self.engine, [Subscription(f"s{n}", text) for n, text in enumerate(texts, self.engine.size)]
        engines: list[Engine] = []
        with without_collector():
            taken = {name: time_once(partial(_insert, index, queries)) for name, index in self.indexes.items()}
            taken[ENGINE] = time_once(lambda: engines.append(Engine(added, before=before)))
        before.close()
        (self.engine,) = engines
        self.answers = self._answer(self.stream.alone)
        return taken

    def _answer(self, publications: int) -> Answers:
        taken = self.engine.take(self.stream.contents[:publications])
        batches = (taken[at : at + BATCH] for at in range(0, len(taken), BATCH))
        return [found for batch in batches for found in self.engine.match_numbers(batch)]

    def ask(self, insertion: Mapping[str, float]) -> dict[str, Stage]:
        """What stands now, by line: the first publications of the stream, all lines in turns."""
        size = self.engine.size
        megabytes = {name: measure_index(index) for name, index in self.indexes.items()}
        megabytes[ENGINE] = self.engine.file_size() / 1e6
        first, batch = self.stream.contents[: self.stream.alone], self.stream.contents[:BATCH]
        runs: dict[str, Run[Any]] = {}
        for name in self.indexes:
            for line, form in ((f"{name}, hashed", SPARED), (name, CORRECTED)):
                runs[line] = self.run(line, name, form, self.stream.alone)
        runs[ENGINE], runs[ENGINE_BATCH] = self.engine.alone(first), self.engine.batch(batch)
        runs[ENGINE_IDS], runs[ENGINE_IDS_BATCH] = self.engine.numbers_alone(first), self.engine.numbers(batch)
        points = self.engine.count_work(first, take_turns(runs, size))
        return {
            name: Stage(
                size,
                insertion[name],
                megabytes[name],
                {line: point for line, point in points.items() if line.split(",")[0] == name},
            )
            for name in (*self.indexes, ENGINE)
        }

    def run(self, line: str, name: str, form: Form, publications: int) -> Run[Publication]:
        """The first publications of the stream; raises ValueError where an answer is not the engine's."""
        index = self.indexes[name]

        def match(publication: Publication) -> list[int]:
            index.form = form
            return index.filter(publication)

        def check(number: int, found: object) -> None:
            if found != self.answers[number]:
                wrong = sorted(set(cast(list[int], found)) ^ set(self.answers[number]))[:5]
                raise ValueError(f"{line} and the engine differ on publication {number} in subscriptions {wrong}")

        return Run(match, self.stream.publications[:publications], index.steps, check=check)

    def filter_stream(self, names: Sequence[str]) -> dict[str, Point]:
        """The whole stream, once, by each of these lines."""
        count = len(self.stream.publications)
        self.answers = self._answer(count)
        runs: dict[str, Run[Any]] = {name: self.run(name, name, CORRECTED, count) for name in names}
        runs[ENGINE] = self.engine.alone(self.stream.contents)
        return take_turns(runs, self.engine.size, turns=1)


def _insert(index: Index, queries: Sequence[ContinuousQuery]) -> None:
    for query in queries:
        index.insert(query)


def measure_index(index: Index) -> float:
    """Megabytes, without what the last publication left."""
    index.steps.clear()
    if isinstance(index, TrieForest):
        index.forget()
    return deep_size(index) / 1e6
