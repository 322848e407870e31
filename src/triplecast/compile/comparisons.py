"""Filter expressions to clauses: comparisons of one variable with a constant, in conjunctive form.

A row of a conjunction stays iff every condition is true; false and error both drop it (semantics 3.8). So ``&&``
splits, ``||`` and ``IN`` make one clause of several atoms (true iff one of them is), ``!`` goes inwards through ``&& ||
=  != IN`` (where three-valued logic keeps errors errors), and never turns ``<`` into ``>=``.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from pyoxigraph import Literal, NamedNode

from triplecast.compile.constants import ComparisonKind, Constant, constant_text, place_of
from triplecast.compile.marks import function_mark
from triplecast.compile.texts import NamedText, read_text
from triplecast.model.algebra import Call, Exists, Expression, Operation, Slot, TriplePattern, Variable
from triplecast.model.comparison_codes import MIRRORED, Comparison, Lane
from triplecast.terms.values import ValueClass


class NamedAtom(NamedTuple):
    variable: Variable
    operator: Comparison
    lane: Lane
    constant: Constant


NamedClause: TypeAlias = tuple[NamedAtom, ...]


class FilterConditions(NamedTuple):
    """The conditions of a filter that the index understands: each is necessary, and together they are sufficient if
    they are the `whole` filter."""

    clauses: tuple[NamedClause, ...] = ()
    exists: tuple[Exists, ...] = ()
    """Of which the patterns are necessary."""
    bound: tuple[Variable, ...] = ()
    """The variables of ``BOUND``."""
    texts: tuple[NamedText, ...] = ()
    """Full-text conditions; if `whole`, the needed words decide them."""
    marks: tuple[TriplePattern, ...] = ()
    """Patterns for functions of the taxonomy."""
    whole: bool = False


NOTHING = FilterConditions()
_OPERATORS = {
    "=": Comparison.EQUAL,
    "!=": Comparison.UNEQUAL,
    "<": Comparison.LESS,
    "<=": Comparison.AT_MOST,
    ">": Comparison.GREATER,
    ">=": Comparison.AT_LEAST,
}
_LEAST_STRING = Literal("")
_NEGATED = {"=": "!=", "!=": "=", "in": "not in", "not in": "in"}
_IDENTITY_LANES = {
    ValueClass.IRI: Lane.IDENTITY,
    ValueClass.ILL: Lane.ILL,
    ValueClass.LANG: Lane.LANG,
    ValueClass.STRING: Lane.STRING,
}


def read_conditions(condition: Expression, constants: tuple[str, ...]) -> FilterConditions:
    """The conditions of one filter; `constants` are those of the subscription that the plan is made with."""
    found = _read(condition, False, constants)
    return NOTHING if found is None else found


def _read(expression: Expression, negated: bool, constants: tuple[str, ...]) -> FilterConditions | None:
    """None where nothing is understood, which differs from a condition that is always true."""
    if isinstance(expression, Exists):
        return None if expression.negated != negated else FilterConditions(exists=(expression,))
    text = None if negated else read_text(expression)
    if text is not None:
        return FilterConditions(texts=(text,), whole=text.needed(constants).exact)
    if isinstance(expression, Call):
        return _read_call(expression, negated, constants)
    if not isinstance(expression, Operation):
        return None
    operator, arguments = expression.operator, expression.arguments
    if operator == "!":
        return _read(arguments[0], not negated, constants)
    if operator in ("&&", "||"):
        parts = [_read(argument, negated, constants) for argument in arguments]
        return _both(parts) if (operator == "&&") != negated else _either(parts)
    if negated:
        if operator not in _NEGATED:
            return None
        operator = _NEGATED[operator]
    if operator in ("in", "not in"):
        return _read_membership(operator, arguments, constants)
    if operator in _OPERATORS:
        left, right = arguments
        if "NUMBER" in (getattr(left, "function", None), getattr(right, "function", None)):
            return _read_numbers(operator, left, right, constants)
        atom = _read_comparison(operator, left, right, constants)
        return None if atom is None else _one(atom)
    return None


def _read_call(call: Call, negated: bool, constants: tuple[str, ...]) -> FilterConditions | None:
    if negated:
        return None
    match call.function, call.arguments:
        case "BOUND", (Variable() as variable,):
            return FilterConditions(bound=(variable,), whole=True)
        case "SAMETERM", (Variable() as variable, NamedNode() | Literal() | Slot() as constant):
            return _one(NamedAtom(variable, Comparison.EQUAL, Lane.IDENTITY, constant))
        case "SAMETERM", (NamedNode() | Literal() | Slot() as constant, Variable() as variable):
            return _one(NamedAtom(variable, Comparison.EQUAL, Lane.IDENTITY, constant))
    mark = function_mark(call)
    return None if mark is None else FilterConditions(marks=(mark,), whole=True)


def _one(atom: NamedAtom, whole: bool = True) -> FilterConditions:
    """A clause of one atom."""
    return FilterConditions(((atom,),), whole=whole)


def _both(parts: list[FilterConditions | None]) -> FilterConditions:
    known = [part for part in parts if part is not None]
    return FilterConditions(
        tuple(clause for part in known for clause in part.clauses),
        tuple(exists for part in known for exists in part.exists),
        tuple(variable for part in known for variable in part.bound),
        tuple(text for part in known for text in part.texts),
        tuple(mark for part in known for mark in part.marks),
        whole=len(known) == len(parts) and all(part.whole for part in known),
    )


def _either(parts: list[FilterConditions | None]) -> FilterConditions | None:
    """One clause of all atoms, if every part has one clause; the evaluator decides the rest."""
    known = [part for part in parts if part is not None and len(part.clauses) == 1]
    if len(known) < len(parts):
        return None
    atoms = tuple(atom for part in known for atom in part.clauses[0])
    whole = all(part.whole and not (part.bound or part.texts or part.marks) for part in known)
    return FilterConditions((atoms,), whole=whole)


def _read_membership(
    operator: str, arguments: tuple[Expression, ...], constants: tuple[str, ...]
) -> FilterConditions | None:
    """``IN`` is a disjunction of ``=``, ``NOT IN`` a conjunction of ``!=`` (SPARQL 17.4.1.9)."""
    single = "=" if operator == "in" else "!="
    atoms = [_read_comparison(single, arguments[0], choice, constants) for choice in arguments[1:]]
    known = tuple(atom for atom in atoms if atom is not None)
    if operator == "not in":
        return FilterConditions(tuple((atom,) for atom in known), whole=len(known) == len(atoms))
    if not known or len(known) < len(atoms):
        return None
    return FilterConditions((known,), whole=True)


def _read_numbers(
    operator: str, left: Expression, right: Expression, constants: tuple[str, ...]
) -> FilterConditions | None:
    """A comparison of RDQL's ``NUMBER(?v)``, which differs from ``?v`` for strings that read as numbers.

    No such string is in order with a string, or equal to any constant but a number. So the comparison of ``?v`` is
    necessary, and with ``=`` and ``!=`` sufficient, but against a number: that any string may fulfil.
    """
    plain, other = (right, left) if isinstance(right, Call) and right.function == "NUMBER" else (left, right)
    variable = plain.arguments[0] if isinstance(plain, Call) else plain
    sides = (other, variable) if plain is right else (variable, other)
    atom = _read_comparison(operator, *sides, constants) if isinstance(variable, Variable) else None
    if atom is None:
        return None
    kind, _ = place_of(constant_text(atom.constant, constants))
    if kind in (ValueClass.EXACT, ValueClass.FLOAT, ValueClass.DOUBLE, ComparisonKind.NAN):
        any_string = atom._replace(operator=Comparison.AT_LEAST, lane=Lane.STRING_ORDER, constant=_LEAST_STRING)
        return FilterConditions(((atom, any_string),))
    return _one(atom, atom.lane != Lane.STRING_ORDER)


def _read_comparison(
    operator: str, left: Expression, right: Expression, constants: tuple[str, ...]
) -> NamedAtom | None:
    if isinstance(left, NamedNode | Literal | Slot):
        left, right, operator = right, left, MIRRORED[operator]
    if not isinstance(right, NamedNode | Literal | Slot):
        return None
    kind, _ = place_of(constant_text(right, constants))
    if isinstance(left, Call) and left.function == "LANG" and isinstance(left.arguments[0], Variable):
        if kind != ValueClass.STRING or operator not in ("=", "!="):
            return None
        return NamedAtom(left.arguments[0], _OPERATORS[operator], Lane.LANGUAGE, right)
    if not isinstance(left, Variable):
        return None
    lane = _lane(operator, kind)
    return None if lane is None else NamedAtom(left, _OPERATORS[operator], lane, right)


def _lane(operator: str, kind: int) -> Lane | None:
    """Where the index compares with a constant of this kind; None where only the evaluator can."""
    if kind == ComparisonKind.INEXACT:
        return None
    if kind == ComparisonKind.NAN:
        return Lane.UNLIKE if operator == "!=" else Lane.NEVER
    value_class = ValueClass(kind)
    if value_class not in _IDENTITY_LANES:
        return Lane(kind)
    if operator in ("=", "!="):
        return _IDENTITY_LANES[value_class]
    return Lane.STRING_ORDER if value_class == ValueClass.STRING else Lane.NEVER
