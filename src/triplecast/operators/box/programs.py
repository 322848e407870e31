"""Datalog programs as they are written: what their rules derive, and what in them `box.rules` has no meaning for.

A statement that clingo would pass over in silence, or that would make a program mean another thing than its text, is
refused with its place, not left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from triplecast.errors import InputError

Signature: TypeAlias = tuple[str, int]
"""A predicate, with ``-`` before its name where it is negated classically, and how many arguments it has."""

FACTS: tuple[Signature, ...] = (("triple", 3), ("number", 2))
"""What a publication is."""
PRELUDE = '#const rdf_type="http://www.w3.org/1999/02/22-rdf-syntax-ns#type". [default]\n'

_PLACE = re.compile(r"<block>:([0-9]+):([0-9]+)[-:0-9]*: info: ")
_READ = frozenset(("Rule", "Definition", "Defined", "Comment"))
_REFUSED = MappingProxyType(
    {
        "Program": "#program names a part, and parts are not applied: write its rules without it",
        "External": "#external leaves open what holds: write a rule that derives it",
        "ShowSignature": "#show changes nothing, because a predicate is asked for by its name: leave it out",
        "ShowTerm": "#show changes nothing, because a predicate is asked for by its name: leave it out",
        "Minimize": "preferences choose among models, and rules have to have one: derive without choices",
        "Script": "scripts are not run: write an operator in Python around the rules",
    }
)


def read_program(text: str) -> tuple[Signature, ...]:
    """The predicates that may hold: those of facts, and of heads of rules. Raises `InputError` for what cannot be read,
    for statements other than rules and constants, and for a predicate in a body that no rule derives."""
    from clingo import ast

    statements: list[Any] = []
    told: list[str] = []
    try:
        ast.parse_string(text, statements.append, logger=lambda _, message: told.append(message))
    except RuntimeError as error:
        raise unusable(told, error) from error
    derived = list(FACTS)
    for statement in statements:
        _refuse(statement)
        if statement.ast_type == ast.ASTType.Rule:
            derived += _heads(statement.head)
    _refuse_underived(text)
    return tuple(dict.fromkeys(derived))


def unusable(told: Sequence[str], error: Exception) -> InputError:
    return InputError(f"the rules cannot be read: {'; '.join(told).strip() or error}", "fix them there")


def placed(message: str) -> str:
    """What clingo says of a place in a program, on one line."""
    return _PLACE.sub(r"line \1, column \2: ", " ".join(message.split()))


def _refuse(statement: Any) -> None:
    begin = statement.location.begin
    where = f"line {begin.line}, column {begin.column} of the rules: "
    if begin.filename != "<string>":
        raise InputError(
            f"the rules include {begin.filename}, whose content is not in their version", "write its rules here"
        )
    kind = statement.ast_type.name
    if kind == "Program" and statement.name == "base" and not statement.parameters:
        return
    if kind not in _READ:
        shown = " ".join(str(statement).split())[:80]
        reason, _, hint = _REFUSED.get(kind, f"{shown} is neither a rule nor a constant: leave it out").partition(": ")
        raise InputError(where + reason, hint)


def _heads(node: Any) -> Iterator[Signature]:
    """Of a head in any form: an atom, a choice, a disjunction, an aggregate."""
    match node.ast_type.name:
        case "Literal" if node.sign == 0:
            yield from _heads(node.atom)
        case "SymbolicAtom":
            yield from _atoms(node.symbol, "")
        case "Aggregate" | "Disjunction" | "HeadAggregate":
            for element in node.elements:
                yield from _heads(element)
        case "HeadAggregateElement":
            yield from _heads(node.condition)
        case "ConditionalLiteral":
            yield from _heads(node.literal)


def _atoms(symbol: Any, sign: str) -> Iterator[Signature]:
    """Of ``p(X)``, ``-p(X)`` and of pools such as ``p(X;Y)``, which stand for several."""
    match symbol.ast_type.name:
        case "UnaryOperation":
            yield from _atoms(symbol.argument, "" if sign else "-")
        case "Pool":
            for argument in symbol.arguments:
                yield from _atoms(argument, sign)
        case "Function":
            yield sign + symbol.name, len(symbol.arguments)


def _refuse_underived(text: str) -> None:
    """A predicate that no rule derives never holds: it is mistyped, unless ``#defined`` says otherwise."""
    import clingo

    told: list[str] = []
    missing: list[str] = []

    def log(code: clingo.MessageCode, message: str) -> None:
        (missing if code == clingo.MessageCode.AtomUndefined else told).append(message)

    control = clingo.Control(logger=log)
    try:
        control.add("base", [], PRELUDE + "".join(f"#defined {name}/{arity}.\n" for name, arity in FACTS))
        control.add("base", [], text)
        control.ground([("base", [])])
    except RuntimeError as error:
        raise unusable(told, error) from error
    if missing:
        raise InputError(
            f"the rules ask for what none of them derives: {placed(missing[0])}",
            "fix the name or the number of arguments; if it is meant so, say #defined name/arity.",
        )
