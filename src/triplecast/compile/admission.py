"""Whether a subscription can be taken, and what it will cost, before it is registered."""

from __future__ import annotations

from dataclasses import dataclass

from triplecast.compile.entailment import entailment_of
from triplecast.compile.plan import Cost, Plan
from triplecast.compile.plans import matches_nothing, plan_of
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import parse_template
from triplecast.model.entailment import Entailment
from triplecast.model.subscription import Subscription

_PREDICATE_WARNING = (
    "nothing in it is rarer than a predicate: it is joined with every publication that uses that predicate; "
    "a constant subject or object would narrow it"
)
_BROAD_WARNING = (
    "it is broad: no key (an IRI or literal that every match contains in a triple) narrows it, so it is tried against "
    "every publication"
)
_EMPTY_WARNING = (
    "it matches every publication on which it finds nothing, because it has a result on the empty graph; "
    "add HAVING (COUNT(*) > 0), or a triple pattern that has to hold"
)


@dataclass(frozen=True, slots=True)
class Admission:
    """What `subscribe` tells."""

    cost: str
    """``narrow``, ``predicate`` or ``broad`` (see `Cost`)."""
    warnings: tuple[str, ...]
    decided: bool
    """Whether the index alone decides it; else the evaluator is asked about every candidate."""


def admit(subscription: Subscription) -> Admission:
    """Raises `QuerySyntaxError` or `QueryRefused`, both with the subscription's name."""
    try:
        refuse_unbuilt(subscription)
        template, constants = parse_template(subscription.text, subscription.language)
        plan = plan_of(template, constants, entailment_of(subscription, template) is not Entailment.NONE)
        empty = needs_nothing(plan) and not matches_nothing(template, constants)
    except (QuerySyntaxError, QueryRefused) as fault:
        fault.name = fault.name or subscription.name
        raise
    return _describe(plan, empty)


def needs_nothing(plan: Plan) -> bool:
    """Whether some alternative of the plan holds on every publication, the empty one too."""
    return any(not branch.patterns for branch in plan.branches)


def refuse_unbuilt(subscription: Subscription) -> None:
    """Raises `QueryRefused` for what later stages will bring."""
    if subscription.scope != "publication":
        raise QueryRefused(
            f"scope {subscription.scope}", "only publication scope is built yet", "ask in publication scope"
        )


def _describe(plan: Plan, empty: bool) -> Admission:
    warnings = []
    if plan.cost is Cost.PREDICATE:
        warnings.append(_PREDICATE_WARNING)
    elif plan.cost is Cost.BROAD:
        warnings.append(_BROAD_WARNING)
    if empty:
        warnings.append(_EMPTY_WARNING)
    return Admission(plan.cost.value, tuple(warnings), plan.decided)
