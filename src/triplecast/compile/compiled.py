"""Parse and compile a subscription, once for its admission and for the index."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from triplecast.compile.operator_arguments import refuse_unbound
from triplecast.compile.plan import Plan
from triplecast.compile.plans import plan_of
from triplecast.compile.query_entailment import entailment_of
from triplecast.compile.size import refuse_large
from triplecast.errors import QueryRefused
from triplecast.languages import Template, parse_template
from triplecast.model.entailment import Entailment
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.subscription import Registration, Subscription


class CompiledSubscription(NamedTuple):
    """A subscription's template, constants and plan; a function of the subscription and the operators' grammar."""

    template: Template
    constants: tuple[str, ...]
    """What fills the template."""
    entailment: Entailment
    plan: Plan
    """One object for all subscriptions that may share it, while the process caches it."""


class SubscriptionCompiler(NamedTuple):
    """Compiles registered subscriptions that may call `operators`; those in `compiled`, by id, are not parsed again."""

    operators: OperatorSet = NO_OPERATORS
    compiled: Mapping[int, CompiledSubscription] = MappingProxyType({})

    def compile(self, registration: Registration) -> CompiledSubscription:
        """Compile one registration. Raises `QuerySyntaxError` or `QueryRefused`."""
        return self.compiled.get(registration.id) or compile_subscription(registration.subscription, self.operators)


DEFAULT_COMPILER = SubscriptionCompiler()


def compile_subscription(subscription: Subscription, operators: OperatorSet = NO_OPERATORS) -> CompiledSubscription:
    """Parse a subscription's text and plan it. Raises `QuerySyntaxError` or `QueryRefused`."""
    refuse_unbuilt(subscription)
    template, constants = parse_template(subscription.text, subscription.language, operators=operators)
    refuse_large(template)
    refuse_unbound(template, subscription.text, subscription.language, operators)
    entailment = entailment_of(subscription, template)
    plan = plan_of(template, constants, entailment is not Entailment.NONE)
    return CompiledSubscription(template, constants, entailment, plan)


def refuse_unbuilt(subscription: Subscription) -> None:
    """Refuse scopes that are not built yet; raises `QueryRefused`."""
    if subscription.scope != "publication":
        raise QueryRefused(
            f"scope {subscription.scope}", "only publication scope is built yet", 'use scope "publication"'
        )
