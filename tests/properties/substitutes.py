"""What calls that failed might have said: whether a pair's answer depends on it.

A pair may be left undecided only where two `readings` of it differ, and is decided to what all of them say (semantics
8.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from itertools import islice, product
from random import Random
from typing import TypeAlias

from tests.properties.operators import (
    BINDING,
    BROKEN,
    FLAKY,
    NOTHING,
    Substitutes,
    answer_slowly,
    answering,
    asked_of,
    failing,
    fails,
    results,
    terms_of,
)
from tests.reference import queries as q
from tests.reference.expressions import FALSE, TRUE
from tests.reference.solve import Dataset, Solution, answer
from tests.reference.terms import XSD, Term, Triple, iri, literal, write

Gives: TypeAlias = Callable[[str, Term], tuple[Term, ...]]
_NUMBERS = [literal(str(number), XSD + "integer") for number in (0, 1, 2, 3, 21)]
_TEXTS = [literal(text) for text in ("", "a", "b", "c")]
DRAWN = 60
"""Readings in which every failed call says something of its own, beside those of one or two values for all."""


def written(rows: Iterable[Solution]) -> tuple[str, ...]:
    """An answer, whatever its order."""
    return tuple(sorted(repr(sorted((name, write(term)) for name, term in row.items())) for row in rows))


@lru_cache(maxsize=256)
def choices(triples: tuple[Triple, ...]) -> list[tuple[Term, ...]]:
    """What `BROKEN` might give: nothing, something that queries compare with, any term of the publication, several."""
    objects = dict.fromkeys(triple[2] for triple in triples)
    single = dict.fromkeys([*_NUMBERS, *_TEXTS, *objects])
    return [(), *((term,) for term in single), (_NUMBERS[1], _NUMBERS[3])]


def readings(query: q.Query, triples: tuple[Triple, ...], random: Random) -> Iterator[Substitutes]:
    """Substitutes for the calls that a query may make and that fail: nothing, one value for all, drawn ones, each call
    another than one value for all others. A query whose calls do not fail on this publication has one reading."""
    broken, flaky = _failing(query, triples)
    found = choices(triples) if broken else [()]
    truths = (False, True) if flaky else (False,)
    yield NOTHING
    for gives, holds in product(found, truths):
        if (gives, holds) != ((), False):
            yield Substitutes(gives, holds)
    if len(broken) + len(flaky) < 2:
        return
    yield from islice(draw_readings(query, triples, random), DRAWN)
    for (otherwise, holds), term, gives in product((((), False), (found[-1], True)), broken, found):
        yield Substitutes(otherwise, holds, ((term, gives),))
    for (otherwise, holds), term in product((((), False), (found[-1], True)), flaky):
        yield Substitutes(otherwise, holds, (), ((term, not holds),))


def draw_readings(query: q.Query, triples: tuple[Triple, ...], random: Random) -> Iterator[Substitutes]:
    """Without end, unless the query's calls do not fail on this publication: then there are none. Every other one has
    one value for all calls."""
    broken, flaky = _failing(query, triples)
    found = choices(triples)
    while broken or flaky:
        yield Substitutes(random.choice(found), random.random() < 0.5)
        of = tuple((term, random.choice(found)) for term in broken)
        yield Substitutes((), False, of, tuple((term, random.random() < 0.5) for term in flaky))


def _failing(query: q.Query, triples: tuple[Triple, ...]) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    asked = asked_of(query)
    return (
        failing(triples, BROKEN) if BROKEN in asked else (),
        failing(triples, FLAKY) if FLAKY in asked else (),
    )


def first_difference(
    query: q.Query, triples: tuple[Triple, ...], answer: tuple[str, ...], tried: Iterable[Substitutes]
) -> Substitutes | None:
    """Of the substitutes tried, the first under which the query's answer is not this one."""
    for instead in tried:
        if written(answer_slowly(query, triples, instead)) != answer:
            return instead
    return None


# ---- over-caution that is permitted ----------------------------------------------------------------------------------

LINKED = "one call in several places"
"""What stands twice is not linked: places where one call that failed is named, whatever they ask of it, and the row of
an OPTIONAL, which is joined or alone."""
LEFT_OUT = "left out where it waits"
"""Where only the evaluator decides a query, a row that waits is left out at once: nothing further out drops it any
more, or sees that it would change nothing."""
WITHIN = "beside what decides its expression"
"""An expression is not known while a part of it is not, unless three-valued logic says so: the arms of an IF, and what
errs beside it in && and ||, are not looked at for what all of them would come to."""
LOOSE = 600
"""Readings in which every place is answered for itself."""


def shape_of(query: q.Query, triples: tuple[Triple, ...], by_index: bool, random: Random) -> str | None:
    """Why a pair may be undecided though all readings of it agree: one of the shapes above; None if nothing permits
    it (`docs/decisions/0012-operator-calls-in-rounds.md`)."""
    parts = [] if by_index else [q.Query("select", q.Select(part)) for part in parts_of(query)]
    if any(has_two(part, triples, random) for part in parts):
        return LEFT_OUT
    if _has_two_loosely(query, triples, random):
        return LINKED
    if any(_has_two_loosely(part, triples, random) for part in parts):
        return LEFT_OUT
    names = {name for name in (BROKEN, FLAKY) if failing(triples, name)}
    return WITHIN if any(_hides(node, names) for node in nodes_of(query)) else None


def _hides(node: object, names: set[str]) -> bool:
    composed = isinstance(node, q.Logic) or (isinstance(node, q.Call) and node.function == "IF")
    return composed and any(isinstance(each, q.Call) and each.function[1:-1] in names for each in nodes_of(node))


def has_two(query: q.Query, triples: tuple[Triple, ...], random: Random) -> bool:
    """Whether two of the readings differ."""
    tried = readings(query, triples, random)
    return first_difference(query, triples, written(answer_slowly(query, triples, next(tried))), tried) is not None


def _has_two_loosely(query: q.Query, triples: tuple[Triple, ...], random: Random) -> bool:
    """The same where each place is answered for itself."""
    tried = _read_loosely(query, triples, random)
    first = next(tried)
    return any(each != first for each in tried)


def nodes_of(node: object) -> Iterator[object]:
    """All that a query's tree is made of."""
    yield node
    below = node if isinstance(node, tuple) else ()
    if is_dataclass(node):
        below = tuple(getattr(node, named.name) for named in fields(node))
    for each in below:
        yield from nodes_of(each)


def parts_of(query: q.Query) -> Iterator[q.Pattern]:
    """The patterns that it is made of, one within another."""
    return (node for node in nodes_of(query.select) if isinstance(node, q.Pattern))


def _constants_of(query: q.Query) -> Iterator[Term]:
    """What it compares with, or asks to be given."""
    for node in nodes_of(query):
        if isinstance(node, q.Constant):
            yield node.term
        elif isinstance(node, q.Step) and not isinstance(node.object, q.Var):
            yield node.object


def _unlinked(node: object) -> object:
    """The tree with each OPTIONAL as two: what joins, and what is alone."""
    if isinstance(node, tuple):
        return tuple(map(_unlinked, node))
    if not is_dataclass(node):
        return node
    made = replace(node, **{named.name: _unlinked(getattr(node, named.name)) for named in fields(node)})  # type: ignore[type-var]
    if not isinstance(made, q.Optional):
        return made
    joined: q.Pattern = q.Join(made.left, made.right)
    inside = made.right
    if made.condition is not None:
        joined, inside = q.Filter(made.condition, joined), q.Filter(made.condition, inside)
    return q.Union(joined, q.Filter(q.Exists(inside, True), made.left))


class _Anew:
    """Triples beside which a call that fails gives something else each time that they are gone through."""

    def __init__(
        self, triples: tuple[Triple, ...], gives: Callable[[str, Term], tuple[Term, ...]], asked: Iterable[str]
    ):
        self._triples, self._gives = triples, gives
        self._asked = sorted(asked)
        self._terms = terms_of(triples)

    def __iter__(self) -> Iterator[Triple]:
        yield from self._triples
        for name in self._asked:
            for term in self._terms:
                yield from ((term, iri(name), given) for given in dict.fromkeys(self._gives(name, term)))


def _read_loosely(query: q.Query, triples: tuple[Triple, ...], random: Random) -> Iterator[tuple[str, ...]]:
    """Answers in which a call that fails says something else in each place, of any kind, or nothing."""
    tree = _unlinked(query)
    compared = [(term,) for term in sorted(set(_constants_of(query)))]
    some = [(), (TRUE,), (FALSE,), *compared]
    for _ in range(LOOSE):
        few = random.choice((some, [random.choice(some), random.choice(choices(triples))]))

        def gives(name: str, term: Term, few: list[tuple[Term, ...]] = few) -> tuple[Term, ...]:
            return random.choice(few) if fails(name, term[1]) else results(name, term, NOTHING)

        with answering(gives):
            yield written(answer(tree, Dataset(_Anew(triples, gives, asked_of(query) & set(BINDING)))))  # type: ignore[arg-type]
