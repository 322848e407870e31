"""The entailment regime of a subscription."""

from __future__ import annotations

from functools import lru_cache

from triplecast.errors import QueryRefused
from triplecast.languages import Template, directives
from triplecast.languages.rewriting import calls_in
from triplecast.model.entailment import ENTAILMENTS, FUNCTION_MARKS, Entailment
from triplecast.model.subscription import Subscription


def entailment_of(subscription: Subscription, template: Template) -> Entailment:
    """By `Subscription.entailment`, else by the text's first line, else by the functions it uses (semantics 6.1).

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
    """The entailment that the text's first line states."""
    stated = directives(text)
    for name in stated:
        if name != "entailment":
            reason = "it is no directive of a first line `# triplecast: …`"
            raise QueryRefused(
                f"directive {name}", reason, "the only one is entailment; word a comment otherwise", 1, 1
            )
    return stated.get("entailment")


@lru_cache(maxsize=20_000)
def _uses_functions(template: Template) -> bool:
    return any(call.function in FUNCTION_MARKS for call in calls_in(template.query.pattern))
