"""Random rules of the paper's kinds, and documents that come, change and go: some of their references dangle, some
properties have several values, and documents share resources and statements."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from experiments.mdv.decompose import Atomic, decompose
from experiments.mdv.rules import CLASS, OPERATORS, Atom, Event, Path, Predicate, Rule, Search, Step

CLASSES = ("Provider", "Server", "Network")
SCHEMA = {"info": "Server", "peer": "Provider", "net": "Network"}
REFERENCES = {"Provider": ("info", "peer"), "Server": ("net",), "Network": ()}
NUMBERS = {"Provider": ("port",), "Server": ("memory", "cpu"), "Network": ("memory",)}
TEXTS = {"Provider": ("host",), "Server": (), "Network": ("host",)}
WORDS = ("a.uni-passau.de", "b.uni-passau.de", "tum.de", "de")
RESOURCES = {name: tuple(f"{name.lower()}{number}" for number in range(4)) for name in CLASSES}
DOCUMENTS = tuple(f"document{number}" for number in range(6))


class History(NamedTuple):
    rules: Sequence[Rule]
    batches: Sequence[Sequence[Event]]


def make_history(seed: int, number: int, rules: int, events: int, most: int) -> History:
    """`most`: events of a batch; a deletion is a batch of its own."""
    source = random.Random(f"{seed} {number}")
    made = draw_rules(source, rules)
    batches: list[list[Event]] = []
    current: dict[str, frozenset[Atom]] = {}
    open_batch = False
    for _ in range(events):
        document = source.choice(DOCUMENTS)
        if document in current and source.random() < 0.25:
            del current[document]
            batches.append([Event(document, frozenset())])
            open_batch = False
            continue
        old = current.get(document)
        current[document] = _edit(source, old) if old and source.random() < 0.7 else _draw_atoms(source)
        event = Event(document, current[document])
        if open_batch and len(batches[-1]) < most:
            batches[-1].append(event)
        else:
            batches.append([event])
        open_batch = source.random() < 0.7
    return History(made, batches)


def _draw_atoms(source: random.Random) -> frozenset[Atom]:
    atoms: set[Atom] = set()
    for _ in range(source.randint(1, 4)):
        atoms |= _draw_resource(source)
    return frozenset(atoms)


def _draw_resource(source: random.Random) -> set[Atom]:
    kind = source.choice(CLASSES)
    resource = source.choice(RESOURCES[kind])
    atoms = {Atom(resource, CLASS, kind)} if source.random() < 0.95 else set()
    if source.random() < 0.05:
        atoms.add(Atom(resource, CLASS, source.choice(CLASSES)))
    for property in REFERENCES[kind]:
        for _ in range(source.choice((0, 1, 1, 1, 2))):
            atoms.add(Atom(resource, property, source.choice(RESOURCES[SCHEMA[property]])))
    for property in NUMBERS[kind]:
        for _ in range(source.choice((0, 1, 1, 1, 1, 2))):
            atoms.add(Atom(resource, property, str(source.randint(-1, 12))))
    atoms.update(Atom(resource, property, source.choice(WORDS)) for property in TEXTS[kind])
    return atoms


def _edit(source: random.Random, atoms: frozenset[Atom]) -> frozenset[Atom]:
    """A few atoms go, a resource comes or gets more; at least one stays."""
    kept = {atom for atom in sorted(atoms) if source.random() < 0.75} or {min(atoms)}
    return frozenset(kept | (_draw_resource(source) if source.random() < 0.6 else set()))


def draw_rules(source: random.Random, count: int) -> list[Rule]:
    made: list[Rule] = []
    ends: dict[str, Atomic] = {}
    while len(made) < count:
        rule = _draw_rule(source, f"rule{len(made)}", made)
        try:
            ends[rule.name] = decompose(rule, SCHEMA, ends)
        except ValueError:  # its joins are no tree
            continue
        made.append(rule)
    return made


def _draw_rule(source: random.Random, name: str, others: Sequence[Rule]) -> Rule:
    searched = source.choice(others) if others and source.random() < 0.2 else None
    kind = class_of(searched, others) if searched else source.choice(CLASSES)
    search = [Search("c", searched.name if searched else kind)]
    where = [_draw_predicate(source, "c", kind) for _ in range(source.choice((0, 1, 1, 2, 3)))]
    if source.random() < 0.25:
        other = source.choice(CLASSES)
        search.append(Search("d", other))
        where.append(_draw_join(source, kind, other))
        where += [_draw_predicate(source, "d", other) for _ in range(source.choice((0, 1)))]
    return Rule(name, tuple(search), "c", tuple(where))


def class_of(rule: Rule, others: Sequence[Rule]) -> str:
    extension = rule.search[0].extension
    found = [each for each in others if each.name == extension]
    return class_of(found[0], others) if found else extension


def _draw_predicate(source: random.Random, variable: str, kind: str) -> Predicate:
    steps: list[Step] = []
    while REFERENCES[kind] and len(steps) < 3 and source.random() < 0.6:
        step = Step(source.choice(REFERENCES[kind]), source.random() < 0.4)
        steps.append(step)
        kind = SCHEMA[step.property]
    draw = source.random()
    if draw < 0.15 or not (NUMBERS[kind] or TEXTS[kind]):
        return Predicate(Path(variable, tuple(steps)), source.choice(("=", "=", "!=")), source.choice(RESOURCES[kind]))
    property = source.choice((*NUMBERS[kind], *TEXTS[kind]))
    path = Path(variable, (*steps, Step(property, source.random() < 0.3)))
    if property in TEXTS[kind]:
        operator = source.choice(("=", "!=", "contains", "contains"))
        return Predicate(path, operator, source.choice(("uni-passau", "tum.de", "de", "b.")))
    return Predicate(
        path, source.choice([each for each in OPERATORS if each != "contains"]), str(source.randint(-1, 12))
    )


def _draw_join(source: random.Random, kind: str, other: str) -> Predicate:
    """Between ``c`` and ``d``: by a reference, by a value, or both are one."""
    choices = [
        Predicate(Path("c", (Step(property),)), "=", Path("d"))
        for property in REFERENCES[kind]
        if SCHEMA[property] == other
    ]
    choices += [
        Predicate(Path("c"), "=", Path("d", (Step(property),)))
        for property in REFERENCES[other]
        if SCHEMA[property] == kind
    ]
    choices += [
        Predicate(Path("c", (Step(first),)), "=", Path("d", (Step(second),)))
        for kinds in (NUMBERS, TEXTS)
        for first in kinds[kind]
        for second in kinds[other]
    ]
    choices.append(Predicate(Path("c"), "=", Path("d")))
    return source.choice(choices)
