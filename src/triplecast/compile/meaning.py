"""What a subscription asks: read once, for its admission and for the index."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from triplecast.compile.entailment import entailment_of
from triplecast.compile.operator_arguments import refuse_unbound
from triplecast.compile.plan import Plan
from triplecast.compile.plans import plan_of
from triplecast.compile.size import refuse_large
from triplecast.errors import QueryRefused
from triplecast.languages import Template, parse_template
from triplecast.model.entailment import Entailment
from triplecast.model.subscription import Registration, Subscription
from triplecast.operators.operator_set import NO_OPERATORS, OperatorSet


class Meaning(NamedTuple):
    """A function of the subscription and the operators' grammar, so whoever has it need not read the text again."""

    template: Template
    constants: tuple[str, ...]
    """What fills the template."""
    entailment: Entailment
    plan: Plan
    """The same object for all subscriptions that may share it, while the process remembers it."""


class Meanings(NamedTuple):
    """How registered subscriptions are read."""

    operators: OperatorSet = NO_OPERATORS
    """Those that they may call."""
    known: Mapping[int, Meaning] = MappingProxyType({})
    """Of some registrations, by id: their texts are not parsed again."""

    def of(self, registration: Registration) -> Meaning:
        """Raises `QuerySyntaxError` or `QueryRefused`."""
        return self.known.get(registration.id) or read_meaning(registration.subscription, self.operators)


NO_MEANINGS = Meanings()


def read_meaning(subscription: Subscription, operators: OperatorSet = NO_OPERATORS) -> Meaning:
    """Raises `QuerySyntaxError` or `QueryRefused`."""
    refuse_unbuilt(subscription)
    template, constants = parse_template(subscription.text, subscription.language, operators=operators)
    refuse_large(template)
    refuse_unbound(template, subscription.text, subscription.language, operators)
    entailment = entailment_of(subscription, template)
    return Meaning(template, constants, entailment, plan_of(template, constants, entailment is not Entailment.NONE))


def refuse_unbuilt(subscription: Subscription) -> None:
    """Raises `QueryRefused` for what later stages will bring."""
    if subscription.scope != "publication":
        raise QueryRefused(
            f"scope {subscription.scope}", "only publication scope is built yet", "ask in publication scope"
        )
