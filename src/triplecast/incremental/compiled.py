"""A standing query as it is filed: what its answer depends on, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from triplecast.compile.compiled import PLANS_LIMIT, CompiledSubscription, plan_of
from triplecast.compile.plan import Cost, Plan
from triplecast.compile.refusals import called_operators
from triplecast.errors import QueryRefused
from triplecast.evaluate.scope import certain_names
from triplecast.incremental.difference import Shape, shape_of
from triplecast.incremental.flat_paths import flatten_paths
from triplecast.incremental.neighbours import JoinGraph, constant_of, join_graph
from triplecast.incremental.stars import Star, find_stars
from triplecast.languages import Template
from triplecast.languages.rewriting import calls_in, nodes_within, replace_constants
from triplecast.model.algebra import Node, Query, Slot, TriplePattern, Variable
from triplecast.model.entailment import FUNCTION_MARKS, Entailment

_Value = TypeVar("_Value")
_HINT = 'use scope "publication", or leave it out'
WHOLE = "recomputed"
"""The cost of a query whose answer is evaluated as a whole where it may have changed."""


class StandingStar(NamedTuple):
    """A star of a standing query."""

    template: Template
    constants: tuple[str, ...]
    plan: Plan
    slots: tuple[int, ...]
    """The constants that it has."""
    seeds: tuple[tuple[str, str], ...]
    """The names in its rows, and those in the query."""
    subject: str | None
    """The name of the variable that it is about; None for a constant."""
    node: int
    """Its place in the join graph, if there is one."""
    predicates: frozenset[str | None]
    """Of its patterns; None for a variable."""

    @property
    def key(self) -> bytes:
        """Equal for stars that have the same rows."""
        texts = "\0".join((self.template.key, *(self.constants[slot] for slot in self.slots)))
        return blake2b(texts.encode("utf-8", "surrogatepass"), digest_size=20).digest()

    @property
    def compiled(self) -> CompiledSubscription:
        return CompiledSubscription(self.template, self.constants, Entailment.NONE, self.plan)


class StandingQuery(NamedTuple):
    """What is kept of a subscription of repository scope."""

    stars: tuple[StandingStar, ...]
    graph: JoinGraph | None
    """Of a query that the index decides in the neighbourhood of what changed; None for others."""
    group: tuple[str, tuple[str, ...]]
    """Queries of one group have the same graph."""
    recounted: bool
    """Of those, whether a row may come from elsewhere too."""
    every: bool
    """It is evaluated as a whole at each event that changes a triple."""
    documents: bool
    """It is evaluated as a whole at each event that changes a document."""
    kin: bool
    """It is evaluated as a whole at each change of the taxonomy: it calls functions of the taxonomy."""
    asks: bool
    """It calls operators: these conditions stay at their filters, so no join graph has it."""

    @property
    def is_single(self) -> bool:
        """Whether the index decides it in one subject alone."""
        return self.graph is not None and len(self.graph.subjects) == 1

    @property
    def predicates(self) -> frozenset[str | None]:
        return frozenset[str | None]().union(*(star.predicates for star in self.stars))

    @property
    def cost(self) -> str:
        """``recomputed``, or that of its commonest star (`compile.plan.Cost`)."""
        if self.every or self.documents or not (self.graph or all(each.seeds for each in self.stars)):
            return WHOLE
        costs = {each.compiled.plan.cost for each in self.stars}
        return max(costs, key=[*Cost].index).value if costs else Cost.NARROW.value


def compile_standing(compiled: CompiledSubscription) -> StandingQuery:
    """Raises `QueryRefused` for what a query over the documents together cannot have yet."""
    template, constants, entailment, _ = compiled
    found = _stars_of(_Key(template.key, _alike(constants), template))
    if found.reads_clock:
        raise QueryRefused("NOW()", "the answer would change without an event", _HINT)
    graph = found.graph if not found.kin and as_asked(compiled).plan.decided else None
    stars = tuple(_standing_star(each, constants, graph) for each in found.stars)
    every = found.every or not all(_is_plain(each.compiled.plan) for each in stars)
    every = every or (found.kin and entailment is Entailment.RDFS)  # what is derived may be stated too, or no more
    group = _shared((found.key, tuple(constants[each] for each in graph.predicates) if graph is not None else ()))
    graph = None if every else graph
    return StandingQuery(stars, graph, group, found.recounted, every, found.documents, found.kin, found.asks)


def as_asked(compiled: CompiledSubscription) -> CompiledSubscription:
    """A query as it is asked of a store that holds what is entailed."""
    if compiled.entailment is Entailment.NONE:
        return compiled
    template, constants = compiled.template, compiled.constants
    return CompiledSubscription(template, constants, Entailment.NONE, plan_of(template, constants))


def _alike(constants: tuple[str, ...]) -> tuple[int, ...]:
    first: dict[str, int] = {}
    return tuple([first.setdefault(each, place) for place, each in enumerate(constants)])


@dataclass(frozen=True, slots=True)
class _Key:
    key: str
    alike: tuple[int, ...]
    """By slot, the first one with the same constant."""
    template: Template = field(compare=False)


class _TemplateStar(NamedTuple):
    star: Star
    narrow: Template
    """With its conditions."""
    bare: Template
    slots: tuple[int, ...]
    """Those that it has."""
    predicates: frozenset[Node]


class _TemplateStars(NamedTuple):
    key: str
    stars: tuple[_TemplateStar, ...]
    every: bool
    documents: bool
    graph: JoinGraph | None
    recounted: bool
    kin: bool
    """Whether the query calls functions of the taxonomy."""
    asks: bool
    """Whether it calls operators."""
    reads_clock: bool


@lru_cache(maxsize=PLANS_LIMIT)
def _stars_of(wanted: _Key) -> _TemplateStars:
    template, key = wanted.template, f"{wanted.key}\n{wanted.alike}"
    query = replace_constants(
        template.query, lambda each: Slot(wanted.alike[each.index]) if isinstance(each, Slot) else each
    )
    query = replace(query, pattern=flatten_paths(query.pattern))
    shape = shape_of(query)
    stars, every, documents = find_stars(query if shape.sliced else replace(query, pattern=shape.body))
    certain = frozenset() if shape.sliced else certain_names(shape.body)
    found = []
    for number, star in enumerate(stars):
        narrow = Template(f"{key}\nstar {number}", star.query, template.kinds)
        bare = Template(f"{key}\nbare star {number}", star.bare, template.kinds)
        seeds = tuple(seed for seed in star.seeds if seed[1] in certain)
        predicates = frozenset(
            each.predicate for each in nodes_within(star.bare.pattern) if isinstance(each, TriplePattern)
        )
        found.append(_TemplateStar(star._replace(seeds=seeds), narrow, bare, _slots_in(star.query), predicates))
    asks = bool(called_operators(template))
    graph = None if shape.sliced or query.form == "ask" else join_graph(shape.body)
    functions = {call.function for call in calls_in(query.pattern)}
    recounted, kin = _is_recounted(query, shape, graph), not functions.isdisjoint(FUNCTION_MARKS)
    return _TemplateStars(key, tuple(found), every, documents, graph, recounted, kin, asks, "NOW" in functions)


def _standing_star(found: _TemplateStar, constants: tuple[str, ...], graph: JoinGraph | None) -> StandingStar:
    narrow = _is_plain(plan_of(found.narrow, constants))
    template = found.narrow if narrow else found.bare
    node = -1 if graph is None else graph.subjects.index(found.star.subject)
    predicates = _shared(frozenset(constant_of(each, constants) for each in found.predicates))
    plan = plan_of(template, constants)
    subject = found.star.subject.name if isinstance(found.star.subject, Variable) else None
    return StandingStar(template, constants, plan, found.slots, found.star.seeds, subject, node, predicates)


@lru_cache(maxsize=PLANS_LIMIT)
def _shared(value: _Value) -> _Value:
    """One object for all equal ones."""
    return value


def _is_recounted(query: Query, shape: Shape, graph: JoinGraph | None) -> bool:
    """Whether a distinct row may have a solution beyond the subjects that changed."""
    if graph is None or not shape.distinct:
        return False
    (subject, *others) = graph.subjects
    return bool(others) or not (isinstance(subject, Variable) and subject in query.variables)


def _slots_in(query: Query) -> tuple[int, ...]:
    found: dict[int, None] = {}

    def note(constant: object) -> object:
        if isinstance(constant, Slot):
            found[constant.index] = None
        return constant

    replace_constants(query, note)
    return tuple(sorted(found))


def _is_plain(plan: Plan) -> bool:
    """Whether one join of the index decides it, alone."""
    return plan.decided and plan.combination is None and not any(plan.residuals)
