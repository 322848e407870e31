"""A standing query as the index of stars takes it: what it depends on, and what it costs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from triplecast.compile.compiled import PLANS_LIMIT, CompiledSubscription, plan_of
from triplecast.compile.plan import Cost, Plan
from triplecast.compile.refusals import called_operators
from triplecast.errors import QueryRefused
from triplecast.evaluate.scope import certain_names
from triplecast.incremental.difference import Shape, shape_of
from triplecast.incremental.stars import Star, find_stars, is_one_star
from triplecast.languages import Template
from triplecast.languages.rewriting import calls_in
from triplecast.model.algebra import BasicPattern, Filter, Variable
from triplecast.model.entailment import Entailment

_HINT = 'use scope "publication", or leave it out'
WHOLE = "recomputed"
"""The cost of a query whose answer is evaluated as a whole where it may have changed."""


class StandingQuery(NamedTuple):
    """What is kept of a subscription of repository scope."""

    stars: tuple[CompiledSubscription, ...]
    seeds: tuple[tuple[tuple[str, str], ...], ...]
    """Of each star: the names in its rows, and those in the query."""
    local: bool
    """The query is one star: its rows in changed subjects are all that changes of its answer."""
    every: bool
    """It is evaluated as a whole at each event that changes a triple."""
    documents: bool
    """It is evaluated as a whole at each event that changes a document."""

    @property
    def cost(self) -> str:
        """``recomputed``, or that of its commonest star (`compile.plan.Cost`)."""
        if self.every or self.documents or not all(self.seeds):
            return WHOLE
        costs = {each.plan.cost for each in self.stars}
        return max(costs, key=[*Cost].index).value if costs else Cost.NARROW.value


class _TemplateStars(NamedTuple):
    stars: tuple[Star, ...]
    templates: tuple[tuple[Template, Template], ...]
    """Of each star, with its conditions and without."""
    every: bool
    documents: bool
    local: bool


def compile_standing(compiled: CompiledSubscription) -> StandingQuery:
    """Raises `QueryRefused` for what a query over the documents together cannot have yet."""
    template, constants, entailment, plan = compiled
    _refuse(template, entailment)
    found = _stars_of(_Key(template.key, template))
    if found.local and _is_plain(plan):
        return StandingQuery((compiled,), ((("", ""),),), True, False, False)
    stars = []
    for narrow, bare in found.templates:
        star = narrow if _is_plain(plan_of(narrow, constants)) else bare
        stars.append(CompiledSubscription(star, constants, Entailment.NONE, plan_of(star, constants)))
    every = found.every or not all(_is_plain(each.plan) for each in stars)
    return StandingQuery(tuple(stars), tuple(each.seeds for each in found.stars), False, every, found.documents)


def _refuse(template: Template, entailment: Entailment) -> None:
    if entailment is not Entailment.NONE:
        raise QueryRefused("a taxonomy", "it is not read in repository scope yet", _HINT)
    if called_operators(template):
        raise QueryRefused("an operator", "operators are not asked in repository scope yet", _HINT)
    if any(call.function == "NOW" for call in calls_in(template.query.pattern)):
        raise QueryRefused("NOW()", "the answer would change without an event", _HINT)


class _Key(NamedTuple):
    key: str
    template: Template


@lru_cache(maxsize=PLANS_LIMIT)
def _stars_of(wanted: _Key) -> _TemplateStars:
    template = wanted.template
    shape = shape_of(template.query)
    stars, every, documents = find_stars(template.query)
    certain = certain_names(shape.body)
    stars = tuple(
        each._replace(seeds=() if shape.sliced else tuple(seed for seed in each.seeds if seed[1] in certain))
        for each in stars
    )
    templates = tuple(
        (
            Template(f"{template.key}\nstar {number}", each.query, template.kinds),
            Template(f"{template.key}\nbare star {number}", each.bare, template.kinds),
        )
        for number, each in enumerate(stars)
    )
    return _TemplateStars(stars, templates, every, documents, _is_local(template, shape))


def _is_local(template: Template, shape: Shape) -> bool:
    query, body = template.query, shape.body
    if query.form == "ask" or not is_one_star(body):
        return False
    while isinstance(body, Filter):
        body = body.pattern
    assert isinstance(body, BasicPattern)
    subject = body.triples[0].subject
    return not shape.distinct or (isinstance(subject, Variable) and subject in query.variables)


def _is_plain(plan: Plan) -> bool:
    """Whether one join of the index decides it, alone."""
    return plan.decided and plan.combination is None and not any(plan.residuals)
