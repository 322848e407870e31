"""Where something of a query's meaning stands in its text, found again when there is something to say of it."""

from __future__ import annotations

from lark.lexer import Token
from pyoxigraph import NamedNode

from triplecast.languages.dialect import Parsed
from triplecast.model.algebra import Term, Variable
from triplecast.model.terms import to_ntriples


def find_argument(parsed: Parsed, operator: str, argument: Variable | Term) -> tuple[int, int] | None:
    """Line and column, from 1, of what an operator is given: of its occurrences, the one nearest to the operator's
    name. None where one of them does not stand in the text as such."""
    calls = [number for number, token in parsed.tokens.items() if _names(parsed, token) == f"<{operator}>"]
    written = f"?{argument.name}" if isinstance(argument, Variable) else to_ntriples(argument)
    places = [number for number, token in parsed.tokens.items() if _names(parsed, token) == written]
    if not calls or not places:
        return None
    nearest = min(places, key=lambda place: (min(abs(place - call) for call in calls), place))
    line, column, _ = parsed.source.place(parsed.tokens[nearest].start_pos or 0)
    return line, column


def _names(parsed: Parsed, token: Token) -> str:
    """The variable or, in N-Triples form, the term that a token stands for; empty for any other."""
    if token.type == "VAR":
        return f"?{token[1:]}"
    try:
        term = parsed.namespace.term(str(token))
    except ValueError:
        return ""
    return to_ntriples(term) if not isinstance(term, NamedNode) else f"<{term.value}>"
