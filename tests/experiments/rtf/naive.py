"""The meaning of a query without any index: every choice of a triple for each tuple, every choice of places for each
chain of words. Shares with `experiments.rtf` only what a query and a publication are."""

from __future__ import annotations

from itertools import pairwise, product

from experiments.rtf.publications import Publication, Statement, Text
from experiments.rtf.queries import ANY, And, Chain, ContinuousQuery, Expression, Not, QueryTuple, Variable


def matches(query: ContinuousQuery, publication: Publication) -> bool:
    return any(
        all(map(_fits, query.tuples, chosen)) and _are_consistent(query.tuples, chosen)
        for chosen in product(publication.statements, repeat=len(query.tuples))
    )


def _fits(asked: QueryTuple, statement: Statement) -> bool:
    for place, term in zip(asked.places, statement.places, strict=True):
        if not isinstance(place, Variable) and place not in (ANY, term):
            return False
    return asked.text is None or (statement.text is not None and holds(asked.text, statement.text))


def _are_consistent(tuples: tuple[QueryTuple, ...], chosen: tuple[Statement, ...]) -> bool:
    pairs = {
        (place.name, term)
        for asked, statement in zip(tuples, chosen, strict=True)
        for place, term in zip(asked.places, statement.places, strict=True)
        if isinstance(place, Variable)
    }
    return len(pairs) == len({name for name, _ in pairs})


def holds(expression: Expression, text: Text) -> bool:
    if isinstance(expression, Chain):
        return any(
            all(
                least <= right - left - 1 and (most is None or right - left - 1 <= most)
                for (left, right), (least, most) in zip(pairwise(places), expression.gaps, strict=True)
            )
            for places in product(*(text.get(word, ()) for word in expression.words))
        )
    if isinstance(expression, Not):
        return not holds(expression.part, text)
    parts = (holds(part, text) for part in expression.parts)
    return all(parts) if isinstance(expression, And) else any(parts)
