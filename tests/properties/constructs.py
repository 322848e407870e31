"""What a generated query is made of: the rows of the census table, its constants and the keys it can share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache

from tests.properties.taxonomies import BROADER, CLASS, MEMBER, PROPERTY
from tests.reference import fulltext
from tests.reference import queries as q
from tests.reference.terms import Term
from triplecast.compile.compiled import plan_of
from triplecast.languages import parse_template

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_FUNCTIONS = (
    *("SAMETERM", "BOUND", "LANG", "LANGMATCHES", "DATATYPE", "ISIRI", "ISBLANK", "ISLITERAL", "ISNUMERIC"),
    *("STR", "CONTAINS", "STRSTARTS", "STRENDS", "IF", "COALESCE"),
)

_DECIDED = (
    *("IN", "OPTIONAL", "OPTIONAL with FILTER", "UNION", "MINUS", "EXISTS", "NOT EXISTS", "VALUES", "UNDEF"),
    *("path ^", "path /", "path |", "BIND", "variable with variable", "!", "STR", "ISLITERAL", "IF", "COALESCE"),
    *("tc:instance", "tc:descendant", "tc:ancestor", "path along a taxonomy"),
    *("entailment taxonomy", "entailment rdfs", "rdfs:member", "ft:contains", "phrase", "ftand"),
)
"""What the index decides where nothing else in the query is for the evaluator."""

CONSTRUCTS: tuple[str, ...] = (
    *("1 pattern", "2 patterns", "3 patterns or more", "shared variable", "repeated variable", "cycle"),
    *("predicate variable", "blank node", "constant subject", "constant object"),
    *(f"variable {sign} constant" for sign in _COMPARISONS),
    *(f"constant {sign} variable" for sign in _COMPARISONS),
    *("variable with variable", "window", "IN", "NOT IN", "&&", "||", "!", "boolean value"),
    *_FUNCTIONS,
    *("OPTIONAL", "OPTIONAL with FILTER", "UNION", "MINUS", "EXISTS", "NOT EXISTS", "VALUES", "UNDEF", "BIND", "GRAPH"),
    *("path ^", "path /", "path |", "path +", "path *", "path ?", "path !"),
    *("COUNT", "COUNT(*)", "GROUP BY", "aggregate without GROUP BY", "HAVING", "dataset with graphs"),
    *("SELECT *", "projection", "unbound projection", "DISTINCT", "REDUCED", "ASK", "CONSTRUCT", "sub-select"),
    *("ORDER BY", "LIMIT", "OFFSET"),
    *("entailment taxonomy", "entailment rdfs", "tc:instance", "tc:descendant", "tc:ancestor", "path along a taxonomy"),
    *("rdfs:member", "ft:contains", "ft:score", "phrase", "ftand", "ftor", "ftnot", "ftnear", "all words", "any word"),
    *("ordered", "window of words", "distance at least", "distance at most", "case sensitive", "diacritics sensitive"),
    *("stemming", "wildcards"),
    *(f"{name} in the index" for name in _DECIDED),
)
"""Every one of them occurs on the matching and on the failing side of a run, or the run fails."""


def constructs_of(query: q.Query) -> frozenset[str]:
    found = {name for part in parts(query) for name in _names(part)}
    return frozenset(found | _form(query))


def decided_among(constructs: frozenset[str], text: str, entailed: bool) -> frozenset[str]:
    """The census rows of a query's constructs that the index decides; `entailed`: it is read with a taxonomy."""
    template, constants = parse_template(text)
    if not plan_of(template, constants, entailed).decided:
        return frozenset()
    return frozenset(f"{name} in the index" for name in constructs.intersection(_DECIDED))


def parts(node: object) -> Iterator[object]:
    """Every dataclass of the tree, from the root."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            if not _is_term(node):
                stack.extend(reversed(node))
        elif names := _fields_of(type(node)):
            yield node
            stack.extend([getattr(node, name) for name in names])


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    """The names of a dataclass's fields, last first; of another type none."""
    return tuple(field.name for field in reversed(fields(kind))) if is_dataclass(kind) else ()


def _is_term(node: object) -> bool:
    return isinstance(node, tuple) and len(node) in (2, 4) and isinstance(node[0], str)


def constants_of(query: q.Query) -> frozenset[Term]:
    """Every term written in the query."""
    return frozenset(_terms(query))


def keys_of(query: q.Query) -> frozenset[Term]:
    """The terms in the query's triple and path patterns and its graph names: what it can share with a publication."""
    held = [
        part.name if isinstance(part, q.Graph) else part for part in parts(query.select) if isinstance(part, _KEYED)
    ]
    return frozenset(term for part in held for term in _terms(part))


_KEYED = q.Step | q.Graph


def _terms(node: object) -> Iterator[Term]:
    if _is_term(node):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _terms(part)
    else:
        for name in reversed(_fields_of(type(node))):
            yield from _terms(getattr(node, name))


def _form(query: q.Query) -> set[str]:
    select = query.select
    found = {"SELECT *" if select.variables is None else "projection"}
    if query.form != "select":
        found = {query.form.upper()}
    if select.variables is not None and not set(select.variables) <= set(q.variables_of(select.pattern)):
        found.add("unbound projection")
    if any(isinstance(part, q.Select) for part in parts(select.pattern)):
        found.add("sub-select")
    steps = [step for part in parts(select) if isinstance(part, q.Basic) for step in part.steps]
    found.add("1 pattern" if len(steps) == 1 else "2 patterns" if len(steps) == 2 else "3 patterns or more")
    return found


def _names(part: object) -> Iterator[str]:
    match part:
        case q.Basic(steps):
            yield from _names_of_steps(steps)
        case q.Compare() | q.Member() | q.Logic() | q.Not() | q.Call() | q.Exists() | q.FullText():
            yield from _names_of_expression(part)
        case fulltext.Phrase() | fulltext.Both() | fulltext.Either() | fulltext.Never() | fulltext.Chain():
            yield from _names_of_selection(part)
        case fulltext.Filtered():
            yield from _names_of_selection(part)
        case q.Filter(q.Var(), _) | q.Not(q.Var()):
            yield "boolean value"
        case q.Optional(_, _, condition):
            yield "OPTIONAL" if condition is None else "OPTIONAL with FILTER"
            if isinstance(condition, q.Var):
                yield "boolean value"
        case q.Union() | q.Minus() | q.Bind() | q.Graph():
            yield type(part).__name__.upper()
        case q.Values(_, rows):
            yield "VALUES"
            if any(None in row for row in rows):
                yield "UNDEF"
        case q.Select(_, _, distinct, order, offset, limit, reduced):
            used = {
                "DISTINCT": distinct,
                "REDUCED": reduced,
                "ORDER BY": order,
                "OFFSET": offset,
                "LIMIT": limit is not None,
            }
            yield from (name for name, here in used.items() if here)
        case q.Group(_, keys, _, having):
            yield "GROUP BY" if keys else "aggregate without GROUP BY"
            if having is not None:
                yield "HAVING"
        case q.Count(_, argument, _):
            yield "COUNT(*)" if argument is None else "COUNT"
        case q.Repeat(link, at_least, many):
            yield "path +" if at_least else "path *" if many else "path ?"
            if link in (q.Link(CLASS), q.Link(PROPERTY), q.Link(BROADER)):
                yield "path along a taxonomy"
        case q.Inverse() | q.Chain() | q.Choice() | q.NoneOf():
            yield "path " + {q.Inverse: "^", q.Chain: "/", q.Choice: "|", q.NoneOf: "!"}[type(part)]


def _names_of_selection(part: object) -> Iterator[str]:
    match part:
        case fulltext.Phrase(words, case, marks, stemming, wildcards):
            used = (len(words) > 1, case, marks, stemming, wildcards)
            names = ("phrase", "case sensitive", "diacritics sensitive", "stemming", "wildcards")
            yield from (name for name, here in zip(names, used, strict=True) if here)
        case fulltext.Both(_, short):
            yield "all words" if short else "ftand"
        case fulltext.Either(_, short):
            yield "any word" if short else "ftor"
        case fulltext.Never():
            yield "ftnot"
        case fulltext.Chain():
            yield "ftnear"
        case fulltext.Filtered(_, "distance", least, most):
            yield from ("distance at least",) * (least is not None) + ("distance at most",) * (most is not None)
        case fulltext.Filtered(_, rule):
            yield {"ordered": "ordered", "window": "window of words"}[rule]


def _names_of_expression(part: q.Expression) -> Iterator[str]:
    match part:
        case q.Compare(operator, left, right):
            kinds = (isinstance(left, q.Var), isinstance(right, q.Var))
            if kinds == (True, True):
                yield "variable with variable"
            elif True in kinds and (isinstance(left, q.Constant) or isinstance(right, q.Constant)):
                yield f"variable {operator} constant" if kinds[0] else f"constant {operator} variable"
        case q.Member(_, _, negated):
            yield "NOT IN" if negated else "IN"
        case q.Logic(operator, arguments):
            yield operator
            if any(isinstance(argument, q.Var) for argument in arguments):
                yield "boolean value"
            if operator == "&&" and all(isinstance(argument, q.Compare) for argument in arguments):
                yield "window"
        case q.Not(argument):
            yield "!"
            if isinstance(argument, q.Var):
                yield "boolean value"
        case q.Call(function, _):
            yield function
        case q.FullText():
            yield "ft:contains"
        case q.Exists(_, negated):
            yield "NOT EXISTS" if negated else "EXISTS"


def _names_of_steps(steps: tuple[q.Step, ...]) -> Iterator[str]:
    seen: dict[q.Var, int] = {}
    edges: list[set[q.Var]] = []
    for step in steps:
        nodes = [node for node in (step.subject, step.predicate, step.object) if isinstance(node, q.Var)]
        for node in set(nodes):
            seen[node] = seen.get(node, 0) + 1
        edges.append(set(nodes))
        if len(set(nodes)) < len(nodes):
            yield "repeated variable"
        if isinstance(step.predicate, q.Var):
            yield "predicate variable"
        if any(node.hidden for node in nodes):
            yield "blank node"
        if step.predicate == MEMBER:
            yield "rdfs:member"
        if not isinstance(step.subject, q.Var):
            yield "constant subject"
        if not isinstance(step.object, q.Var):
            yield "constant object"
    if any(count > 1 for count in seen.values()):
        yield "shared variable"
    if _cyclic(edges):
        yield "cycle"


def _cyclic(edges: list[set[q.Var]]) -> bool:
    """Whether the patterns, as edges between their variables, close a circle of two or more patterns."""
    group: dict[q.Var, int] = {}
    for number, edge in enumerate(edges):
        if len(edge) < 2:
            continue
        first, *others = edge
        group.setdefault(first, -number - 1)
        for other in others:
            if group.get(other) == group[first]:
                return True
            joined = group.get(other)
            group[other] = group[first]
            group.update({variable: group[first] for variable, name in group.items() if name == joined is not None})
    return False
