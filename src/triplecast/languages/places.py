"""The place in a query's text of an operator's argument, for error messages."""

from __future__ import annotations

from collections.abc import Sequence

from lark.lexer import Token
from pyoxigraph import NamedNode

from triplecast.languages.dialect import Parsed
from triplecast.model.algebra import Term, Variable
from triplecast.model.terms import to_ntriples


def find_argument(parsed: Parsed, operator: str, argument: Variable | Term) -> tuple[int, int] | None:
    """Find line and column, from 1, of an operator's argument: its first occurrence in the brackets after the
    operator's name, else the occurrence nearest to that name. None where the text lacks one of them as written."""
    written = f"?{argument.name}" if isinstance(argument, Variable) else to_ntriples(argument)
    tokens = list(parsed.tokens.values())
    calls = [place for place, token in enumerate(tokens) if _names(parsed, token) == f"<{operator}>"]
    places = [place for place, token in enumerate(tokens) if _names(parsed, token) == written]
    if not calls or not places:
        return None
    within = [place for call in calls for place in places if call < place < _end_of_brackets(tokens, call + 1)]
    nearest = min(places, key=lambda place: (min(abs(place - call) for call in calls), place))
    line, column, _ = parsed.source.place(tokens[within[0] if within else nearest].start_pos or 0)
    return line, column


def _end_of_brackets(tokens: Sequence[Token], start: int) -> int:
    """The place of the bracket that closes the one at `start`; `start` itself where none opens."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place] == "(") - (tokens[place] == ")")
        if depth == 0:
            return place
    return start


def _names(parsed: Parsed, token: Token) -> str:
    """The variable, or the term in N-Triples form, that a token is; empty for any other."""
    if token.type == "VAR":
        return f"?{token[1:]}"
    try:
        term = parsed.namespace.term(str(token))
    except ValueError:
        return ""
    return to_ntriples(term) if not isinstance(term, NamedNode) else f"<{term.value}>"
