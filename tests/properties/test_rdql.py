"""Generated RDQL through the index and the evaluator, against the slow reader of RDQL in `tests/reference/rdql.py`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from tests.reference.rdql import answer
from tests.reference.terms import read_ntriples, write
from tests.unit.match.match_samples import matcher, snapshot_of
from triplecast.compile.admission import admit
from triplecast.index import build_segment
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

XSD = "http://www.w3.org/2001/XMLSchema#"
NODES = ("http://e/n0", "http://e/n1", "http://e/n2")
PREDICATES = ("http://e/p0", "http://e/p1", "http://e/p2")
TEXTS = (
    *("1", "01", "2", "24", "25", "-3", "2.5", "2.50", ".5", "5.", "1e0", "+7", " 24", "1a", "abc", "Abc", "b c", ""),
    *("NaN", "INF", "24\\n", "http://e/n1", "_:b0", "12345678901234567890", "1e30", "0.1234567890123456789"),
)
OTHERS = (
    *(
        '"24"@en',
        '"abc"@en',
        '"abc"@de',
        "1",
        "24",
        "2.5",
        "25e0",
        "true",
        f'"24"^^<{XSD}byte>',
        f'"x"^^<{XSD}integer>',
    ),
    *(f'"0.1"^^<{XSD}float>', f'"NaN"^^<{XSD}double>', '"x"^^<http://e/type>', f'"2026-01-01"^^<{XSD}date>'),
    *(f'"2026-01-02"^^<{XSD}date>', f'"24"^^<{XSD}string>', "9007199254740993", "12345678901234567"),
)
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "eq", "ne", "EQ", "ne")
PATTERNS = ("/^a/", "/A/i", "/[0-9]+/", "/n1$/", "/b c/", "/\\./", "/_/")


class Writer:
    """Random publications and queries over one small vocabulary."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.texts = chance.sample(TEXTS, 8)
        self.others = chance.sample(OTHERS, 5)

    def publication(self) -> Publication:
        chance, lines = self.chance, set()
        for _ in range(chance.choice((3, 8, 12))):
            subject = chance.choice((*(f"<{node}>" for node in NODES), "_:b0"))
            value = chance.choice(
                (f'"{chance.choice(self.texts)}"', self.ntriples(), f"<{chance.choice(NODES)}>", "_:b0")
            )
            lines.add(f"{subject} <{chance.choice(PREDICATES)}> {value} .\n")
        return Publication(1_000_000, "http://g/1", 1, "2026-11-21T08:00:00.000000Z", "".join(sorted(lines)).encode())

    def ntriples(self) -> str:
        """One of the other literals, in N-Triples form."""
        written = self.chance.choice(self.others)
        if written[0] == '"':
            return written.replace(f"^^<{XSD}string>", "")
        name = (
            "boolean"
            if written == "true"
            else "double"
            if "e" in written
            else "decimal"
            if "." in written
            else "integer"
        )
        return f'"{written}"^^<{XSD}{name}>'

    def query(self) -> str:
        chance = self.chance
        names = [f"?v{number}" for number in range(chance.randint(2, 4))]
        patterns = [self.pattern(names) for _ in range(chance.choice((1, 1, 2, 3)))]
        shown = [name for name in names if any(name in pattern for pattern in patterns)]
        conditions = [self.condition(shown, 2) for _ in range(chance.choice((0, 1, 1, 2)) if shown else 0)]
        columns = chance.choice(("*", chance.choice((", ", " ")).join(names)))
        source = chance.choice(("", "FROM <http://e/x> ", "SOURCE Publications "))
        using = " USING e FOR <http://e/>, xsd FOR <http://www.w3.org/2001/XMLSchema#>"
        return f"SELECT {columns} {source}WHERE {self.body(patterns, conditions)}{using}"

    def body(self, patterns: list[str], conditions: list[str]) -> str:
        """As Jena writes it, or as the cluster paper does."""
        chance = self.chance
        if chance.random() < 0.5:
            constraints = chance.choice((", ", " AND ")).join(conditions)
            return chance.choice((", ", " ")).join(patterns) + (f"\nAND {constraints}" if conditions else "")
        for condition in conditions:
            at = chance.randrange(len(patterns))
            patterns[at] = f"({patterns[at]} SUCHTHAT ({condition}))"
        return " AND ".join(patterns)

    def pattern(self, names: Sequence[str]) -> str:
        chance = self.chance
        subject = chance.choice(names) if chance.random() < 0.7 else self.name(NODES)
        predicate = chance.choice(names) if chance.random() < 0.15 else self.name(PREDICATES)
        target = chance.choice(names) if chance.random() < 0.75 else self.constant()
        comma = chance.choice((", ", " "))
        return f"({subject}{comma}{predicate}{comma}{target})"

    def name(self, choices: Sequence[str]) -> str:
        local = self.chance.choice(choices).removeprefix("http://e/")
        return self.chance.choice((f"<http://e/{local}>", f"e:{local}", f"<e:{local}>"))

    def constant(self) -> str:
        chance = self.chance.random()
        if chance < 0.5:
            quote = self.chance.choice("'\"")
            return f"{quote}{self.chance.choice(self.texts)}{quote}"
        return self.chance.choice(self.others) if chance < 0.8 else self.name(NODES)

    def condition(self, names: Sequence[str], depth: int) -> str:
        chance, kind = self.chance, self.chance.random()
        if depth and kind < 0.2:
            sides = (self.condition(names, depth - 1), self.condition(names, depth - 1))
            return f"({sides[0]} {chance.choice(('&&', '||'))} {sides[1]})"
        if depth and kind < 0.3:
            return f"!({self.condition(names, depth - 1)})"
        variable = chance.choice(names)
        if kind < 0.4:
            return f"{variable} {chance.choice(('=~', '!~'))} {chance.choice(PATTERNS)}"
        if kind < 0.45:
            return variable
        other = chance.choice(names) if kind < 0.55 else self.constant()
        if kind < 0.65:
            variable = f"{variable} {chance.choice(('+', '-', '*'))} {chance.choice(('1', '2', '2.5e0'))}"
            return f"{variable} {chance.choice(COMPARISONS[:6])} {other}"
        sides = (variable, other) if chance.random() < 0.8 else (other, variable)
        return f"{sides[0]} {chance.choice(COMPARISONS)} {sides[1]}"


@pytest.mark.parametrize("rounds", [25, pytest.param(600, marks=pytest.mark.slow)])
def test_index_and_evaluator_answer_as_the_slow_reader(rounds: int, seed: int) -> None:
    chance = Random(seed)
    seen: Counter[str] = Counter()
    for number in range(rounds):
        writer = Writer(chance)
        publications = [writer.publication() for _ in range(8)]
        texts = [writer.query() for _ in range(30)]
        subscriptions = [
            Registration(RegistrationId(at), Subscription(f"s{at}", text, "rdql")) for at, text in enumerate(texts, 1)
        ]
        batch = matcher().match(snapshot_of([build_segment(subscriptions)]), publications)
        assert not batch.undecided
        pairs = zip(batch.publication.tolist(), batch.registration.tolist(), strict=True)
        found = {pair: json.loads(batch.bindings_of(row)) for row, pair in enumerate(pairs)}
        decided = [admit(subscription.subscription).decided for subscription in subscriptions]
        for at, publication in enumerate(publications):
            triples = read_ntriples(publication.quads.decode())
            for id, text in enumerate(texts, 1):
                rows = [{name[1:]: write(term) for name, term in row.items()} for row in answer(text, triples)]
                wanted = sorted(map(_key, rows))
                assert sorted(map(_key, found.get((at, id), []))) == wanted, (
                    f"round {number}: {text}\n{publication.quads.decode()}"
                )
                seen[f"{'matched' if rows else 'unmatched'} {'index' if decided[id - 1] else 'evaluator'}"] += 1
    print(dict(seen))
    matched = sum(count for name, count in seen.items() if name.startswith("matched"))
    assert matched > 0.25 * sum(seen.values())
    assert min(seen.values()) > 0.05 * sum(seen.values())
    assert len(seen) == 4


def _key(row: dict[str, str]) -> str:
    return json.dumps(row, sort_keys=True)
