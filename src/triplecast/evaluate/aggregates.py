"""Aggregates over one group (SPARQL 11 and 18.5.1).

An expression that errs for some row makes SUM, AVG, MIN, MAX and GROUP_CONCAT err; COUNT and SAMPLE pass it over.
GROUP_CONCAT joins the STR() of its values. Rows come in canonical order, from which SAMPLE takes the first and
GROUP_CONCAT all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyoxigraph import Literal

from triplecast.evaluate.budget import ENTRIES_A_STEP, Budget
from triplecast.evaluate.expressions import value
from triplecast.evaluate.functions import string_of
from triplecast.evaluate.rows import Numbering, Row, in_canonical_order, merge, names_of
from triplecast.evaluate.state import Evaluation, Place
from triplecast.evaluate.unknown import Unknown, any_of
from triplecast.model.algebra import Aggregate, Group, Term
from triplecast.terms.arithmetic import calculate, integer_term
from triplecast.terms.compare import ValueFault, sort_key

ORDERED = frozenset({"SAMPLE", "GROUP_CONCAT", "SUM", "AVG"})
"""Aggregates whose answer may depend on the order of the rows (SUM and AVG by rounding and by where they overflow)."""


def aggregate_rows(run: Evaluation, pattern: Group, place: Place, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield one row per group of `rows`."""
    if any(what.function in ORDERED for _, what in pattern.aggregates):
        rows = in_canonical_order(rows, run.numbering)
    keys = [key.name for key in pattern.keys]
    groups: dict[tuple[int, ...], list[Row]] = {} if keys else {(): []}
    for found in rows:
        run.budget.spend_row(keys)
        groups.setdefault(run.numbering.key(found, keys), []).append(found)
    for members in groups.values():
        answer = {name: members[0][name] for name in keys if name in members[0]}
        for variable, what in pattern.aggregates:
            try:
                answer[variable.name] = term = _aggregate_members(run, what, members, place)
            except ValueFault:
                continue
            except Unknown as met:
                place.unknown.append(met)
                break
            run.budget.note(term)
        else:
            union = merge(place.replaced, answer)
            if union is not None:
                yield union


def _aggregate_members(run: Evaluation, what: Aggregate, members: list[Row], place: Place) -> Term:
    if what.argument is None:
        if not what.distinct:
            return integer_term(len(members))
        names = names_of(members)
        run.budget.spend(len(members) * (1 + len(names) // ENTRIES_A_STEP))
        return integer_term(len({run.numbering.key(row, names) for row in members}))
    values: list[Term | None] = []
    unknown: list[Unknown] = []
    for row in members:
        try:
            values.append(value(run, what.argument, row, place))
        except ValueFault:
            values.append(None)
        except Unknown as met:
            unknown.append(met)
    if unknown:
        raise any_of(unknown)
    return aggregate(what, values, run.numbering)


def aggregate(what: Aggregate, values: Sequence[Term | None], numbering: Numbering) -> Term:
    """The aggregate of a group's values, None where the expression erred. Raises `ValueFault` where it has none."""
    budget = numbering.budget
    budget.spend(1 + len(values))
    sound = [term for term in values if term is not None]
    terms = numbering.distinct(sound) if what.distinct or what.function in ("MIN", "MAX") else sound
    if what.function == "COUNT":
        return integer_term(len(terms))
    if what.function == "SAMPLE":
        if not terms:
            raise ValueFault("SAMPLE of nothing")
        return terms[0]
    if len(sound) < len(values):
        raise ValueFault(f"the expression under {what.function} has no value for some row")
    if what.function == "GROUP_CONCAT":
        return _join(terms, " " if what.separator is None else what.separator, budget)
    if what.function in ("MIN", "MAX"):
        if not terms:
            raise ValueFault(f"{what.function} of nothing")
        budget.spend_terms(terms)
        return min(terms, key=sort_key) if what.function == "MIN" else max(terms, key=sort_key)
    budget.spend_terms(terms)
    total = _total(terms)
    if what.function == "SUM" or not terms:
        return total
    return calculate("/", total, integer_term(len(terms)))


def _total(terms: Sequence[Term]) -> Term:
    total: Term = integer_term(0)
    for term in terms:
        total = calculate("+", total, term)
    return total


def _join(terms: Sequence[Term], separator: str, budget: Budget) -> Literal:
    texts: list[str] = []
    for term in terms:
        texts.append(string_of(term))
        budget.spend_text(len(texts[-1]) + len(separator))
    return Literal(separator.join(texts))
