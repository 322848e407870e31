"""Expressions (SPARQL 17): three-valued, with errors as `ValueFault` and missing operator results as `Unknown`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from triplecast.evaluate.conjuncts import Conjuncts
from triplecast.evaluate.functions import call_function, plain_text_of
from triplecast.evaluate.paths import unfilled
from triplecast.evaluate.rows import Row
from triplecast.evaluate.state import Evaluation, Place
from triplecast.evaluate.unknown import Unknown, all_of, answer_of, any_of
from triplecast.model.algebra import Call, Exists, Expression, Operation, Slot, Term, Variable
from triplecast.model.answers import Found
from triplecast.model.entailment import FUNCTION_MARKS
from triplecast.terms.arithmetic import calculate, negate, number_of
from triplecast.terms.casts import boolean_term
from triplecast.terms.compare import COMPARISONS, ValueFault, compare, effective_boolean
from triplecast.terms.values import XSD_DATETIME

_DATETIME = NamedNode(XSD_DATETIME)
_LOGICAL = frozenset({"||", "&&", "!", "in", "not in", *COMPARISONS})
_ARITHMETIC = frozenset("+-*/")
_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')


def value(run: Evaluation, expression: Expression, row: Row, place: Place) -> Term:
    """Evaluate an expression for a row; raises `ValueFault` for errors, such as an unbound variable, and `Unknown`."""
    if isinstance(expression, Variable):
        term = row.get(expression.name)
        if term is None:
            raise ValueFault(f"?{expression.name} is unbound")
        return term
    if isinstance(expression, Operation):
        if expression.operator in _LOGICAL:
            return boolean_term(_logical(run, expression, row, place))
        return _arithmetic(run, expression, row, place)
    if isinstance(expression, Call):
        return _call(run, expression, row, place)
    if isinstance(expression, Exists):
        return boolean_term(_exists(run, expression, row, place))
    if isinstance(expression, Slot):
        raise unfilled(expression)
    return expression


def truth(run: Evaluation, expression: Expression, row: Row, place: Place) -> bool:
    """The effective boolean value of an expression; raises `ValueFault` and `Unknown`."""
    if isinstance(expression, Operation) and expression.operator in _LOGICAL:
        return _logical(run, expression, row, place)
    if isinstance(expression, Exists):
        return _exists(run, expression, row, place)
    term = value(run, expression, row, place)
    run.budget.spend_terms((term,))
    return effective_boolean(term)


def holds(run: Evaluation, condition: Expression, row: Row, place: Place) -> bool:
    """Whether FILTER keeps the row; an error drops it. Raises `Unknown`."""
    try:
        verdict = truth(run, condition, row, place)
    except ValueFault as fault:
        if run.recorder is not None:
            run.recorder.judged(condition, row, str(fault))
        return False
    if run.recorder is not None:
        run.recorder.judged(condition, row, "true" if verdict else "false")
    return verdict


def passes(run: Evaluation, condition: Expression, row: Row, place: Place) -> bool:
    """`holds`, reported to the recorder."""
    if run.recorder is None:
        return holds(run, condition, row, place)
    run.recorder.tried(condition, row)
    verdict = holds(run, condition, row, place)
    if verdict:
        run.recorder.kept(condition, row)
    return verdict


def sift(run: Evaluation, conditions: Conjuncts, rows: Iterator[Row], place: Place) -> Iterator[Row]:
    """Yield the rows that fulfil all conditions."""
    if not conditions:
        return rows
    expressions = [condition.expression for condition in conditions]
    return (row for row in rows if all(passes(run, expression, row, place) for expression in expressions))


def _logical(run: Evaluation, operation: Operation, row: Row, place: Place) -> bool:
    run.budget.spend()
    operator, arguments = operation.operator, operation.arguments
    if operator in COMPARISONS:
        left, right = _values(run, arguments, row, place)
        run.budget.spend_terms((left, right))
        return compare(operator, left, right)
    if operator == "!":
        return not truth(run, arguments[0], row, place)
    if operator in ("in", "not in"):
        return _among(run, arguments, row, place) is (operator == "in")
    return _connect(run, operator == "||", arguments, row, place)


def _connect(run: Evaluation, decisive: bool, arguments: Sequence[Expression], row: Row, place: Place) -> bool:
    """``||`` (True decides) and ``&&`` (False decides): an argument that decides outweighs errors (17.2) and what is
    unknown."""
    fault: ValueFault | None = None
    unknown: list[Unknown] = []
    for argument in arguments:
        try:
            if truth(run, argument, row, place) is decisive:
                return decisive
        except ValueFault as found:
            fault = fault or found
        except Unknown as met:
            unknown.append(met)
    if unknown:
        raise any_of(unknown) if decisive else all_of(unknown)
    if fault is not None:
        raise fault
    return not decisive


def _among(run: Evaluation, arguments: Sequence[Expression], row: Row, place: Place) -> bool:
    """IN: any equality that is true outweighs errors (17.4.1.9)."""
    wanted = value(run, arguments[0], row, place)
    fault: ValueFault | None = None
    unknown: list[Unknown] = []
    for argument in arguments[1:]:
        run.budget.spend()
        try:
            term = value(run, argument, row, place)
            run.budget.spend_terms((wanted, term))
            if compare("=", wanted, term):
                return True
        except ValueFault as found:
            fault = fault or found
        except Unknown as met:
            unknown.append(met)
    if unknown:
        raise any_of(unknown)
    if fault is not None:
        raise fault
    return False


def _arithmetic(run: Evaluation, operation: Operation, row: Row, place: Place) -> Term:
    run.budget.spend()
    terms = _values(run, operation.arguments, row, place)
    run.budget.spend_terms(terms)
    if operation.operator in _ARITHMETIC:
        answer = terms[0]
        for term in terms[1:]:
            answer = calculate(operation.operator, answer, term)
        return answer
    if operation.operator == "u-":
        return negate(terms[0])
    if operation.operator == "u+":
        number_of(terms[0])
        return terms[0]
    raise ValueFault(f"there is no operator {operation.operator}")


def _exists(run: Evaluation, expression: Exists, row: Row, place: Place) -> bool:
    inside = Place(place.graph, row, [])
    found = next(run.solve(run, expression.pattern, inside, dict(row)), None)
    if found is None and inside.unknown:
        raise any_of(inside.unknown)
    return (found is None) is expression.negated


def _call(run: Evaluation, call: Call, row: Row, place: Place) -> Term:
    run.budget.spend()
    name, arguments = call.function, call.arguments
    if name == "BOUND":
        (variable,) = arguments
        return boolean_term(isinstance(variable, Variable) and variable.name in row)
    if name == "IF":
        condition, then, otherwise = arguments
        return value(run, then if truth(run, condition, row, place) else otherwise, row, place)
    if name == "COALESCE":
        return _coalesce(run, arguments, row, place)
    if name == "NOW":
        return Literal(run.publication.accepted_at, datatype=_DATETIME)
    terms = _values(run, arguments, row, place)
    run.budget.spend_terms(terms)
    if name == "BNODE":
        return run.fresh_node(call, row, plain_text_of(terms[0]) if terms else None)
    if name in ("IRI", "URI"):
        return to_iri(terms)
    if name in FUNCTION_MARKS:
        classes = place.graph.classes
        node, other = terms
        kin = classes is not None and classes.holds(FUNCTION_MARKS[name], node, other, run.budget.spend)
        return boolean_term(kin)
    if call.of_operator:
        return _only_value(answer_of(run.answers, name, terms), call)
    return call_function(name, terms, run.budget)


def _values(run: Evaluation, arguments: Sequence[Expression], row: Row, place: Place) -> list[Term]:
    """Evaluate all arguments. An error of one outweighs an unknown value of another."""
    terms: list[Term] = []
    unknown: list[Unknown] = []
    for argument in arguments:
        try:
            terms.append(value(run, argument, row, place))
        except Unknown as met:
            unknown.append(met)
    if unknown:
        raise all_of(unknown)
    return terms


def _only_value(found: Found, call: Call) -> Term:
    """The value of an operator in an expression: its one result, or whether it is true."""
    if call.free == 0:
        return boolean_term(bool(found.rows))
    if len(found.rows) != 1:
        count = "no result" if not found.rows else f"{len(found.rows)} results"
        raise ValueFault(f"<{call.function}> has {count} here; an expression needs exactly one")
    return found.rows[0][0]


def _coalesce(run: Evaluation, arguments: Sequence[Expression], row: Row, place: Place) -> Term:
    for argument in arguments:
        try:
            return value(run, argument, row, place)
        except ValueFault:
            continue
    raise ValueFault("COALESCE without a value")


def to_iri(terms: Sequence[Term]) -> NamedNode:
    """``IRI(text)``; the query's base, if any, is a second argument. A relative IRI without base is an error."""
    if isinstance(terms[0], NamedNode):
        return terms[0]
    text = plain_text_of(terms[0])
    if _NO_IRI.search(text):
        raise ValueFault(f"{text!r} is no IRI")
    base = terms[1].value if len(terms) > 1 and isinstance(terms[1], NamedNode) else None
    try:
        (triple,) = parse(f"<{text}> <x:p> <x:o> .", format=RdfFormat.TURTLE, base_iri=base)
    except (SyntaxError, ValueError) as error:
        raise ValueFault(f"{text!r} is no IRI") from error
    assert isinstance(triple.subject, NamedNode)
    return triple.subject
