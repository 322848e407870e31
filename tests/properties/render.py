"""The text of a generated query: any spelling that means the tree, chosen by a seed.

Invariant: `render(query, style)` is valid SPARQL 1.1 whose algebra is `query`, whatever the style; style None is the
plain one that the shrinker prints.
"""

from __future__ import annotations

import re
from random import Random

from tests.reference import queries as q
from tests.reference.fulltext import render as render_selection
from tests.reference.terms import RDF, STRING, XSD, Term, write

PREFIXES = {"e": "http://example.org/", "xsd": XSD, "ft": "urn:triplecast:ft:", "tc": "urn:triplecast:taxonomy:"}
_LOCAL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SHORTHAND = {
    XSD + "integer": re.compile(r"[+-]?[0-9]+"),
    XSD + "decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD + "double": re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+"),
    XSD + "boolean": re.compile(r"true|false"),
}


def render(query: q.Query, style: int | None) -> str:
    """The query as text. Equal arguments give equal text."""
    return _Writer(Random(style) if style is not None else None).query(query)


class _Writer:
    def __init__(self, random: Random | None) -> None:
        self.random = random
        self.fresh = 0

    def chance(self, probability: float) -> bool:
        return self.random is not None and self.random.random() < probability

    # ---- terms

    def term(self, term: Term, expression: bool = False) -> str:
        if term[0] == "iri":
            return self.iri(term[1])
        _, lexical, datatype, language = term
        shorthand = _SHORTHAND.get(datatype)
        if shorthand and shorthand.fullmatch(lexical) and not self.chance(0.3):
            return f" {lexical} "
        text = self.quoted(lexical)
        if language:
            return f"{text}@{language.upper() if self.chance(0.3) else language}"
        if datatype == STRING:
            return f"{text}^^xsd:string" if self.chance(0.1) else text
        return f"{text}^^{self.iri(datatype)}"

    def iri(self, text: str) -> str:
        for prefix, start in PREFIXES.items():
            if text.startswith(start) and _LOCAL.fullmatch(text[len(start) :]) and not self.chance(0.3):
                return f"{prefix}:{text[len(start) :]}"
        return f"<{self.escaped(text)}>" if self.chance(0.2) else f"<{text}>"

    def escaped(self, text: str) -> str:
        """Some characters as numeric escapes."""
        return "".join(
            (f"\\u{ord(c):04X}" if ord(c) < 0x10000 else f"\\U{ord(c):08X}") if c.isalnum() and self.chance(0.1) else c
            for c in text
        )

    def quoted(self, lexical: str) -> str:
        written = write(("literal", lexical, STRING, ""))[1:-1]
        if self.chance(0.1):
            return '"""' + written + '"""'
        if self.chance(0.2):
            return "'" + written.replace("'", "\\'") + "'"
        if self.chance(0.2) and "\\" not in written:
            written = self.escaped(written)
        return f'"{written}"'

    def node(self, node: q.Node) -> str:
        if isinstance(node, q.Var):
            return node.name if node.hidden else f"{'$' if self.chance(0.05) else '?'}{node.name}"
        return self.term(node)

    def predicate(self, predicate: q.Node | q.Path) -> str:
        if not isinstance(predicate, q.Var | tuple):
            return self.path(predicate)
        if predicate == ("iri", RDF + "type") and not self.chance(0.3):
            return "a"
        return self.node(predicate)

    def path(self, path: q.Path) -> str:
        match path:
            case q.Link(predicate):
                return self.iri(predicate[1])
            case q.Inverse(inner):
                return f"^({self.path(inner)})"
            case q.Chain(first, second):
                return f"({self.path(first)}/{self.path(second)})"
            case q.Choice(first, second):
                return f"({self.path(first)}|{self.path(second)})"
            case q.Repeat(inner, at_least, many):
                return f"({self.path(inner)}){'+' if at_least else '*' if many else '?'}"
            case q.NoneOf(forward, inverse):
                return (
                    "!(" + "|".join([self.iri(p[1]) for p in forward] + ["^" + self.iri(p[1]) for p in inverse]) + ")"
                )
        raise TypeError(f"no path: {path!r}")

    # ---- expressions

    def expression(self, expression: q.Expression) -> str:
        match expression:
            case q.Var():
                return self.node(expression)
            case q.Constant(term):
                return self.term(term)
            case q.Compare(operator, left, right):
                return f"({self.expression(left)} {operator} {self.expression(right)})"
            case q.Logic(operator, arguments):
                return "(" + f" {operator} ".join(self.expression(argument) for argument in arguments) + ")"
            case q.Not(argument):
                return f"!({self.expression(argument)})"
            case q.Member(argument, choices, negated):
                listed = ", ".join(self.expression(choice) for choice in choices)
                return f"({self.expression(argument)} {'NOT IN' if negated else 'IN'} ({listed}))"
            case q.Exists(pattern, negated):
                return f"{'NOT ' if negated else ''}EXISTS {{ {self.group(pattern)} }}"
            case q.Call("ft:score", (argument, q.Constant(terms))):
                return f"ft:score({self.expression(argument)}, {self.quoted(terms[1])})"
            case q.Call(function, arguments):
                name = function.lower() if self.chance(0.2) else function
                return f"{name}({', '.join(self.expression(argument) for argument in arguments)})"
            case q.FullText(argument, selection):
                return f"ft:contains({self.expression(argument)}, {self.quoted(render_selection(selection))})"
        raise TypeError(f"no expression: {expression!r}")

    # ---- patterns

    def group(self, pattern: q.Pattern) -> str:
        """What stands between the braces of a group that means `pattern`."""
        filters: list[str] = []  # pyoxigraph ends the scope of a blank node's label at EXISTS, so that stands last
        while isinstance(pattern, q.Filter):
            filters.append(f"FILTER({self.expression(pattern.condition)})")
            pattern = pattern.pattern
        elements = self.elements(pattern)
        for written in filters:
            movable = self.chance(0.4) and not isinstance(pattern, q.Select) and "EXISTS" not in written
            elements.insert(self.random.randrange(len(elements) + 1) if movable else len(elements), written)
        return " ".join(elements)

    def elements(self, pattern: q.Pattern) -> list[str]:
        """The elements of a group that means `pattern`; filters only inside braces of their own."""
        match pattern:
            case q.Filter() | q.Select():
                return [f"{{ {self.select(pattern) if isinstance(pattern, q.Select) else self.group(pattern)} }}"]
            case q.Basic(steps):
                return self.steps(steps)
            case q.Join(left, right) if isinstance(right, q.Values | q.Graph):
                return self.elements(left) + self.elements(right)
            case q.Join(left, right):
                return [*self.elements(left), f"{{ {self.inside(right)} }}"]
            case q.Optional(left, right, condition):
                inner = self.inside(right) if not isinstance(right, q.Filter) else f"{{ {self.group(right)} }}"
                written = "" if condition is None else f" FILTER({self.expression(condition)})"
                return [*self.elements(left), f"OPTIONAL {{ {inner}{written} }}"]
            case q.Union(left, right):
                return [f"{{ {self.inside(left)} }} UNION {{ {self.inside(right)} }}"]
            case q.Minus(left, right):
                return [*self.elements(left), f"MINUS {{ {self.inside(right)} }}"]
            case q.Values(variables, rows):
                names = " ".join(f"?{variable.name}" for variable in variables)
                listed = " ".join(
                    f"({' '.join('UNDEF' if term is None else self.term(term) for term in row)})" for row in rows
                )
                return [f"VALUES ({names}) {{ {listed} }}"]
            case q.Bind(inner, variable, expression):
                return [*self.elements(inner), f"BIND({self.expression(expression)} AS ?{variable.name})"]
            case q.Graph(name, inner):
                return [f"GRAPH {self.node(name)} {{ {self.inside(inner)} }}"]
        raise TypeError(f"no pattern: {pattern!r}")

    def inside(self, pattern: q.Pattern) -> str:
        return self.select(pattern) if isinstance(pattern, q.Select) else self.group(pattern)

    def steps(self, steps: tuple[q.Step, ...]) -> list[str]:
        """Each step ends with a full stop, or shares its subject with the next one."""
        written: list[str] = []
        for number, step in enumerate(steps):
            shared = number > 0 and steps[number - 1].subject == step.subject and self.chance(0.5)
            ending = f"{self.predicate(step.predicate)} {self.node(step.object)} ."
            if shared:
                written[-1] = written[-1].removesuffix(".") + "; " + ending
            else:
                written.append(f"{self.node(step.subject)} {ending}")
        return written

    # ---- whole queries

    def select(self, select: q.Select) -> str:
        names = "*" if select.variables is None else " ".join(f"?{variable.name}" for variable in select.variables)
        distinct = "DISTINCT " if select.distinct else "REDUCED " if select.reduced else ""
        inner, grouping = select.pattern, ""
        if isinstance(inner, q.Group):
            written = {each.name: self.count(each) for each in inner.counts}
            names = " ".join(f"({written[v]} AS ?{v.name})" if v in written else f"?{v.name}" for v in select.variables)
            grouping, inner = self.grouping(inner), inner.pattern
        return f"SELECT {distinct}{names} WHERE {{ {self.group(inner)} }}{grouping}{self.modifiers(select)}"

    def count(self, count: q.Count) -> str:
        counted = "*" if count.argument is None else self.node(count.argument)
        return f"COUNT({'DISTINCT ' if count.distinct else ''}{counted})"

    def grouping(self, group: q.Group) -> str:
        """GROUP BY and HAVING, in which an aggregate stands in the place of its variable."""
        keys = f" GROUP BY {' '.join(self.node(key) for key in group.keys)}" if group.keys else ""
        if group.having is None:
            return keys
        written = self.expression(group.having)
        for each in group.counts:
            written = re.sub(rf"[?$]{each.name.name}\b", lambda _, each=each: self.count(each), written)
        return f"{keys} HAVING ({written})"

    def modifiers(self, select: q.Select) -> str:
        order = [f"{'DESC' if down else 'ASC'}({self.expression(key)})" for key, down in select.order]
        parts = [f"ORDER BY {' '.join(order)}"] if order else []
        parts += [f"LIMIT {select.limit}"] if select.limit is not None else []
        parts += [f"OFFSET {select.offset}"] if select.offset else []
        return "".join(f" {part}" for part in parts)

    def query(self, query: q.Query) -> str:
        if query.form == "ask":
            body = f"ASK {{ {self.group(query.select.pattern)} }}"
        elif query.form == "construct":
            template, where = " ".join(self.steps(query.template)), self.group(query.select.pattern)
            body = f"CONSTRUCT {{ {template} }} WHERE {{ {where} }}"
        else:
            body = self.select(query.select)
        used = [f"PREFIX {prefix}: <{start}>" for prefix, start in PREFIXES.items() if f"{prefix}:" in body]
        return "\n".join([*used, body])
