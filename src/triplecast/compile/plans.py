"""Subscriptions to plans, each plan made once and remembered."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from triplecast.compile.constants import Constant, constant_text
from triplecast.compile.plan import Plan
from triplecast.compile.refusals import needed_graphs
from triplecast.compile.template import aggregate_within, compile_query, compile_template, kinds_of
from triplecast.evaluate import result_on_empty
from triplecast.languages import Template, fill

PLANS_LIMIT = 20_000
"""Plans that a process remembers."""


def plan_of(template: Template, constants: tuple[str, ...], entailed: bool = False) -> Plan:
    """The plan of the subscription that fills `template` with `constants`; with `entailed`, for publications read with
    a taxonomy. Raises `QueryRefused`."""
    first = _first_plan(template, constants, entailed)
    if first.aggregate:
        return _aggregate_plan(_Asked(template.key, constants, entailed, template, constants))
    kinds = kinds_of(first.plan, constants)
    if kinds == first.kinds:
        return first.plan
    return _plan_of_kinds(_Asked(template.key, kinds, entailed, template, constants))


def graphs_of(template: Template, constants: tuple[str, ...], entailed: bool = False) -> tuple[str, ...]:
    """The constant graph names that every solution needs, sorted: of several, only a dataset holds all."""
    graphs = _first_plan(template, constants, entailed).graphs
    return tuple(sorted({constant_text(name, constants) for name in graphs})) if graphs else ()


def matches_nothing(template: Template, constants: tuple[str, ...]) -> bool:
    """Whether the query has no result on the empty graph (semantics 1.2)."""
    return not _result_on_empty(_Asked(template.key, constants, False, template, constants))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A key of the caches below: `template` and `constants` are what a miss is computed from."""

    key: str
    variant: tuple[object, ...] | None
    entailed: bool
    template: Template = field(compare=False)
    constants: tuple[str, ...] = field(compare=False)


class _FirstPlan(NamedTuple):
    """The plan made with the first constants met, and their kinds."""

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
        plan = compile_template(template, constants, entailed)
        pattern = template.query.pattern
        aggregate = aggregate_within(pattern) is not None
        found = _FirstPlan(plan, kinds_of(plan, constants), aggregate, tuple(needed_graphs(pattern)))
        if len(known) >= PLANS_LIMIT:
            known.clear()
        known[template.key] = found
    return found


@lru_cache(maxsize=PLANS_LIMIT)
def _plan_of_kinds(asked: _Asked) -> Plan:
    return compile_template(asked.template, asked.constants, asked.entailed)


@lru_cache(maxsize=PLANS_LIMIT)
def _aggregate_plan(asked: _Asked) -> Plan:
    within = not _result_on_empty(asked)
    return compile_query(asked.template.query, asked.template.slots, asked.constants, asked.entailed, within)


@lru_cache(maxsize=PLANS_LIMIT)
def _result_on_empty(asked: _Asked) -> bool:
    return result_on_empty(fill(asked.template.query, asked.constants))
