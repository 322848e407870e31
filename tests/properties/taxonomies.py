"""Taxonomies of a world, and the queries that ask for what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from tests.reference import queries as q
from tests.reference.entailment import RDF, RDFS, Known
from tests.reference.expressions import TAXONOMY
from tests.reference.terms import Term, Triple, iri

if TYPE_CHECKING:
    from tests.properties.generate import World

TYPE, CLASS, PROPERTY = iri(RDF + "type"), iri(RDFS + "subClassOf"), iri(RDFS + "subPropertyOf")
MEMBER, BROADER = iri(RDFS + "member"), iri("http://www.w3.org/2004/02/skos/core#broader")
NUMBERED = tuple(iri(f"{RDF}_{number}") for number in (1, 2, 12))
FUNCTIONS = tuple(TAXONOMY + name for name in ("instance", "descendant", "ancestor"))
ENTAILMENTS = ("taxonomy", "rdfs")
TURNS_OF_A_ROUND = 3
NODE, OTHER = q.Var("s"), q.Var("o")


def random_taxonomy(random: Random, classes: list[Term], properties: list[Term], nodes: list[Term]) -> Known:
    """Classes and properties in order, each under later ones only; types of nodes and of classes."""
    broader, triples = random.random() < 0.7, {}
    for _ in range(random.choice((3, 6, 10))):
        low, high = sorted(random.sample(range(len(classes)), 2))
        triples[classes[low], BROADER if broader and random.random() < 0.5 else CLASS, classes[high]] = None
    names = [*properties, TYPE]
    for _ in range(random.choice((1, 3, 5))):
        low, high = sorted(random.sample(range(len(names)), 2))
        triples[names[low], PROPERTY, names[high]] = None
    for _ in range(random.choice((0, 1, 3))):
        triples[random.choice([*nodes, *classes[:2]]), TYPE, random.choice(classes)] = None
    if random.random() < 0.3:
        triples[random.choice((MEMBER, NUMBERED[0])), PROPERTY, names[-2]] = None
    if random.random() < 0.1:
        triples[names[-2], PROPERTY, CLASS] = None
    return Known(tuple(triples), broader)


def owed_to(number: int, world: World) -> list[tuple[q.Query, str | None]]:
    """The turns of round `number` of what the census has of taxonomies: queries, each with its entailment."""
    first = number * TURNS_OF_A_ROUND
    turns = (_TURNS[(first + step) % len(_TURNS)] for step in range(TURNS_OF_A_ROUND))
    return [turn(world) for turn in turns]


def kin_condition(variable: q.Var, world: World) -> q.Call:
    function = world.random.choice(FUNCTIONS)
    return q.Call(function, (variable, q.Constant(world.random.choice(world.classes))))


def class_path(world: World) -> q.Path:
    """From an instance up to a class, or from anything up by one of the three orders."""
    order = q.Repeat(q.Link(world.random.choice((CLASS, CLASS, PROPERTY, BROADER))), 0, True)
    first = world.random.choice((TYPE, TYPE, *world.predicates[:2]))
    return q.Chain(q.Link(first), order) if world.random.random() < 0.75 else order


def _kin(function: str, world: World) -> tuple[q.Query, str | None]:
    """The function, or its negation, of both ends of a predicate; it alone asks for the taxonomy."""
    random = world.random
    predicate = random.choice((TYPE, CLASS, *world.predicates))
    test: q.Expression = q.Call(function, (random.choice((NODE, OTHER)), q.Constant(random.choice(world.classes))))
    if random.random() < 0.2:
        test = q.Not(test)
    elif random.random() < 0.2:
        test = q.Logic(random.choice(("&&", "||")), (test, kin_condition(NODE, world)))
    pattern = q.Filter(test, q.Basic((q.Step(NODE, predicate, OTHER),)))
    return _query(pattern), random.choice((None, None, *ENTAILMENTS))


def _kin_of_classes(world: World) -> tuple[q.Query, str | None]:
    """A class counts as its own type."""
    function = world.random.choice(FUNCTIONS)
    test = q.Call(function, (world.random.choice((NODE, OTHER)), q.Constant(world.random.choice(world.classes))))
    order = world.random.choice((CLASS, BROADER))
    return _query(q.Filter(test, q.Basic((q.Step(NODE, order, OTHER),)))), None


def _kin_over_broader(world: World) -> tuple[q.Query, str | None]:
    """Of the two ends of a ``skos:broader`` that counts in one of the world's taxonomies."""
    counted = [
        triple for known in world.taxonomies if known.broader for triple in known.triples if triple[1] == BROADER
    ]
    if not counted:
        return _kin_of_classes(world)
    narrow, _, broad = world.random.choice(counted)
    name, end = world.random.choice((("descendant", broad), ("ancestor", narrow)))
    test = q.Call(TAXONOMY + name, (NODE, q.Constant(end)))
    return _query(q.Filter(test, q.Basic((q.Step(NODE, TYPE, OTHER),)))), None


def _types(entailment: str, world: World) -> tuple[q.Query, str | None]:
    random = world.random
    steps = [q.Step(NODE, TYPE, random.choice((*world.classes, OTHER)))]
    if random.random() < 0.5:
        steps.append(q.Step(NODE, random.choice(world.predicates), q.Var("v")))
    return _query(q.Basic(tuple(steps))), entailment


def _property(world: World) -> tuple[q.Query, str | None]:
    steps = [q.Step(NODE, world.random.choice(world.predicates[1:4]), OTHER)]
    if world.random.random() < 0.3:
        steps.append(q.Step(NODE, q.Var("p"), OTHER))
    return _query(q.Basic(tuple(steps))), "rdfs"


def _member(world: World) -> tuple[q.Query, str | None]:
    value = world.random.choice((OTHER, OTHER, *world.subjects[:3]))
    return _query(q.Basic((q.Step(NODE, MEMBER, value),))), "rdfs"


def _path(world: World) -> tuple[q.Query, str | None]:
    end = world.random.choice((*world.classes, *world.classes, OTHER, world.subjects[0], world.predicates[-2]))
    steps = [q.Step(NODE, class_path(world), end)]
    if world.random.random() < 0.4:
        steps.append(q.Step(NODE, world.random.choice((TYPE, *world.predicates)), q.Var("v")))
    return _query(q.Basic(tuple(steps))), world.random.choice(ENTAILMENTS)


def _schema(world: World) -> tuple[q.Query, str | None]:
    """The taxonomy's own triples, which stand in the graph as far as its terms reach."""
    ends = (q.Var("c"), world.random.choice((q.Var("d"), *world.classes)))
    steps = (q.Step(ends[0], world.random.choice((CLASS, CLASS, PROPERTY)), ends[1]),)
    return _query(q.Basic(steps)), world.random.choice(ENTAILMENTS)


def _query(pattern: q.Pattern) -> q.Query:
    return q.Query("select", q.Select(pattern))


_TURNS: tuple[Callable[[World], tuple[q.Query, str | None]], ...] = (
    *(partial(_kin, function) for function in FUNCTIONS),
    *(partial(_types, entailment) for entailment in ENTAILMENTS),
    *(_path, _member, _property, _schema, _kin_of_classes, _member, _property, _kin_over_broader),
)


def schema_triple(world: World) -> Triple:
    """Of a publication that brings rules of its own."""
    random = world.random
    if random.random() < 0.6:
        return random.choice(world.classes), random.choice((CLASS, CLASS, BROADER)), random.choice(world.classes)
    return random.choice(world.predicates[:4]), PROPERTY, random.choice((*world.predicates, CLASS))
