"""Parse and compile a subscription, once for its admission and for the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from triplecast.compile.constants import Constant, constant_text, place_of
from triplecast.compile.passes import aggregate_within, compile_query
from triplecast.compile.plan import Plan
from triplecast.compile.refusals import needed_graphs, refuse_large, refuse_scope, refuse_unbound
from triplecast.compile.texts import shape_of
from triplecast.errors import QueryRefused
from triplecast.evaluate import result_on_empty
from triplecast.languages import Template, directives, fill, parse_template
from triplecast.languages.rewriting import calls_in
from triplecast.model.entailment import ENTAILMENTS, FUNCTION_MARKS, Entailment
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.subscription import Registration, Subscription

DIRECTIVES = ("entailment", "notify", "initial", "key")
"""What a comment ``# triplecast: …`` above a query may say."""


class CompiledSubscription(NamedTuple):
    """A subscription's template, constants and plan; a function of the subscription and the operators' grammar."""

    template: Template
    constants: tuple[str, ...]
    """What fills the template."""
    entailment: Entailment
    plan: Plan
    """One object for all subscriptions that may share it, while the process caches it."""


NOTHING_COMPILED: Mapping[int, CompiledSubscription] = MappingProxyType({})


class SubscriptionCompiler(NamedTuple):
    """Compiles registered subscriptions that may call `operators`; those in `compiled`, by id, are not parsed again."""

    operators: OperatorSet = NO_OPERATORS
    compiled: Mapping[int, CompiledSubscription] = NOTHING_COMPILED

    def compile(self, registration: Registration) -> CompiledSubscription:
        """Compile one registration. Raises `QuerySyntaxError` or `QueryRefused`."""
        return self.compiled.get(registration.id) or compile_subscription(registration.subscription, self.operators)


DEFAULT_COMPILER = SubscriptionCompiler()


def compile_subscription(subscription: Subscription, operators: OperatorSet = NO_OPERATORS) -> CompiledSubscription:
    """Parse a subscription's text and plan it. Raises `QuerySyntaxError` or `QueryRefused`."""
    refuse_scope(subscription)
    text = subscription.text
    template, constants = parse_template(text, subscription.language, operators=operators)
    known = _checked_templates()
    entailment = known.get(template.key)
    if entailment is None:
        refuse_large(template)
        refuse_unbound(template, text, subscription.language, operators)
        if len(known) >= PLANS_LIMIT:
            known.clear()
        entailment = known[template.key] = Entailment.TAXONOMY if _uses_functions(template) else Entailment.NONE
    if subscription.entailment is not None or "triplecast:" in text:
        entailment = entailment_of(subscription, template)
    plan = plan_of(template, constants, entailment is not Entailment.NONE)
    return CompiledSubscription(template, constants, entailment, plan)


@cache
def _checked_templates() -> dict[str, Entailment]:
    """Templates, by key, that are not refused whatever fills them: the entailment of subscriptions that state none.
    Bounded by `PLANS_LIMIT`."""
    return {}


def entailment_of(subscription: Subscription, template: Template) -> Entailment:
    """By `Subscription.entailment`, else by a comment above the query, else by the functions it uses (semantics 6.1).

    Raises `QueryRefused` for one that is not known.
    """
    stated = subscription.entailment or _stated_entailment(subscription.text)
    if stated is None:
        return Entailment.TAXONOMY if _uses_functions(template) else Entailment.NONE
    if stated not in ENTAILMENTS:
        known = " and ".join(ENTAILMENTS)
        raise QueryRefused(f"entailment {stated}", "it is unknown", f"use {known}, or none")
    return ENTAILMENTS[stated]


def _stated_entailment(text: str) -> str | None:
    """The entailment that a comment above the query states."""
    stated = directives(text)
    for name in stated:
        if name not in DIRECTIVES:
            reason = "it is no directive of a comment `# triplecast: …`"
            hint = f"known are {', '.join(DIRECTIVES)}; word a comment otherwise"
            raise QueryRefused(f"directive {name}", reason, hint, 1, 1)
    return stated.get("entailment")


def _uses_functions(template: Template) -> bool:
    return any(call.function in FUNCTION_MARKS for call in calls_in(template.query.pattern))


PLANS_LIMIT = 20_000
"""Plans that a process caches."""


def plan_of(template: Template, constants: tuple[str, ...], entailed: bool = False) -> Plan:
    """The plan of the subscription that fills `template` with `constants`; with `entailed`, for publications read with
    a taxonomy. Raises `QueryRefused`."""
    first = _first_plan(template, constants, entailed)
    if first.is_only:
        return first.plan
    kinds = constants if first.kinds is None else kinds_of(first.plan, constants)
    if kinds == first.kinds:
        return first.plan
    return _plan_of_kinds(_PlanKey(template.key, kinds, entailed, template, constants), first.kinds is None)


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
    """The plan made with a template's first constants."""

    plan: Plan
    kinds: tuple[object, ...] | None
    """None of an aggregate without GROUP BY: whether it needs solutions depends on the constants of its HAVING."""
    graphs: tuple[Constant, ...]
    """Graph names that every solution needs."""
    is_only: bool
    """Whether it is that of all the template's constants."""


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
        kinds = kinds_of(plan, constants) if aggregate_within(pattern) is None else None
        found = _FirstPlan(plan, kinds, tuple(needed_graphs(pattern)), kinds == ())
        if len(known) >= PLANS_LIMIT:
            known.clear()
        known[template.key] = found
    return found


@lru_cache(maxsize=PLANS_LIMIT)
def _plan_of_kinds(wanted: _PlanKey, is_aggregate: bool) -> Plan:
    query, slots = wanted.template.query, wanted.template.slots
    return compile_query(query, slots, wanted.constants, wanted.entailed, is_aggregate and not _result_on_empty(wanted))


@lru_cache(maxsize=PLANS_LIMIT)
def _result_on_empty(wanted: _PlanKey) -> bool:
    return result_on_empty(fill(wanted.template.query, wanted.constants))
