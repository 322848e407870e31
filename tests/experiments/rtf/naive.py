"""The meaning of a query without any index: every choice of a triple for each tuple, every choice of places for each
chain of words. Shares with `experiments.rtf` only what a query and a triple are, and cuts words by its own means."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import lru_cache
from itertools import pairwise, product

from experiments.rtf.publications import Publication, Statement, Text
from experiments.rtf.queries import ANY, And, Chain, ContinuousQuery, Expression, Not, QueryTuple, Variable
from tests.reference.wording import words_of


def matches(query: ContinuousQuery, publication: Publication) -> bool:
    return any(
        all(map(_fits, query.tuples, chosen)) and _are_consistent(query.tuples, chosen)
        for chosen in product(publication.statements, repeat=len(query.tuples))
    )


def _fits(asked: QueryTuple, statement: Statement) -> bool:
    for place, term in zip(asked.places, statement.places, strict=True):
        if not isinstance(place, Variable) and place not in (ANY, term):
            return False
    if asked.text is None:
        return True
    text = read_text(statement.object)
    return text is not None and holds(asked.text, text)


@lru_cache(maxsize=4_096)
def read_text(term: str) -> Text | None:
    """Of a term as N-Triples, whose escapes are JSON's too; None where it is no string, nor one in a language."""
    quoted, mark, rest = term.rpartition('"')
    if not mark or rest.startswith("^^"):
        return None
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(words_of(json.loads(quoted + mark))):
        places[word.folded].append(place)
    return {word: tuple(found) for word, found in places.items()}


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
