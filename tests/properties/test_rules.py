"""Rules over random documents, event by event, against a reader of their own.

``python -m tests.properties.test_rules FIRST COUNT`` tries more histories, and prints what was seen. Every third is
scarce: some events may take few steps only, so that answers are owed.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping

from tests.conftest import DEFAULT_SEED
from tests.properties.test_standing import few_steps
from tests.reference.rules import Rule, Schema, answer, described, read
from tests.reference.terms import RDF, Term, Triple, iri, literal, read_ntriples, write
from triplecast import Engine, QueryRefused, QuerySyntaxError
from triplecast.incremental import standing_answer

NAMESPACE = "http://x/"
RULES, EVENTS, GRAPHS = 24, 10, 4
ENOUGH = standing_answer.STEPS
XSD, RDFS, MDV = "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/2000/01/rdf-schema#", "urn:triplecast:mdv:"
CLASSES = ("A", "B", "C", "D")
REFERENCES, DATA = ("r", "s", "t"), ("n", "m", "d", "f", "l", "b")
RANGES = {"n": "integer", "m": "double", "d": "string", "f": "date", "b": "boolean"}
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
PREFIX = f"prefix : <{NAMESPACE}>\n"
TYPE, TRUE = iri(RDF + "type"), literal("true", XSD + "boolean")


def named(name: str) -> Term:
    return iri(NAMESPACE + name)


def random_schema(source: random.Random) -> list[Triple]:
    """Subclasses, ranges of some properties, and which are set-valued or strong."""
    found: list[Triple] = []
    for kind in CLASSES:
        found.append((named(kind), TYPE, iri(RDFS + "Class")))
        if source.random() < 0.6:
            found.append((named(kind), iri(RDFS + "subClassOf"), named(source.choice(CLASSES))))
    for name in (*REFERENCES, *DATA):
        found.append((named(name), TYPE, iri(RDF + "Property")))
        if source.random() < 0.75:
            end = named(source.choice(CLASSES)) if name in REFERENCES else iri(RDF + "langString")
            found.append((named(name), iri(RDFS + "range"), iri(XSD + RANGES[name]) if name in RANGES else end))
        if source.random() < 0.3:
            found.append((named(name), iri(MDV + "setValued"), TRUE))
        if name in REFERENCES and source.random() < 0.5:
            found.append((named(name), iri(MDV + "strong"), TRUE))
    return found


class Writer:
    """Random rules that fit a schema, nearly always."""

    def __init__(self, source: random.Random, schema: Iterable[Triple], ids: list[str]) -> None:
        self._source = source
        self._ids = ids
        self._set_valued = {s[1].removeprefix(NAMESPACE) for s, p, _ in schema if p[1] == MDV + "setValued"}

    def rule(self) -> str:
        chance, source = self._source.random, self._source
        names = ["c", "x", "y"][: 1 + (chance() < 0.4) + (chance() < 0.1)]
        searched = ", ".join(f"{self._kind()} {name}" for name in names)
        text = f"{PREFIX}search {searched} register {source.choice(names)}"
        return text if chance() < 0.08 else f"{text} where {self._condition(names, self._source.randrange(3))}"

    def _kind(self) -> str:
        if self._ids and self._source.random() < 0.25:
            id = self._source.choice(self._ids)
            return self._source.choice((id, f"'{id}'", f'"{id}"'))
        kind = self._source.choice(CLASSES)
        return self._source.choice((kind, f":{kind}", f"<{NAMESPACE}{kind}>"))

    def _condition(self, names: list[str], depth: int) -> str:
        chance = self._source.random()
        if chance > 0.8:
            return self._twice(names)
        if depth == 0 or chance < 0.5:
            return self._comparison(names)
        word = " or " if chance > 0.7 else " and "
        parts = [self._condition(names, depth - 1) for _ in range(self._source.choice((2, 2, 3)))]
        return word.join(f"({part})" if word == " and " and " or " in part else part for part in parts)

    def _twice(self, names: list[str]) -> str:
        """Two conditions on what one path leads to, or with ``?`` on any two of it."""
        source = self._source
        start = source.choice(names) + (self._step(source.choice(REFERENCES)) if source.random() < 0.6 else "")
        if source.random() < 0.5:
            path = start + self._step("d", 0.6)
            return f"{path} = 'a' and {path} {source.choice(('=', 'contains', '!='))} 'b'"
        path = start + self._step(source.choice(REFERENCES), 0.6)
        return f"{path} {source.choice(('=', '!='))} :i{source.randrange(5)} and {path}{self._step('d')} contains 'a'"

    def _path(self, names: list[str], last: str = "", most: int = 2) -> str:
        path = self._source.choice(names)
        for _ in range(self._source.randrange(most + 1) if last else self._source.randrange(1, most + 1)):
            path += self._step(self._source.choice(REFERENCES))
        return path + self._step(last) if last else path

    def _step(self, name: str, chance: float = 0.15) -> str:
        any_of = name in self._set_valued or self._source.random() < chance
        return "." + self._source.choice((name, f":{name}", f"<{NAMESPACE}{name}>")) + "?" * any_of

    def _comparison(self, names: list[str]) -> str:
        source = self._source
        match source.randrange(8):
            case 0:
                other = source.choice(names) if source.random() < 0.5 else self._path(names)
                return f"{self._path(names)} {source.choice(('=', '=', '!='))} {other}"
            case 1:
                return (
                    f"{source.choice([*names, self._path(names)])} {source.choice(('=', '!='))} :i{source.randrange(5)}"
                )
            case 2:
                return f"{self._path(names, 'd')} contains {source.choice(('', 'a', 'b', 'ab'))!r}"
            case 3:
                text = source.choice(('"a"', "'ab'", '"b"'))
                return f"{self._path(names, source.choice(('d', 'l')))} {source.choice(_OPERATORS)} {text}"
            case 4:
                word = source.choice(("true", "false"))
                return f"{self._path(names, 'b')} {source.choice(('=', '!='))} {word}"
            case 5:
                day = f"'2020-01-0{source.randrange(1, 5)}'"
                return f"{self._path(names, 'f')} {source.choice(_OPERATORS)} {day}"
        number = source.choice((str(source.randrange(-1, 4)), "1.5", "2.0"))
        left, operator = self._path(names, source.choice("nm")), source.choice(_OPERATORS)
        if source.random() < 0.2:
            return f"{left} {operator} {self._path(names, source.choice('nm'))}"
        return f"{left} {operator} {number}" if source.random() < 0.8 else f"{number} {operator} {left}"


def random_value(source: random.Random, name: str) -> Term:
    if source.random() < 0.1:
        name = source.choice(DATA)
    match name:
        case "n" | "m":
            text = source.choice((str(source.randrange(-1, 4)), "1.5", "02", "x"))
            return literal(text, source.choice((XSD + "integer", XSD + "double", XSD + "decimal", XSD + "string")))
        case "f":
            return literal(f"2020-01-0{source.randrange(1, 5)}", XSD + source.choice(("date", "string")))
        case "b":
            return literal(source.choice(("true", "false", "1")), XSD + source.choice(("boolean", "string")))
        case "l":
            return literal(source.choice(("a", "b", "ab")), language=source.choice(("en", "de", "")))
    return literal(source.choice(("a", "b", "a", "b", "ab", "", "cab")))


def random_document(source: random.Random) -> str:
    triples = set()
    for _ in range(source.randrange(4, 24)):
        subject = named(f"i{source.randrange(5)}") if source.random() < 0.93 else ("blank", f"b{source.randrange(2)}")
        chance = source.random()
        if chance < 0.3:
            triples.add((subject, TYPE, named(source.choice(CLASSES))))
        elif chance < 0.6:
            triples.add((subject, named(source.choice(REFERENCES)), named(f"i{source.randrange(5)}")))
        else:
            name = source.choice((*DATA, "d", "d"))
            triples.add((subject, named(name), random_value(source, name)))
    return "".join(" ".join(map(write, triple)) + " .\n" for triple in sorted(triples))


class History:
    """One engine, its rules and what they have told, beside the current documents."""

    def __init__(self, seed: int, number: int, scarce: bool = False) -> None:
        self.source = random.Random(f"rules {seed} {number}")
        self.where = f"history {number} of {seed}"
        self.seen: Counter[str] = Counter()
        self.documents: dict[str, frozenset[Triple]] = {}
        self.schema = Schema(random_schema(self.source) if self.source.random() < 0.7 else ())
        self.rules: dict[str, Rule] = {}
        self.texts: dict[str, str] = {}
        self.told: dict[str, set[Term]] = {}
        self.scarce = scarce
        self.owed: dict[str, tuple[set[Term], frozenset[Triple]]] = {}
        """What was in the answers of rules, and the documents, when they were last decided."""

    def run(self) -> Counter[str]:
        with Engine() as engine, few_steps() as limit:
            if self.schema.triples:
                lines = "".join(" ".join(map(write, triple)) + " .\n" for triple in sorted(self.schema.triples))
                engine.load_schema(lines, "application/n-triples")
            for at in range(EVENTS):
                if at in (0, EVENTS // 2):
                    self._subscribe(engine)
                limit(self.source.choice((0, 5, 30)) if self.scarce and self.source.random() < 0.4 else ENOUGH)
                self._event(engine, at)
                limit(ENOUGH)
        return self.seen

    def _subscribe(self, engine: Engine) -> None:
        for number in range(RULES // 2):
            id = f"rule{len(self.texts)}_{number}"
            text = Writer(self.source, self.schema.triples, [*self.rules]).rule()
            try:
                subscribed = engine.subscribe(text, id=id, language="rule")
            except (QuerySyntaxError, QueryRefused):
                self.seen["refused"] += 1
                continue
            engine.subscribe(text, id=f"{id} alone", language="rule", scope="publication", notify="every")
            self.rules[id], self.texts[id] = read(text, self.rules), text
            self.told[id] = set()
            for match in subscribed.matches:
                self._take(match)
        self._compare("subscribed", {})

    def _event(self, engine: Engine, at: int) -> None:
        before = {id: self._answer(id) for id in self.told}
        graph = f"{NAMESPACE}doc{self.source.randrange(GRAPHS)}"
        descriptions = self._graph()
        if self.source.random() < 0.25:
            receipt = engine.remove(graph)
            self.documents.pop(graph, None)
        else:
            text = random_document(self.source)
            receipt = engine.publish(text, "application/n-triples", graph)
            self.documents[graph] = frozenset(read_ntriples(text))
        changed: dict[str, set[Term]] = {}
        alone: dict[str, set[Term]] = {}
        for match in receipt.matches if receipt is not None else ():
            assert match.version, match
            id, _, is_alone = match.subscription.partition(" ")
            if is_alone:
                alone[id] = self._resources(match.bindings, id)
            if match.subscription in self.told:
                changed[match.subscription] = self._take(match)
        unsure = {pair.subscription for pair in receipt.undecided} if receipt is not None else set()
        for id in unsure & self.told.keys():
            assert id not in changed
            self.owed.setdefault(id, (before[id], descriptions))
            self.seen["undecided"] += 1
        if receipt is not None and not receipt.removals:
            self._compare_alone(graph, alone, unsure)
        after, expected = self._graph(), {}
        for id in self.told:
            resources, earlier = before[id], descriptions
            if id in self.owed and id in changed:
                resources, earlier = self.owed.pop(id)
                self.seen["made up"] += 1
            expected[id] = {
                each
                for each in resources & self._answer(id)
                if each[0] == "iri" and described(each, earlier, self.schema) != described(each, after, self.schema)
            }
        self._compare(f"event {at}", {id: (expected[id], changed.get(id, set())) for id in self.told})

    def _compare_alone(self, graph: str, found: Mapping[str, set[Term]], unsure: set[str]) -> None:
        """What rules of publication scope find in one document by itself."""
        for id, rule in self.rules.items():
            if f"{id} alone" in unsure:
                continue
            expected = answer(rule, self.documents[graph], self.schema, self.rules)
            assert _named(found.get(id, set())) == _named(expected), f"{self.where} alone: {self.texts[id]}"
            assert len(found.get(id, ())) == len(expected)
            self.seen.update({"pairs": 1, "alone": bool(expected)})

    def _take(self, match: object) -> set[Term]:
        id = match.subscription  # type: ignore[attr-defined]
        added, removed, changed = (
            self._resources(getattr(match, name), id) for name in ("added", "removed", "changed")
        )
        assert added or removed or changed
        assert not added & self.told[id], self.where
        assert removed <= self.told[id], self.where
        self.told[id] = (self.told[id] | added) - removed
        self.seen.update(added=len(added), removed=len(removed), changed=len(changed))
        return changed

    def _resources(self, rows: Iterable[Mapping[str, object]], id: str) -> set[Term]:
        found = [str(row[self.rules[id].registered]) for row in rows]
        terms = {("blank", text) if text[0] == "_" else iri(text[1:-1]) for text in found}
        assert len(terms) == len(found)
        return terms

    def _answer(self, id: str) -> set[Term]:
        return answer(self.rules[id], self._graph(), self.schema, self.rules)

    def _graph(self) -> frozenset[Triple]:
        """The merge of the documents: their blank nodes apart."""
        return frozenset(
            tuple((kind, f"{name} {rest[0]}") if kind == "blank" else (kind, *rest) for kind, *rest in triple)
            for name, triples in self.documents.items()
            for triple in triples
        )

    def _compare(self, at: str, changed: Mapping[str, tuple[set[Term], set[Term]]]) -> None:
        for id in self.told.keys() - self.owed.keys():
            expected, told = self._answer(id), self.told[id]
            message = f"{self.where}, {at}: {self.texts[id]}\n{sorted(told)}\n{sorted(expected)}"
            assert _named(told) == _named(expected), message
            assert len(told) == len(expected), message
            if id in changed:
                wanted, found = changed[id]
                assert wanted == _named(found), f"{self.where}, {at}: {self.texts[id]}\n{found}\n{wanted}"
            self.seen.update({"pairs": 1, "with resources": bool(expected), "read": 0})


def _named(resources: set[Term]) -> set[Term]:
    """Blank nodes are shown under labels of their own."""
    return {each for each in resources if each[0] == "iri"}


def test_rules_tell_what_their_reader_finds(seed: int) -> None:
    seen = sum((History(seed, number, number % 4 == 3).run() for number in range(8)), Counter[str]())
    assert seen["pairs"] > 1_000
    assert min(seen[name] for name in ("added", "removed", "changed", "alone", "with resources")) > 15, seen
    assert seen["undecided"] > 3 < seen["made up"], seen
    assert seen["refused"] < seen["pairs"] / 20, seen


if __name__ == "__main__":
    total: Counter[str] = Counter()
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        total += History(DEFAULT_SEED, number, number % 3 == 2).run()
    print(total)
