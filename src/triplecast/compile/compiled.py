"""Parse and compile a subscription, once for its admission and for the index."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.compile.operator_arguments import refuse_unbound
from triplecast.compile.plan import Plan
from triplecast.compile.plans import plan_of
from triplecast.compile.query_entailment import entailment_of
from triplecast.compile.size import refuse_large
from triplecast.errors import QueryRefused
from triplecast.languages import Template, parse_template
from triplecast.model.entailment import Entailment
from triplecast.model.subscription import Subscription


class CompiledSubscription(NamedTuple):
    """A subscription's template, constants and plan; a function of the subscription alone."""

    template: Template
    constants: tuple[str, ...]
    """What fills the template."""
    entailment: Entailment
    plan: Plan
    """One object for all subscriptions that may share it, while the process caches it."""


def compile_subscription(subscription: Subscription) -> CompiledSubscription:
    """Parse a subscription's text and plan it. Raises `QuerySyntaxError` or `QueryRefused`."""
    refuse_unbuilt(subscription)
    template, constants = parse_template(subscription.text, subscription.language)
    refuse_large(template)
    refuse_unbound(template, subscription.text, subscription.language)
    entailment = entailment_of(subscription, template)
    plan = plan_of(template, constants, entailment is not Entailment.NONE)
    return CompiledSubscription(template, constants, entailment, plan)


def refuse_unbuilt(subscription: Subscription) -> None:
    """Refuse scopes that are not built yet; raises `QueryRefused`."""
    if subscription.scope != "publication":
        raise QueryRefused(
            f"scope {subscription.scope}", "only publication scope is built yet", 'use scope "publication"'
        )
