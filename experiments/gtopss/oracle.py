"""A matcher of one's own held against the engine, on the papers' graphs: what the tests hold every algorithm to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from experiments.engine import Engine
from experiments.gtopss.model import Answers, Publication, Subscription
from experiments.gtopss.rdf import contents, to_answers, to_asked, to_taxonomies
from experiments.gtopss.taxonomy import NO_TAXONOMY, Taxonomy

Match: TypeAlias = Callable[[Publication], Answers]


def find_answers(
    subscriptions: Sequence[Subscription], publications: Sequence[Publication], taxonomy: Taxonomy = NO_TAXONOMY
) -> list[Answers]:
    """By publication: the subscriptions that match, by number from 0, each with all its bindings."""
    with Engine([to_asked(each, f"s{n}") for n, each in enumerate(subscriptions)], to_taxonomies(taxonomy)) as engine:
        return [to_answers(found) for found in engine.match(engine.take(contents(publications, subscriptions)))]


def compare(match: Match, publications: Sequence[Publication], expected: Sequence[Answers]) -> None:
    """Raises ValueError at the first publication and subscription where `match` answers otherwise than `expected`."""
    for place, (publication, right) in enumerate(zip(publications, expected, strict=True)):
        found = match(publication)
        for number in sorted({*found, *right}):
            if found.get(number) != right.get(number):
                raise ValueError(
                    f"publication {place}, subscription {number}: the matcher has {_show(found, number)}, the engine "
                    f"{_show(right, number)}; the publication: {publication}"
                )


def _show(answers: Answers, number: int) -> str:
    return f"the rows {sorted(answers[number], key=str)}" if number in answers else "no match"
