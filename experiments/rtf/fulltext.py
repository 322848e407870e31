"""Full-text expressions: cut at their disjunctions, and checked where a trie of words cannot decide them.

A trie holds the distinct words of a conjunction (line 94). Disjunctions become queries of their own (line 100). What is
left, the order and distance of words and what must not be there, stands in the proximity table and is looked at after
the traversal (lines 100 and 147).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from experiments.rtf.publications import Text
from experiments.rtf.queries import And, Chain, ContinuousQuery, Expression, Not, Or, Places


@dataclass(frozen=True, slots=True)
class Conjunct:
    """All of `needed` and none of `never`."""

    needed: tuple[Chain, ...]
    never: tuple[Chain, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words that a text must have, in the order of the query."""
        return tuple(dict.fromkeys(word for chain in self.needed for word in chain.words))

    @property
    def positions(self) -> Conjunct | None:
        """What its words alone do not say; None: nothing."""
        chains = tuple(chain for chain in self.needed if len(chain.words) > 1)
        return Conjunct(chains, self.never) if chains or self.never else None


class ConjunctTuple(NamedTuple):
    """A tuple whose text has no disjunction."""

    places: Places
    text: Conjunct | None


def to_conjuncts(expression: Expression) -> tuple[Conjunct, ...]:
    """The disjunctive normal form."""
    return _to_conjuncts(expression, negated=False)


def _to_conjuncts(expression: Expression, negated: bool) -> tuple[Conjunct, ...]:
    match expression:
        case Chain():
            return (Conjunct((), (expression,)) if negated else Conjunct((expression,), ()),)
        case Not(part):
            return _to_conjuncts(part, not negated)
        case And(parts) | Or(parts):
            each = [_to_conjuncts(part, negated) for part in parts]
            if isinstance(expression, Or) != negated:
                return tuple(dict.fromkeys(conjunct for one in each for conjunct in one))
            return tuple(dict.fromkeys(_join(chosen) for chosen in product(*each)))


def _join(parts: tuple[Conjunct, ...]) -> Conjunct:
    needed = dict.fromkeys(chain for part in parts for chain in part.needed)
    never = dict.fromkeys(chain for part in parts for chain in part.never)
    return Conjunct(tuple(needed), tuple(never))


def split_disjunctions(query: ContinuousQuery) -> list[tuple[ConjunctTuple, ...]]:
    """The queries without disjunction that are indexed for one subscription: line 100, "separate queries (that have the
    same user as the notification recipient)". Disjunctions of several tuples multiply."""
    choices = [
        [
            ConjunctTuple(each.places, conjunct)
            for conjunct in ((None,) if each.text is None else to_conjuncts(each.text))
        ]
        for each in query.tuples
    ]
    return list(product(*choices))


def has_chain(chain: Chain, text: Text) -> bool:
    """Whether the chain's words stand in the text in order and at their distances, each anywhere."""
    ends = text.get(chain.words[0], ())
    for word, (least, most) in zip(chain.words[1:], chain.gaps, strict=True):
        ends = tuple(
            place
            for place in text.get(word, ())
            if any(place - end > least and (most is None or place - end - 1 <= most) for end in ends)
        )
    return bool(ends)


def fulfils(conjunct: Conjunct, text: Text, with_negation: bool = True) -> bool:
    return all(has_chain(chain, text) for chain in conjunct.needed) and not (
        with_negation and any(has_chain(chain, text) for chain in conjunct.never)
    )
