"""rdflib's algebra of a query, as the reference's own tree. Only the W3C cases come this way."""

from __future__ import annotations

import rdflib
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, SequencePath
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from tests.reference import queries as q
from tests.reference.terms import STRING, Term, blank, iri, literal


class OutsideReference(Exception):
    """A construct that the slow reader does not evaluate."""


def read_query(text: str, base: str) -> q.Query:
    """Parses with rdflib, keeping lexical forms. Raises `OutsideReference`."""
    kept, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    try:
        algebra = translateQuery(parseQuery(text), base=base).algebra
    finally:
        rdflib.NORMALIZE_LITERALS = kept
    if algebra.name == "AskQuery":
        return q.Query("ask", q.Select(_pattern(algebra.p)))
    if algebra.name == "SelectQuery" and not algebra.datasetClause:
        select = _pattern(algebra.p)
        return q.Query("select", select if isinstance(select, q.Select) else q.Select(select))
    raise OutsideReference(algebra.name)


def to_term(node: rdflib.term.Node) -> Term:
    if isinstance(node, rdflib.URIRef):
        return iri(str(node))
    if isinstance(node, rdflib.BNode):
        return blank(str(node))
    return literal(str(node), str(node.datatype) if node.datatype else STRING, node.language or "")


def _node(node: rdflib.term.Node) -> q.Node:
    if isinstance(node, rdflib.Variable):
        return q.Var(str(node))
    if isinstance(node, rdflib.BNode):
        return q.Var(f"_:{node}")
    return to_term(node)


def _pattern(part: CompValue) -> q.Pattern:
    match part.name:
        case "BGP":
            return q.Basic(tuple(q.Step(_node(s), _link(p), _node(o)) for s, p, o in part.triples))
        case "Join":
            return q.Join(_pattern(part.p1), _pattern(part.p2))
        case "Union":
            return q.Union(_pattern(part.p1), _pattern(part.p2))
        case "Minus":
            return q.Minus(_pattern(part.p1), _pattern(part.p2))
        case "LeftJoin":
            always = isinstance(part.expr, CompValue) and part.expr.name == "TrueFilter"
            return q.Optional(_pattern(part.p1), _pattern(part.p2), None if always else _expression(part.expr))
        case "Filter":
            return q.Filter(_expression(part.expr), _pattern(part.p))
        case "Extend":
            return q.Bind(_pattern(part.p), q.Var(str(part.var)), _expression(part.expr))
        case "Graph":
            return q.Graph(_node(part.term), _pattern(part.p))
        case "Project":
            return _modified(part, variables=tuple(q.Var(str(name)) for name in part.PV))
        case "Distinct":
            return _modified(part, distinct=True)
        case "Reduced":
            return _pattern(part.p)
        case "OrderBy":
            order = tuple((_expression(c.expr), c.order == "DESC") for c in part.expr)
            return q.Select(_pattern(part.p), order=order)
        case "Slice":
            return _modified(part, offset=part.start, limit=part.length)
        case "ToMultiSet" if "res" in part:
            return _values(part.res)
        case "ToMultiSet":
            return _pattern(part.p)
    raise OutsideReference(part.name)


def _modified(part: CompValue, **changes: object) -> q.Select:
    """One modifier more on the select below; rdflib nests them in the order of SPARQL 18.2.4.4."""
    inner = _pattern(part.p)
    select = inner if isinstance(inner, q.Select) else q.Select(inner)
    names = ("pattern", "variables", "distinct", "order", "offset", "limit")
    return q.Select(**{name: getattr(select, name) for name in names} | changes)


def _values(rows: list[dict]) -> q.Values:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return q.Values(
        tuple(q.Var(str(name)) for name in names),
        tuple(
            tuple(None if row.get(name) in (None, "UNDEF") else to_term(row[name]) for name in names) for row in rows
        ),
    )


def _link(predicate: object) -> q.Node | q.Path:
    if isinstance(predicate, rdflib.term.Node):
        return _node(predicate)
    return _path(predicate)


def _path(path: object) -> q.Path:
    match path:
        case rdflib.URIRef():
            return q.Link(to_term(path))
        case InvPath():
            return q.Inverse(_path(path.arg))
        case SequencePath():
            steps = [_path(step) for step in path.args]
            return _nested(q.Chain, steps)
        case AlternativePath():
            return _nested(q.Choice, [_path(step) for step in path.args])
        case MulPath():
            return q.Repeat(_path(path.path), 0 if path.mod in ("*", "?") else 1, path.mod != "?")
        case NegatedPath() if all(isinstance(step, rdflib.URIRef) for step in path.args):
            return q.NoneOf(tuple(to_term(step) for step in path.args))
    raise OutsideReference(f"path {path!r}")


def _nested(kind: type, steps: list[q.Path]) -> q.Path:
    path = steps[0]
    for step in steps[1:]:
        path = kind(path, step)
    return path


_BUILTINS = {
    "STR LANG DATATYPE ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC BOUND IRI URI STRLEN ABS": ("arg",),
    "SAMETERM LANGMATCHES CONTAINS STRSTARTS STRENDS IF": ("arg1", "arg2", "arg3"),
    "REGEX": ("text", "pattern", "flags"),
}
_ARGUMENTS = {name: arguments for names, arguments in _BUILTINS.items() for name in names.split()}
_SPELLINGS = {"ISURI": "ISIRI", "URI": "IRI"}


def _expression(part: object) -> q.Expression:
    if isinstance(part, rdflib.Variable):
        return q.Var(str(part))
    if isinstance(part, rdflib.term.Node):
        return q.Constant(to_term(part))
    match part.name:
        case "ConditionalOrExpression" | "ConditionalAndExpression":
            sign = "||" if "Or" in part.name else "&&"
            return q.Logic(sign, (_expression(part.expr), *(_expression(other) for other in part.other)))
        case "UnaryNot":
            return q.Not(_expression(part.expr))
        case "UnaryMinus" | "UnaryPlus":
            return q.Call("u-" if part.name == "UnaryMinus" else "u+", (_expression(part.expr),))
        case "RelationalExpression" if part.op in ("IN", "NOT IN"):
            others = [] if part.other == rdflib.RDF.nil else part.other
            return q.Member(_expression(part.expr), tuple(_expression(other) for other in others), part.op == "NOT IN")
        case "RelationalExpression":
            return q.Compare(str(part.op), _expression(part.expr), _expression(part.other))
        case "AdditiveExpression" | "MultiplicativeExpression":
            result = _expression(part.expr)
            for sign, other in zip(part.op, part.other, strict=True):
                result = q.Call(str(sign), (result, _expression(other)))
            return result
        case "Builtin_EXISTS" | "Builtin_NOTEXISTS":
            return q.Exists(_pattern(part.graph), part.name == "Builtin_NOTEXISTS")
        case "Function":
            return q.Call(str(part.iri), tuple(_expression(argument) for argument in part.expr))
        case name if name.startswith("Builtin_"):
            return _builtin(name.removeprefix("Builtin_").upper(), part)
    raise OutsideReference(part.name)


def _builtin(name: str, part: CompValue) -> q.Expression:
    if name == "COALESCE":
        return q.Call(name, tuple(_expression(argument) for argument in part.arg))
    if name not in _ARGUMENTS:
        raise OutsideReference(name)
    given = [part[argument] for argument in _ARGUMENTS[name] if argument in part and part[argument] is not None]
    return q.Call(_SPELLINGS.get(name, name), tuple(_expression(argument) for argument in given))
