"""Standing queries over changing documents, against the whole answer by the slow reader after each event."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tests.properties import drafts
from tests.properties.generate import UNTAUGHT, Asked, Published, World, make_round
from tests.properties.oracle import rows_of
from tests.properties.oxigraph import Row
from tests.properties.product import as_publication
from tests.properties.taxonomies import ENTAILMENTS
from tests.reference import queries as q
from tests.reference.entailment import Known
from tests.reference.solve import Dataset, NotDetermined, answer
from tests.reference.terms import Term, Triple, iri, read_ntriples
from triplecast.model.events import Event, TaxonomyVersion
from triplecast.model.publication import Draft, Publication
from triplecast.repository.document_lines import document_lines

GRAPHS = ("https://example.org/one", "https://example.org/two", "https://example.org/three")


class Step(NamedTuple):
    """An event: a new version of a document, or its removal; or, without a graph, another taxonomy."""

    graph: str
    document: Published | None
    taxonomy: Known | None = None

    def draft(self) -> Draft:
        assert self.document is not None
        found = as_publication(self.document, 1)
        return Draft(self.graph, found.quads, random.Random(repr(found.quads)).randbytes(32), "input")


class History(NamedTuple):
    queries: Sequence[Asked]
    steps: Sequence[Step]


def make_history(seed: int, number: int, queries: int, events: int) -> History:
    """Queries without operators, and events of which each changes a part of some document, or the taxonomy."""
    made = make_round(seed, number, 12, queries)
    source = random.Random(f"{seed} {number}")
    taxonomies = [*dict.fromkeys(each.known for each in made.publications), UNTAUGHT]
    pool = [replace(each, triples=tuple(dict.fromkeys(each.all_triples)), named=None) for each in made.publications]
    steps: list[Step] = []
    current: dict[str, Published] = {}
    for at in range(events):
        graph = source.choice(GRAPHS)
        if len(taxonomies) > 1 and (at == 1 or source.random() < 0.12):
            steps.append(Step("", None, source.choice(taxonomies)))
            continue
        if graph in current and source.random() < 0.17:
            del current[graph]
            steps.append(Step(graph, None))
            continue
        document = source.choice(pool)
        if graph in current and source.random() < 0.6:
            document = _edited(source, current[graph], document)
        elif source.random() < 0.4:
            document = replace(document, triples=_some(source, document.triples, 0.5))
        current[graph] = document = replace(document, graph=iri(graph))
        steps.append(Step(graph, document))
    return History([*made.subscriptions, *_across(source, pool, queries // 5)], steps)


def _across(source: random.Random, pool: Sequence[Published], count: int) -> Iterator[Asked]:
    """Queries of what several documents say together, some of which an optional part decides."""
    for _ in range(count):
        drawn = source.sample(pool, min(3, len(pool)))
        named = (triple for each in drawn for triple in each.triples if all(term[0] != "blank" for term in triple))
        triples = tuple(dict.fromkeys(named))
        if not any(end[0] == "literal" for _, _, end in triples):
            continue
        world = World.of_publications(source, [replace(drawn[0], triples=triples)])
        if source.random() < 0.5:
            yield world.asked(drafts.Draft(world, replace(drawn[0], triples=triples)).query())
            continue
        names = [q.Var(name) for name in "abc"]
        first, second = (q.Basic((q.Step(*ends),)) for ends in _chain(source, names, world.predicates))
        unbound: q.Expression = q.Not(q.Call("BOUND", (names[2],)))
        decided = source.choice(
            (
                q.Filter(unbound, q.Optional(first, second)),
                q.Filter(q.Exists(second, negated=source.random() < 0.7), first),
                q.Minus(first, second),
                q.Join(
                    q.Optional(first, second), q.Basic((q.Step(q.Var("d"), source.choice(world.predicates), names[2]),))
                ),
                q.Optional(first, second),
            )
        )
        yield world.asked(q.Query("select", q.Select(decided, source.choice((None, (names[0],))))))


def _chain(
    source: random.Random, names: Sequence[q.Var], predicates: Sequence[Term]
) -> tuple[tuple[q.Node, Term, q.Node], tuple[q.Node, Term, q.Node]]:
    """Two patterns that share a variable: the object of the first, or its subject."""
    one, two = source.choice(predicates), source.choice(predicates)
    if source.random() < 0.6:
        return (names[0], one, names[1]), (names[1], two, names[2])
    return (names[0], one, names[1]), (names[2], two, names[0])


def _some(source: random.Random, triples: Sequence[Triple], share: float) -> tuple[Triple, ...]:
    return tuple(triple for triple in triples if source.random() < share)


def _edited(source: random.Random, before: Published, other: Published) -> Published:
    """A few triples of one document exchanged for some of another."""
    kept, more = _some(source, before.triples, 0.8), _some(source, other.triples, 0.2)
    return replace(before, triples=tuple(dict.fromkeys([*kept, *more])))


class SlowAnswers:
    """The whole answers, evaluated anew at each state of the documents."""

    def __init__(self) -> None:
        self._current: dict[str, tuple[Triple, ...]] = {}
        self._known = UNTAUGHT
        self._datasets: dict[str | None, Dataset] = {}

    def apply(self, event: Event) -> None:
        self._datasets.clear()
        if isinstance(event, TaxonomyVersion):
            self._known = Known(read_ntriples(event.lines.decode()), event.broader)
        elif isinstance(event, Publication):
            self._current[event.graph] = read_ntriples(document_lines(event).decode())
        else:
            del self._current[event.graph]

    def answer(self, asked: Asked) -> Counter[Row] | None:
        """The rows; None where the slow reader does not say."""
        try:
            return Counter(rows_of(answer(asked.query, self._dataset(asked.entailment))))
        except NotDetermined:
            return None

    def _dataset(self, entailment: str | None) -> Dataset:
        if entailment not in self._datasets:
            merged = tuple(dict.fromkeys(triple for triples in self._current.values() for triple in triples))
            dataset = Dataset(merged, {iri(graph): triples for graph, triples in self._current.items()})
            self._datasets[entailment] = (
                dataset if entailment is None else dataset.entailed(self._known, entailment == ENTAILMENTS[1])
            )
        return self._datasets[entailment]
