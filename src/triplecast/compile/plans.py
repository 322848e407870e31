"""A cache of plans: subscriptions of one template share them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from triplecast.compile.constants import Constant, constant_text, place_of
from triplecast.compile.graph_names import needed_graphs
from triplecast.compile.necessary import aggregate_within
from triplecast.compile.passes import compile_query
from triplecast.compile.plan import Plan
from triplecast.compile.texts import shape_of
from triplecast.evaluate import result_on_empty
from triplecast.languages import Template, fill

PLANS_LIMIT = 20_000
"""Plans that a process caches."""


def plan_of(template: Template, constants: tuple[str, ...], entailed: bool = False) -> Plan:
    """The plan of the subscription that fills `template` with `constants`; with `entailed`, for publications read with
    a taxonomy. Raises `QueryRefused`."""
    first = _first_plan(template, constants, entailed)
    if first.aggregate:
        return _aggregate_plan(_PlanKey(template.key, constants, entailed, template, constants))
    kinds = kinds_of(first.plan, constants)
    if kinds == first.kinds:
        return first.plan
    return _plan_of_kinds(_PlanKey(template.key, kinds, entailed, template, constants))


def graphs_of(template: Template, constants: tuple[str, ...], entailed: bool = False) -> tuple[str, ...]:
    """The constant graph names that every solution needs, sorted: of several, only a dataset holds all."""
    graphs = _first_plan(template, constants, entailed).graphs
    return tuple(sorted({constant_text(name, constants) for name in graphs})) if graphs else ()


def matches_nothing(template: Template, constants: tuple[str, ...]) -> bool:
    """Whether the query has no result on the empty graph (semantics 1.2)."""
    return not _result_on_empty(_PlanKey(template.key, constants, False, template, constants))


def kinds_of(plan: Plan, constants: tuple[str, ...]) -> tuple[object, ...]:
    """Everything in `constants` that the plan depends on; equal kinds may share a plan.

    These are the kinds of constants compared by value, whether constants differ that differed for the plan, and the
    shapes of the words that its texts need.
    """
    kinds = tuple([place_of(constants[reference])[0] for reference in plan.comparisons if reference < plan.slots])
    if not plan.unlike and not plan.texts:
        return kinds
    differ = (len({plan.reference(constants, each) for each in group}) == len(group) for group in plan.unlike)
    return (*kinds, *differ, *(shape_of(text.needed(constants)) for text in plan.texts))


@dataclass(frozen=True, slots=True)
class _PlanKey:
    """A key of the caches below: `template` and `constants` are what a miss is computed from."""

    key: str
    variant: tuple[object, ...] | None
    entailed: bool
    template: Template = field(compare=False)
    constants: tuple[str, ...] = field(compare=False)


class _FirstPlan(NamedTuple):
    """The plan made with a template's first constants, and their kinds."""

    plan: Plan
    kinds: tuple[object, ...]
    aggregate: bool
    """An aggregate without GROUP BY: whether it needs solutions depends on the constants of its HAVING."""
    graphs: tuple[Constant, ...]
    """Graph names that every solution needs."""


@cache
def _first_plans(entailed: bool) -> dict[str, _FirstPlan]:
    """The process's first plans by the template's key: what nearly every subscription needs, and nothing but one
    look-up. Bounded by `PLANS_LIMIT`; each step is one operation of a dictionary, so threads may share it."""
    return {}


def _first_plan(template: Template, constants: tuple[str, ...], entailed: bool) -> _FirstPlan:
    known = _first_plans(entailed)
    found = known.get(template.key)
    if found is None:
        plan = compile_query(template.query, template.slots, constants, entailed)
        pattern = template.query.pattern
        aggregate = aggregate_within(pattern) is not None
        found = _FirstPlan(plan, kinds_of(plan, constants), aggregate, tuple(needed_graphs(pattern)))
        if len(known) >= PLANS_LIMIT:
            known.clear()
        known[template.key] = found
    return found


@lru_cache(maxsize=PLANS_LIMIT)
def _plan_of_kinds(wanted: _PlanKey) -> Plan:
    return compile_query(wanted.template.query, wanted.template.slots, wanted.constants, wanted.entailed)


@lru_cache(maxsize=PLANS_LIMIT)
def _aggregate_plan(wanted: _PlanKey) -> Plan:
    within = not _result_on_empty(wanted)
    return compile_query(wanted.template.query, wanted.template.slots, wanted.constants, wanted.entailed, within)


@lru_cache(maxsize=PLANS_LIMIT)
def _result_on_empty(wanted: _PlanKey) -> bool:
    return result_on_empty(fill(wanted.template.query, wanted.constants))
