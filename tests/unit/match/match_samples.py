"""Subscriptions, publications and expected answers for tests of compile, index and match."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from pyoxigraph import RdfFormat, parse

from triplecast.evaluate import DEFAULT_STEPS, Budget, Candidate, Decision, Evaluator, bindings_json, evaluate
from triplecast.evaluate.unknown import Answers
from triplecast.index import Anchor, Segment, Snapshot, build_segment
from triplecast.index.registrations import NO_REMOVALS
from triplecast.languages import parse_query
from triplecast.match import Matcher
from triplecast.match.matcher import NO_ANSWERS, merge_batches
from triplecast.model.match import Learnt, MatchedBatch
from triplecast.model.operators import NO_OPERATORS, SCHEDULE, OperatorSet
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.operators.asking import Asker, Settled, settle
from triplecast.operators.asking.workers import Performer

PREFIXES = "PREFIX e: <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
AFTER_ALL = 1_000_000
"""A position after every registration of these tests."""

Matches = dict[tuple[int, int], bytes]
"""(publication, registration) to bindings."""


class InProcess:
    """The evaluator without its sandbox."""

    def decide(
        self, candidates: Sequence[Candidate], operators: OperatorSet = NO_OPERATORS
    ) -> Iterator[tuple[int, Decision]]:
        for number, candidate in enumerate(candidates):
            solutions = evaluate(
                query_of(candidate.text, candidate.language, None, operators),
                candidate.publication,
                Budget(DEFAULT_STEPS),
                candidate.background,
            )
            bindings = bindings_json(solutions) if solutions.matched else b""
            yield number, Decision(solutions.matched, bindings, None)

    def close(self) -> None:
        pass


query_of = lru_cache(maxsize=4096)(parse_query)


def matcher() -> Matcher:
    return Matcher(InProcess())


def registrations(*queries: str) -> list[Registration]:
    """Ids 1, 2, … in order; the prefixes ``e:`` and ``xsd:`` are declared."""
    return [
        Registration(RegistrationId(number), Subscription(f"s{number}", PREFIXES + query))
        for number, query in enumerate(queries, 1)
    ]


_positions = count(AFTER_ALL)


def publication(turtle: str, position: int | None = None, dataset: bool = False) -> Publication:
    """Canonical lines of a Turtle (TriG if `dataset`) text in which ``e:`` and ``xsd:`` are declared; the last dot may
    be left out. Without `position`, each has the one after the last."""
    turtle += " ." if turtle and turtle[-1] not in ".}" else ""
    prefixes = "@prefix e: <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    read = parse((prefixes + turtle).encode(), format=RdfFormat.TRIG)
    lines = sorted({str(quad if dataset else quad.triple) + " .\n" for quad in read})
    place = next(_positions) if position is None else position
    return Publication(place, "http://g/1", 1, "2026-11-21T08:00:00.000000Z", "".join(lines).encode(), dataset=dataset)


def snapshot_of(segments: Iterable[Segment], covers: int = 0) -> Snapshot:
    return Snapshot(covers, tuple(segments), NO_REMOVALS)


def matches_of(batch: MatchedBatch) -> Matches:
    assert not batch.undecided
    pairs = list(zip(batch.publication.tolist(), batch.registration.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    return {pair: batch.bindings_of(row) for row, pair in enumerate(pairs)}


def match_all(
    queries: Sequence[Registration], publications: Sequence[Publication], anchor: Anchor | None = None
) -> Matches:
    return matches_of(matcher().match(snapshot_of([build_segment(queries, anchor)]), publications))


def expected(queries: Sequence[Registration], publications: Sequence[Publication]) -> Matches:
    """What the evaluator says of every pair."""
    found = {}
    for number, each in enumerate(publications):
        for registration in queries:
            solutions = evaluate(query_of(registration.subscription.text), each, Budget(DEFAULT_STEPS))
            if solutions.matched:
                found[number, int(registration.id)] = bindings_json(solutions)
    return found


def answer(query: str, turtle: str) -> str | None:
    """The bindings of one query on one publication, as the index and the evaluator agree on them; None without a
    match."""
    queries, publications = registrations(query), [publication(turtle)]
    found = match_all(queries, publications)
    assert found == expected(queries, publications)
    return found[0, 1].decode() if found else None


# ---- generated cases -------------------------------------------------------------------------------------------------

LITERALS = (
    *("1", "01", "1.0", "+1.0", '"1"^^xsd:byte', '"200"^^xsd:byte', "2", "3", "1e0", "2e0", '"1.5"^^xsd:float'),
    *('"0.1"^^xsd:float', "0.1", "0.1e0", '"NaN"^^xsd:double', '"-0.0"^^xsd:double', "0", '"INF"^^xsd:float'),
    *('"123456789012345678901234567890"^^xsd:integer', "9007199254740993", "9007199254740992", "9007199254740990"),
    *("0.123456789012345678", "0.123456789012346", '"a"', '"b"', '""', '"a"@en', '"a"@de', '"ab"', '"é"', '"e\\u0301"'),
    *('"a\\"b"', '"a\\\\b"', '"a\\nb"', '"a\\u0001b"', "true", "false", '"1"^^xsd:boolean', '"x"^^xsd:integer'),
    *('"x"^^<http://e/type>', '"2026-01-01T00:00:00Z"^^xsd:dateTime', '"2026-01-01T00:00:00"^^xsd:dateTime'),
    *('"2026-01-01T14:00:00Z"^^xsd:dateTime', '"2025-12-31T10:00:00Z"^^xsd:dateTime'),
    *('"2025-12-31T09:59:59.9999Z"^^xsd:dateTime', '"2025-12-31T24:00:00"^^xsd:dateTime'),
    *('"2026-01-01T02:00:00+02:00"^^xsd:dateTime', '"2026-01-01T00:00:00.00001Z"^^xsd:dateTime'),
    *('"2026-01-01"^^xsd:date', '"2026-01-01Z"^^xsd:date', '"2026-01-02-13:00"^^xsd:date', '"10:00:00"^^xsd:time'),
    *('"10:00:00Z"^^xsd:time', '"2026"^^xsd:gYear', '"2026Z"^^xsd:gYear', '"2026-01"^^xsd:gYearMonth'),
    *('"P1M"^^xsd:yearMonthDuration', '"PT5S"^^xsd:dayTimeDuration', '"P0M"^^xsd:yearMonthDuration'),
    *('"PT0S"^^xsd:dayTimeDuration', '"P14M"^^xsd:yearMonthDuration'),
)
_TAGS = ('"en"', '"EN"', '""', '"de"')


def random_publications(source: random.Random, nodes: Sequence[str], literals: Sequence[str]) -> list[Publication]:
    publications = []
    for size in (12, *(source.choice((0, 3, 8, 14, 40)) for _ in range(5))):
        triples = []
        for _ in range(size):
            subject = source.choice([*nodes, "_:b0", "_:b1"])
            end = source.choice([*nodes, "_:b0"]) if source.random() < 0.5 else source.choice(literals)
            triples.append(f"{subject} e:p{source.randrange(3)} {end} .")
        publications.append(publication(" ".join(triples)))
    return publications


def random_case(seed: int, queries: int = 40) -> tuple[list[Registration], list[Publication]]:
    """Small vocabularies, so that patterns join, constraints meet their boundary and a good part of the pairs
    matches."""
    source = random.Random(seed)
    literals = source.sample(LITERALS, source.choice((4, 8, 14)))
    nodes = [f"e:n{number}" for number in range(source.choice((3, 5)))]
    writer = _Writer(source, nodes, literals)
    return registrations(*(writer.query() for _ in range(queries))), random_publications(source, nodes, literals)


def random_stars(seed: int, queries: int = 60) -> tuple[list[Registration], list[Publication]]:
    """Many conditions on the same few stars, against subjects with several values of a property."""
    source = random.Random(seed)
    literals = [*source.sample(LITERALS, 4), *map(str, range(6)), "2.5"]
    writer = _Writer(source, ["e:n0"], literals)
    texts = []
    for _ in range(queries):
        patterns = " . ".join(f"?v0 e:p{number} ?v{number + 1}" for number in range(source.choice((1, 2, 3))))
        compared = [name for name in ("?v1", "?v2") if name in patterns]
        conditions = " ".join(f"FILTER({writer.condition(compared)})" for _ in range(source.choice((1, 1, 1, 2))))
        texts.append(f"SELECT * {{ {patterns} {conditions} }}")
    return registrations(*texts), [random_star(source, literals) for _ in range(8)]


def random_star(source: random.Random, literals: Sequence[str]) -> Publication:
    subjects = [f"e:n{number}" for number in range(source.choice((1, 2, 4)))]
    triples = [
        f"{subject} e:p{place} {source.choice(literals)} ."
        for subject in subjects
        for place in range(3)
        for _ in range(source.choice((0, 1, 1, 2, 3)))
    ]
    return publication(" ".join(triples))


def random_trees(seed: int, queries: int = 50) -> tuple[list[Registration], list[Publication]]:
    """Patterns whose subjects are linked as trees, with conditions on their ends, against graphs with cycles; the last
    publication has more subjects than are joined by bits."""
    source = random.Random(seed)
    literals = [*map(str, range(5)), '"red fox"', '"red"']
    writer = _Writer(source, ["e:n0"], literals)
    texts = []
    for _ in range(queries):
        patterns, ends = [], []
        for number in range(source.choice((1, 2, 2, 3))):
            pair = [f"?v{source.randrange(number + 1)}", f"?v{number + 1}"]
            source.shuffle(pair)
            patterns.append(f"{pair[0]} e:l{source.randrange(2)} {pair[1]}")
            for name in (name for name in pair if source.random() < 0.5):
                ends.append(f"?e{len(patterns)}")
                end = source.choice([ends[-1], source.choice(literals)])
                patterns.append(f"{name} {source.choice(('e:p0', 'e:p1', '?p'))} {end}")
        asked = [name for name in ends if name in " ".join(patterns)]
        for name in asked:
            if source.random() < 0.6:
                word = f"ft:contains({name}, '\"red\"')"
                patterns.append(f"FILTER({word if source.random() < 0.3 else writer.condition([name])})")
        texts.append(f"SELECT * {{ {' . '.join(patterns)} }}")
    sizes = (2, 3, 4, 6, 75)
    return registrations(*texts), [_random_links(source, literals, size) for size in sizes]


def _random_links(source: random.Random, literals: Sequence[str], size: int) -> Publication:
    nodes = [f"e:n{number}" for number in range(size)]
    links = [
        f"{node} e:l{source.randrange(2)} {source.choice([*nodes, 'e:end'])} ."
        for node in nodes
        for _ in range(source.choice((0, 1, 1, 2)))
    ]
    ends = [
        f"{node} e:p{source.randrange(2)} {source.choice(literals)} ."
        for node in nodes
        for _ in range(source.choice((0, 1, 2)))
    ]
    return publication(" ".join([*links, *ends]))


class _Writer:
    """Writes random queries over a vocabulary."""

    def __init__(self, source: random.Random, nodes: Sequence[str], literals: Sequence[str]) -> None:
        self.source, self.nodes, self.literals = source, nodes, literals

    def query(self) -> str:
        chance = self.source.random()
        patterns, variables = self.patterns(self.source.randint(1, 4))
        body = patterns
        if variables:
            for _ in range(self.source.choice((0, 0, 1, 1, 2))):
                body += f" FILTER({self.condition(variables)})"
        if self.source.random() < 0.2:
            body = self.beyond(body)
        if chance < 0.2:
            return f"ASK {{ {body} }}"
        if chance < 0.4:
            return f"SELECT * {{ {body} }}"
        if chance < 0.6:
            return f"SELECT DISTINCT ?v0 ?v1 {{ {body} }}"
        if chance < 0.65:
            return f"CONSTRUCT {{ ?v0 e:r ?v1 }} {{ {body} }}"
        return f"SELECT ?v0 ?v2 ?zz {{ {body} }}"

    def patterns(self, variables: int) -> tuple[str, list[str]]:
        names = [f"?v{number}" for number in range(variables)]
        used: set[str] = set()

        def node(constants: Sequence[str], chance: float) -> str:
            if self.source.random() >= chance:
                return self.source.choice(constants)
            name = self.source.choice(names)
            used.add(name)
            return name

        triples = [
            f"{node(self.nodes, 0.7)} {node(('e:p0', 'e:p1', 'e:p2'), 0.15)} {node([*self.nodes, *self.literals], 0.6)}"
            for _ in range(self.source.choice((1, 1, 2, 2, 3, 4)))
        ]
        return " . ".join(triples), sorted(used)

    def condition(self, variables: Sequence[str]) -> str:
        source = self.source
        variable, constant = source.choice(variables), source.choice(self.literals)
        chance = source.random()
        if chance < 0.5:
            operator = source.choice(("=", "!=", "<", "<=", ">", ">="))
            sides = (variable, constant) if source.random() < 0.8 else (constant, variable)
            return f"{sides[0]} {operator} {sides[1]}"
        if chance < 0.6:
            choices = ", ".join(source.choice([*self.literals, *self.nodes]) for _ in range(source.randint(1, 3)))
            return f"{variable} {source.choice(('IN', 'NOT IN'))} ({choices})"
        if chance < 0.66:
            return f"LANG({variable}) {source.choice(('=', '!='))} {source.choice(_TAGS)}"
        if chance < 0.7:
            return f"sameTerm({variable}, {source.choice([*self.literals, *self.nodes])})"
        if chance < 0.8:
            return f"({self.condition(variables)} || {self.condition(variables)})"
        if chance < 0.86:
            return f"({self.condition(variables)} && {self.condition(variables)})"
        if chance < 0.92:
            return f"!({self.condition(variables)})"
        if chance < 0.95:
            return f"BOUND({variable})"
        return f"{variable} {source.choice(('=', '!='))} {source.choice(self.nodes)}"

    def beyond(self, body: str) -> str:
        """Something that the evaluator has to decide."""
        other, _ = self.patterns(3)
        paths = ("e:p0+", "e:p0*/e:p1", "e:p0|e:p1", "^e:p0/e:p2", "!(e:p0)", "!(^e:p0|e:p1)", "e:p1?")
        path = self.source.choice(paths)
        return self.source.choice(
            (
                f"{body} OPTIONAL {{ {other} }}",
                f"{{ {body} }} UNION {{ {other} }}",
                f"{body} MINUS {{ {other} }}",
                f"{body} FILTER EXISTS {{ {other} }}",
                f"{body} FILTER NOT EXISTS {{ {other} }}",
                f"{body} GRAPH ?g {{ {other} }}",
                f"{body} . ?v0 {path} ?v1",
                f"{body} . {{ SELECT ?v0 {{ {other} }} }}",
                f"{body} . {{ SELECT ?v0 (COUNT(*) AS ?n) {{ {other} }} GROUP BY ?v0 HAVING (COUNT(*) > 1) }}",
                f"{body} . VALUES ?v0 {{ e:n0 e:n1 }}",
                f"{body} . BIND(1 AS ?w)",
            )
        )


# ---- with operators --------------------------------------------------------------------------------------------------


class AskedBatch(NamedTuple):
    """A batch after all that its open rows wait for was called."""

    matched: MatchedBatch
    settled: Settled
    asker: Asker


def match_asking(
    snapshot: Snapshot,
    publications: Sequence[Publication],
    performer: Performer | None = None,
    known: Mapping[int, Answers] = NO_ANSWERS,
    learnt: Sequence[Learnt] = (),
    schedule: str = SCHEDULE,
    evaluator: Evaluator | None = None,
    matcher: Matcher | None = None,
) -> AskedBatch:
    """Match, ask and resolve, by an evaluator in this process unless one is given."""
    operators = NO_OPERATORS if performer is None else performer.operators
    with ExitStack() as opened:
        matcher = matcher or opened.enter_context(Matcher(evaluator or InProcess(), operators))  # type: ignore[arg-type]
        asker = Asker(performer, schedule, learnt, operators)
        if performer is None:
            opened.callback(asker.close)
        matched = matcher.match(snapshot, publications)
        settled = settle(asker, matcher, matched.open, publications, known=known, conditions=matched.conditions)
        return AskedBatch(merge_batches(matched, settled.matched), settled, asker)
