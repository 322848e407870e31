"""Publications and subscriptions from a seed, made so that they meet.

A *world* has few subjects, few predicates and the literals of two or three clusters; a subscription is drawn from one
publication of the world (`drafts.py`), compares one value, is owed to the census (`owed.py`) or is the sibling of
another one. It is then asked of every publication of the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from random import Random

from tests.properties.constructs import parts
from tests.properties.drafts import OPERATORS, Draft, neighbour
from tests.properties.literals import CLUSTERS, RELATIVES, Member, ordinary_cluster
from tests.properties.owed import owed_to
from tests.properties.render import render
from tests.properties.selections import text_cluster, text_condition, text_turn, words_in
from tests.properties.taxonomies import ENTAILMENTS, NUMBERED, kin_condition, random_taxonomy, schema_triple
from tests.properties.taxonomies import owed_to as owed_of_taxonomies
from tests.reference import queries as q
from tests.reference.entailment import Known
from tests.reference.expressions import TAXONOMY, holds
from tests.reference.solve import Dataset, NotDetermined, answer
from tests.reference.terms import RDF, Term, Triple, blank, iri, write_quads

EXAMPLE = "http://example.org/"
UNTAUGHT = Known()
LISTINGS = 4
"""Least number of publications of a round that compares."""


@dataclass(frozen=True, slots=True)
class Published:
    graph: Term
    triples: tuple[Triple, ...]
    """Of the default graph."""
    named: tuple[tuple[Term, tuple[Triple, ...]], ...] | None = None
    """The named graphs of a dataset; None: publication scope, the default graph under the name `graph`."""
    known: Known = UNTAUGHT
    """The taxonomy that holds when it is published."""

    @property
    def all_triples(self) -> tuple[Triple, ...]:
        return self.triples + tuple(triple for _, triples in self.named or () for triple in triples)

    @property
    def quads(self) -> bytes:
        """As the journal keeps it."""
        return write_quads(((None, self.triples), *(self.named or ())))

    def entailed(self, entailment: str | None) -> Published:
        """What a subscription with that entailment is asked of."""
        if entailment is None:
            return self
        dataset = dataset_of(self, entailment)
        named = None if self.named is None else tuple(dataset.named.items())
        return replace(self, triples=dataset.default, named=named)


@dataclass(frozen=True, slots=True)
class Asked:
    query: q.Query
    style: int | None
    """The seed of its spelling."""
    stated: str | None = None
    """The entailment that its first line asks for."""

    @property
    def text(self) -> str:
        first = "" if self.stated is None else f"# triplecast: entailment={self.stated}\n"
        return first + render(self.query, self.style)

    @property
    def entailment(self) -> str | None:
        """Functions of the taxonomy ask for it by themselves (semantics 6.1)."""
        if self.stated is None and any(is_kin_call(part) for part in parts(self.query)):
            return ENTAILMENTS[0]
        return self.stated


def is_kin_call(part: object) -> bool:
    return isinstance(part, q.Call) and part.function.startswith(TAXONOMY)


@dataclass(frozen=True, slots=True)
class Round:
    number: int
    publications: tuple[Published, ...]
    subscriptions: tuple[Asked, ...]


def make_round(seed: int, number: int, publications: int, subscriptions: int) -> Round:
    """Round `number` of the run with `seed`; rounds do not depend on each other.

    Every fourth round holds a whole cluster in few publications and compares its terms with each other. In the others
    each construct that drafts seldom have gets its turn.
    """
    random = Random(f"{seed}/{number}")
    world = World(random, number)
    if number % 4 == 1:
        world.hold(CLUSTERS[number // 4 % len(CLUSTERS)])
        listed = tuple(world.listing(index) for index in range(max(LISTINGS, publications // 4)))
        each = [world.asked(world.recognising(value)) for value in world.values]
        left = publications * subscriptions // len(listed) - len(each)
        return Round(number, listed, (*each, *(world.probe() for _ in range(left))))
    published = tuple(world.publication(index) for index in range(publications))
    asked = [world.asked(query) for query in owed_to(number, world)]
    if world.full_text:
        asked += [world.text_probe() for _ in range(6)]
    if world.classes:
        published = world.taught(published)
        asked += [world.asked(query, entailment) for query, entailment in owed_of_taxonomies(number, world)]
    while len(asked) < subscriptions:
        alike = asked and random.random() < 0.35
        asked.append(sibling(random.choice(asked), random) if alike else world.subscription(published))
    return Round(number, published, tuple(asked))


class World:
    """The terms that one round shares."""

    def __init__(self, random: Random, number: int) -> None:
        self.random = random
        self.subjects = [iri(f"{EXAMPLE}s{n}") for n in range(3)] + [blank(f"c14n{n}") for n in range(2)]
        self.predicates = [iri(f"{EXAMPLE}p{n}") for n in range(4)] + [iri(RDF + "type")]
        clusters = [
            CLUSTERS[number % len(CLUSTERS)],
            ordinary_cluster(random),
            *random.sample(CLUSTERS, random.choice((0, 1, 1, 2))),
        ]
        if random.random() < 0.6:
            clusters.pop(1)
        self.full_text = number % 3 == 1
        """Whether texts are asked for their words."""
        if self.full_text:
            clusters.append(text_cluster(random))
        drawn = [random.sample(cluster, min(len(cluster), random.randrange(3, 7))) for cluster in clusters]
        self.values = list(dict.fromkeys(member.term for members in drawn for member in members))
        self.texts = [member.term for member in drawn[-1]] if self.full_text else []
        self.graphs = [iri(f"{EXAMPLE}g{n}") for n in range(2)]
        self.datasets = number % 5 == 4
        self.classes = [iri(f"{EXAMPLE}C{n}") for n in range(5)] if number % 3 == 2 else []
        """Of its taxonomies; none where it has no taxonomy."""
        self.taxonomies: tuple[Known, ...] = ()
        """The one of the first half of its publications, and that of the second (`taught`)."""
        self.archetypes = [self._archetype() for _ in range(random.choice((1, 2, 2)))]
        self._turn = 0

    def taught(self, published: tuple[Published, ...]) -> tuple[Published, ...]:
        """The publications with the taxonomy that holds for each: another one for the second half."""
        first, second = self.taxonomies = tuple(
            random_taxonomy(self.random, self.classes, self.predicates[:4], self.subjects[:3]) for _ in range(2)
        )
        half = len(published) // 2
        return tuple(replace(each, known=first if at < half else second) for at, each in enumerate(published))

    def hold(self, cluster: Sequence[Member]) -> None:
        """Makes the cluster this world's values, under one predicate."""
        self.values, self.predicates = [member.term for member in cluster], self.predicates[:1]
        self.full_text = True

    def listing(self, index: int) -> Published:
        """A publication of most of this world's values."""
        values = [value for value in self.values if self.random.random() < 0.7] or self.values[:1]
        triples = tuple((self.random.choice(self.subjects), self.predicates[0], value) for value in values)
        return Published(iri(f"{EXAMPLE}graph{index}"), triples)

    def probe(self) -> Asked:
        """``?s p ?o`` under one or two comparisons of ?o with values of this world."""
        random, value = self.random, q.Var("o")
        pattern: q.Pattern = q.Basic((q.Step(q.Var("s"), self._predicate(), value),))
        for _ in range(random.choice((1, 1, 1, 2))):
            pattern = q.Filter(self.probing(value), pattern)
        variables = random.choice((None, (value,), (q.Var("s"),)))
        return self.asked(q.Query("select", q.Select(pattern, variables, distinct=random.random() < 0.2)))

    def text_probe(self) -> Asked:
        """``?s ?p ?o`` or ``?s p ?o`` under a condition of the words of one of this world's texts."""
        predicate = self.random.choice((q.Var("p"), self._predicate()))
        pattern = q.Basic((q.Step(q.Var("s"), predicate, q.Var("o")),))
        return self.asked(
            q.Query("select", q.Select(q.Filter(text_turn(self.random.choice(self.texts), self.random), pattern)))
        )

    def asked(self, query: q.Query, entailment: str | None = None) -> Asked:
        return Asked(query, self.random.randrange(2**32), entailment)

    def recognising(self, term: Term) -> q.Query:
        """``?s p ?o`` where ?o is `term`, or equal to it."""
        value = q.Var("o")
        test = q.Compare("=", value, q.Constant(term))
        if not holds(test, {value.name: term}, None):
            test = q.Call("SAMETERM", (value, q.Constant(term)))
        return q.Query("select", q.Select(q.Filter(test, q.Basic((q.Step(q.Var("s"), self._predicate(), value),)))))

    def probing(self, value: q.Var, depth: int = 2) -> q.Expression:
        """A comparison with a value of this world, or a few of them under ``!``, ``&&`` and ``||``."""
        random, draw = self.random, self.random.random()
        if depth and draw < 0.1:
            return q.Not(self.probing(value, depth - 1))
        if depth and draw < 0.35:
            return q.Logic(
                random.choice(("&&", "||")), (self.probing(value, depth - 1), self.probing(value, depth - 1))
            )
        if self.classes and random.random() < 0.3:
            return kin_condition(random.choice((value, q.Var("s"))), self)
        self._turn += 1
        term = self.values[self._turn % len(self.values)]
        if self.full_text and len(words_in(term)) > 1 and random.random() < 0.7:
            return text_condition(value, term, random)
        constant = random.choice((term, random.choice(RELATIVES.get(term, (term,)))))
        return q.Compare(random.choice((*OPERATORS, "!=")), value, q.Constant(constant))

    @classmethod
    def of_publications(cls, random: Random, published: Sequence[Published]) -> World:
        """A world whose names and values are those of publications from elsewhere."""
        world = cls(random, 0)
        triples = [triple for each in published for triple in each.triples]
        world.subjects = sorted({subject for subject, _, _ in random.sample(triples, min(len(triples), 40))})
        world.predicates = sorted({predicate for _, predicate, _ in triples})
        literals = {value for _, _, value in triples if value[0] == "literal"}
        world.values = random.sample(sorted(literals), min(len(literals), 60))
        return world

    def _archetype(self) -> tuple[Triple, ...]:
        """What the publications are variations of."""
        random = self.random
        subjects = random.sample(self.subjects, random.choice((1, 2, 2, 3)))
        drawn = [self._triple(subjects) for _ in range(random.choice((2, 4, 6, 8, 10, 30)))]
        return tuple(dict.fromkeys(drawn))

    def publication(self, index: int) -> Published:
        """An archetype with some triples dropped, some objects exchanged, some triples more."""
        random, triples = self.random, []
        for subject, predicate, value in random.choice(self.archetypes):
            draw = random.random()
            if draw < 0.72:
                triples.append((subject, predicate, value))
            elif draw < 0.9:
                triples.append((subject, predicate, self._object(self.subjects)))
        while random.random() < 0.4 or not triples:
            triples.append(self._triple(self.subjects))
        random.shuffle(triples)
        triples, graph = list(dict.fromkeys(triples)), iri(f"{EXAMPLE}graph{index}")
        if not self.datasets or random.random() < 0.2:
            return Published(graph, tuple(triples))
        placed = [random.choice((0, 0, 1, 1, 2)) for _ in triples]
        default, *named = (tuple(t for t, at in zip(triples, placed, strict=True) if at == n) for n in range(3))
        shared = default[:1] if random.random() < 0.3 else ()
        named = [tuple(dict.fromkeys((*part, *shared))) for part in named]
        return Published(
            graph, default, tuple((name, part) for name, part in zip(self.graphs, named, strict=True) if part)
        )

    def _triple(self, subjects: list[Term]) -> Triple:
        if self.classes and self.random.random() < 0.35:
            return self._of_taxonomies(subjects)
        return self.random.choice(subjects), self._predicate(), self._object(subjects)

    def _of_taxonomies(self, subjects: list[Term]) -> Triple:
        """A type mostly; a member of a container, or a rule of the publication's own."""
        subject, draw = self.random.choice(subjects), self.random.random()
        if draw < 0.65:
            return subject, iri(RDF + "type"), self.random.choice(self.classes)
        if draw < 0.9:
            return subject, self.random.choice(NUMBERED), self._object(subjects)
        return schema_triple(self)

    def _predicate(self) -> Term:
        return self.random.choice(self.predicates)

    def _object(self, subjects: list[Term]) -> Term:
        draw = self.random.random()
        if draw < 0.45 and self.texts:
            return self.random.choice(self.texts)
        if draw < 0.62:
            return self.random.choice(self.values)
        if draw < 0.92:
            return self.random.choice(subjects)
        return self.random.choice(self.predicates)

    def subscription(self, published: tuple[Published, ...]) -> Asked:
        """Mostly a query that some publication answers: drafts without an answer from their witness are drawn again.

        A quarter are probes, which nobody has checked: one value of the world is compared with what a predicate has.
        """
        if self.random.random() < 0.25:
            return self.probe()
        entailment = self.random.choice((None, *ENTAILMENTS, *ENTAILMENTS)) if self.classes else None
        for _ in range(12):
            witness = self.random.choice(published)
            asked = self.asked(Draft(self, witness.entailed(entailment)).query(), entailment)
            if self.random.random() < 0.06 or _answered(asked, witness):
                break
        return asked


def sibling(asked: Asked, random: Random) -> Asked:
    """The same question with other names and, mostly, other constants in its conditions: subscriptions that share a
    structure and hang off it at neighbouring places."""
    names = [part for part in dict.fromkeys(parts(asked.query)) if isinstance(part, q.Var) and not part.hidden]
    fresh = [q.Var(f"{random.choice('abcdeklmqz')}{number}") for number in range(len(names))]
    renamed = dict(zip(names, random.sample(fresh, len(fresh)), strict=True))
    probability = random.choice((0.0, 0.5, 0.9))

    def changed(node: object) -> object:
        if isinstance(node, q.Var):
            return renamed.get(node, node)
        if isinstance(node, q.Constant):
            near = RELATIVES.get(node.term)
            if random.random() < probability:
                return q.Constant(
                    random.choice(near) if near and random.random() < 0.6 else neighbour(node.term, random)
                )
            return node
        if is_dataclass(node):
            return replace(node, **{field.name: changed(getattr(node, field.name)) for field in fields(node)})
        return tuple(changed(part) for part in node) if isinstance(node, tuple) else node

    return Asked(changed(asked.query), random.randrange(2**32), asked.stated)


def dataset_of(published: Published, entailment: str | None = None) -> Dataset:
    if published.named is None:
        dataset = Dataset.of_publication(published.graph, published.triples)
    else:
        dataset = Dataset(published.triples, dict(published.named))
    return dataset if entailment is None else dataset.entailed(published.known, entailment == ENTAILMENTS[1])


def _answered(asked: Asked, witness: Published) -> bool:
    try:
        return bool(answer(asked.query, dataset_of(witness, asked.entailment)))
    except NotDetermined:
        return False
