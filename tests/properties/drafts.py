"""One query drawn from one publication, its witness: some of its triples, terms replaced by variables, conditions near
the witness's values, then OPTIONAL, UNION and the others around it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.properties.literals import RELATIVES
from tests.properties.selections import text_condition, words_in
from tests.properties.taxonomies import TYPE, class_path, kin_condition
from tests.reference import queries as q
from tests.reference.expressions import holds
from tests.reference.terms import XSD, Term, Triple, iri, literal
from tests.reference.values import NotDetermined, value_of

if TYPE_CHECKING:
    from tests.properties.generate import Published, World

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
TRUE = literal("true", XSD + "boolean")


class Draft:
    """One query in the making: which variable stands for which term of the witness."""

    def __init__(self, world: World, witness: Published) -> None:
        self.world, self.random = world, world.random
        self.graph, self.triples = self.random.choice([(None, witness.triples), *(witness.named or ())])
        if not self.triples:
            self.graph, self.triples = None, witness.all_triples
        self.name = self.graph or witness.graph
        self.names: dict[Term, q.Var] = {}
        self.meaning: dict[q.Var, Term] = {}
        self.open_predicates = self.random.random() < 0.15
        self.bound = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # ---- patterns

    def query(self) -> q.Query:
        pattern: q.Pattern = self.basic(self.random.choice((1, 1, 2, 2, 2, 3, 3, 4)))
        for _ in range(self.random.choice((0, 0, 0, 0, 1, 1, 2))):
            pattern = self.larger(pattern)
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 2, 3))):
            pattern = q.Filter(self.condition(pattern), pattern)
        if self.chance(0.03 if self.graph is None else 0.85):
            pattern = q.Graph(self.name if self.chance(0.5) else q.Var("g"), pattern)
            if self.chance(0.3):
                pattern = q.Filter(self.condition(pattern), pattern)
        if self.chance(0.03):
            pattern = q.Select(pattern, self.projection(pattern), distinct=self.chance(0.5))
            pattern = q.Filter(self.condition(pattern), pattern) if self.chance(0.4) else pattern
        if self.chance(0.05):
            return self.counted(pattern)
        return self.modified(pattern)

    def counted(self, pattern: q.Pattern) -> q.Query:
        """An aggregate: a query of its own or a sub-select that joins with a small pattern."""
        shown = list(q.variables_of(pattern))
        keys = tuple(shown[: self.random.choice((0, 1, 1, 2))])
        argument = self.random.choice(shown) if shown and self.chance(0.6) else None
        count = q.Count(q.Var("count"), argument, self.chance(0.4))
        number = q.Constant(literal(str(self.random.choice((0, 1, 1, 2))), XSD + "integer"))
        operators = (">=", ">") if self.chance(0.7) else OPERATORS
        having = q.Compare(self.random.choice(operators), count.name, number) if self.chance(0.7) else None
        select = q.Select(q.Group(pattern, keys, (count,), having), (*keys, count.name))
        if keys and self.chance(0.4):
            return q.Query("select", q.Select(q.Join(select, self.without_hidden(self.related(select)))))
        return q.Query("select", select)

    def basic(self, size: int, anchor: Triple | None = None) -> q.Basic:
        """`size` connected triples of the witness with some of their terms replaced; starts near `anchor`."""
        chosen = [anchor or self.random.choice(self.triples)]
        while len(chosen) < size:
            touching = [t for t in self.triples if t not in chosen and any(set(t) & set(c) for c in chosen)]
            if not touching:
                break
            chosen.append(self.random.choice(touching))
        steps = [self.step(triple) for triple in chosen]
        if self.chance(0.05):
            steps.append(self.random.choice(steps))
        return q.Basic(tuple(steps))

    def step(self, triple: Triple) -> q.Step:
        subject, predicate, value = triple
        if self.world.classes and predicate == TYPE and self.chance(0.15):
            return q.Step(self.node(subject, 0.8), class_path(self.world), self.random.choice(self.world.classes))
        if self.chance(0.06):
            return q.Step(self.node(subject, 0.7), self.path(predicate), self.node(value, 0.7))
        name = self.node(predicate, 0.5 if self.open_predicates else 0.04)
        if isinstance(name, q.Var) and name.hidden:
            name = predicate
        return q.Step(self.node(subject, 0.8), name, self.node(value, 0.6))

    def node(self, term: Term, probability: float) -> q.Node:
        if term[0] == "blank" or term in self.names or self.chance(probability):
            if term not in self.names or self.chance(0.06):
                self.names[term] = self.variable(term)
            return self.names[term]
        return self.near(term) if self.chance(0.06) else term

    def variable(self, term: Term) -> q.Var:
        if self.meaning and self.chance(0.03):
            return self.random.choice(list(self.meaning))
        number = len(self.meaning)
        variable = q.Var(
            f"_:b{number}" if self.chance(0.08) else "xyzuvwabcdefhijklmn"[number % 19] + str(number // 19 or "")
        )
        self.meaning[variable] = term
        return variable

    def near(self, term: Term) -> Term:
        near = RELATIVES.get(term)
        return self.random.choice(near) if near else term

    def path(self, predicate: Term) -> q.Path:
        link, other = q.Link(predicate), q.Link(self.random.choice(self.world.predicates))
        return self.random.choice(
            (
                q.Inverse(link),
                q.Choice(link, other),
                q.Choice(other, q.Inverse(link)),
                q.Chain(link, q.Repeat(other, 0, True)),
                q.Chain(other, link),
                q.Repeat(link, 1, True),
                q.Repeat(link, 0, True),
                q.Repeat(link, 0, False),
                q.Repeat(q.Choice(link, other), 1, True),
                q.Repeat(q.Repeat(link, 0, False), 1, True),
                q.Chain(q.Repeat(link, 0, False), q.Repeat(other, 0, True)),
                q.NoneOf((other.predicate,)),
                q.NoneOf((other.predicate,), (link.predicate,)),
            )
        )

    def related(self, pattern: q.Pattern) -> q.Basic:
        """A small pattern that shares a variable with `pattern` where the witness allows it."""
        terms = {self.meaning.get(variable) for variable in q.variables_of(pattern)}
        near = [triple for triple in self.triples if terms & set(triple)]
        return self.basic(self.random.choice((1, 1, 2)), self.random.choice(near or self.triples))

    def larger(self, pattern: q.Pattern) -> q.Pattern:
        kind = self.random.choice(
            ("optional", "optional", "union", "union", "minus", "not exists", "exists", "values", "join", "bind")
        )
        if kind == "values":
            return self.with_values(pattern)
        if kind == "bind":
            self.bound += 1
            name = q.Var(f"bound{self.bound}")
            return q.Bind(pattern, name, self.operand(pattern))
        other: q.Pattern = self.without_hidden(self.related(pattern))
        if kind == "optional":
            condition = self.condition(q.Join(pattern, other)) if self.chance(0.4) else None
            return q.Optional(pattern, other, condition)
        if self.chance(0.3):
            other = q.Filter(self.condition(other), other)
        if kind == "union":
            return q.Union(pattern, other)
        if kind == "minus":
            return q.Minus(pattern, self.changed(other))
        if kind == "join":
            return q.Join(pattern, other)
        negated = kind == "not exists"
        return q.Filter(q.Exists(self.changed(other) if negated else other, negated), pattern)

    def without_hidden(self, basic: q.Basic) -> q.Basic:
        """Blank node labels must not be shared between groups: they become variables."""

        def shown(node):
            return q.Var("shown" + node.name[2:]) if isinstance(node, q.Var) and node.hidden else node

        return q.Basic(tuple(q.Step(shown(s.subject), shown(s.predicate), shown(s.object)) for s in basic.steps))

    def changed(self, pattern: q.Pattern) -> q.Pattern:
        """With another predicate here and there, so that a negated pattern does not always hold."""
        if not isinstance(pattern, q.Basic) or self.chance(0.4):
            return pattern
        first, *rest = pattern.steps
        return q.Basic((q.Step(first.subject, self.random.choice(self.world.predicates), first.object), *rest))

    def with_values(self, pattern: q.Pattern) -> q.Pattern:
        variables = (
            self.random.sample(shown, min(len(shown), 2)) if (shown := q.variables_of(pattern)) else [q.Var("v")]
        )
        variables = variables[: self.random.choice((1, 1, 2))]
        rows = []
        for _ in range(self.random.choice((1, 2, 2, 3))):
            row = [self.near(self.value_of(v)) if self.chance(0.85) else None for v in variables]
            rows.append(tuple(None if term is not None and term[0] == "blank" else term for term in row))
        return q.Join(pattern, q.Values(tuple(variables), tuple(rows)))

    def value_of(self, variable: q.Var) -> Term:
        return self.meaning.get(variable) or self.random.choice(self.world.values)

    # ---- conditions

    def condition(self, pattern: q.Pattern, depth: int = 2) -> q.Expression:
        """A condition over the pattern's variables; often one that holds for the witness."""
        shown = list(q.variables_of(pattern)) or [q.Var("nowhere")]
        row = {variable.name: self.meaning[variable] for variable in shown if variable in self.meaning}
        wanted = self.chance(0.6)
        for _ in range(6):
            made = self.one_condition(shown, depth)
            if not wanted or _holds(made, row):
                break
        return made

    def one_condition(self, shown: list[q.Var], depth: int) -> q.Expression:
        variable = self.random.choice(shown + [v for v in shown if self.value_of(v)[0] == "literal"] * 3)
        value = self.value_of(variable)
        if self.world.full_text and len(words_in(value)) > 1 and self.chance(0.6):
            return text_condition(variable, value, self.random)
        if self.world.classes and value[0] != "literal" and self.chance(0.15):
            return kin_condition(variable, self.world)
        draw = self.random.random()
        if draw < 0.42:
            return self.comparison(variable, value)
        if draw < 0.52:
            return self.window(variable, value)
        if draw < 0.62:
            choices = tuple(self.constant(value) for _ in range(self.random.choice((1, 2, 3))))
            return q.Member(variable, choices, self.chance(0.4))
        if draw < 0.80 and depth:
            return self.compound(shown, depth)
        if draw < 0.85:
            other = self.random.choice(shown)
            return q.Compare(self.random.choice(OPERATORS), variable, other)
        if draw < 0.97:
            return self.test(variable, value)
        return variable

    def comparison(self, variable: q.Var, value: Term) -> q.Compare:
        operator, constant = self.random.choice(OPERATORS), self.constant(value)
        return q.Compare(operator, constant, variable) if self.chance(0.2) else q.Compare(operator, variable, constant)

    def window(self, variable: q.Var, value: Term) -> q.Logic:
        lower = q.Compare(self.random.choice((">", ">=")), variable, self.constant(value))
        upper = q.Compare(self.random.choice(("<", "<=")), variable, self.constant(value))
        return q.Logic("&&", (lower, upper))

    def constant(self, value: Term) -> q.Constant:
        """The value itself, a relative of it, or anything of this world."""
        draw = self.random.random()
        if value[0] == "blank" or draw < 0.08:
            return q.Constant(self.random.choice(self.world.values + self.world.subjects[:3]))
        if draw < 0.35:
            return q.Constant(value)
        if draw < 0.5:
            return q.Constant(neighbour(value, self.random))
        return q.Constant(self.near(value))

    def compound(self, shown: list[q.Var], depth: int) -> q.Expression:
        draw = self.random.random()
        first = self.one_condition(shown, depth - 1)
        if draw < 0.4:
            return q.Not(first)
        second = self.one_condition(shown, depth - 1)
        return q.Logic("||" if draw < 0.75 else "&&", (first, second))

    def test(self, variable: q.Var, value: Term) -> q.Expression:
        """One of the functions of terms."""
        language = value[3] if value[0] == "literal" and value[3] else "en"
        tag = self.random.choice((language, language.upper(), "de", "*", ""))
        datatype = value[2] if value[0] == "literal" else XSD + "integer"
        other = self.constant(value)
        text = q.Constant(literal(value[1][: self.random.randrange(3)]))
        return self.random.choice(
            (
                q.Call("SAMETERM", (variable, other)),
                q.Call("BOUND", (variable,)),
                q.Not(q.Call("BOUND", (variable,))),
                q.Compare(self.random.choice(("=", "!=")), q.Call("LANG", (variable,)), q.Constant(literal(tag))),
                q.Member(q.Call("LANG", (variable,)), (q.Constant(literal(tag)), q.Constant(literal("en"))), False),
                q.Call("LANGMATCHES", (q.Call("LANG", (variable,)), q.Constant(literal(tag or "*")))),
                q.Compare("=", q.Call("DATATYPE", (variable,)), q.Constant(iri(datatype))),
                q.Call(self.random.choice(("ISIRI", "ISBLANK", "ISLITERAL", "ISNUMERIC")), (variable,)),
                q.Compare("=", q.Call("STR", (variable,)), q.Constant(literal(other.term[1]))),
                q.Call(self.random.choice(("CONTAINS", "STRSTARTS", "STRENDS")), (q.Call("STR", (variable,)), text)),
                q.Call("IF", (q.Call("ISLITERAL", (variable,)), q.Compare("=", variable, other), q.Constant(TRUE))),
                q.Call("COALESCE", (q.Compare("<", variable, other), q.Constant(TRUE))),
            )
        )

    def operand(self, pattern: q.Pattern) -> q.Expression:
        shown = list(q.variables_of(pattern)) or [q.Var("nowhere")]
        variable = self.random.choice(shown)
        return self.random.choice(
            (variable, q.Call("STR", (variable,)), q.Call("DATATYPE", (variable,)), q.Call("LANG", (variable,)))
        )

    # ---- modifiers

    def projection(self, pattern: q.Pattern) -> tuple[q.Var, ...] | None:
        shown = list(q.variables_of(pattern))
        if not shown or self.chance(0.35):
            return None if shown else (q.Var("nothing"),)
        self.random.shuffle(shown)
        kept = shown[: self.random.randrange(1, len(shown) + 1)]
        return tuple(dict.fromkeys([*kept, q.Var("nothing")] if self.chance(0.04) else kept))

    def modified(self, pattern: q.Pattern) -> q.Query:
        if self.chance(0.1):
            return q.Query("ask", q.Select(pattern))
        if self.chance(0.06) and (template := self.template(pattern)):
            return q.Query("construct", q.Select(pattern), template)
        variables, distinct = self.projection(pattern), self.chance(0.2)
        order: tuple[tuple[q.Expression, bool], ...] = ()
        offset, limit = 0, None
        if self.chance(0.06):
            shown = q.variables_of(pattern) if distinct is False else (variables or q.variables_of(pattern))
            if shown and self.chance(0.6):
                order = tuple((variable, self.chance(0.4)) for variable in shown[: self.random.choice((1, 2))])
            limit = self.random.choice((1, 2, 3, None))
            offset = self.random.choice((0, 0, 1, 2))
        reduced = not distinct and self.chance(0.04)
        return q.Query("select", q.Select(pattern, variables, distinct, order, offset, limit, reduced))

    def template(self, pattern: q.Pattern) -> tuple[q.Step, ...]:
        """One or two triples of the pattern's variables; some make no triple."""
        nodes = [*q.variables_of(pattern), q.Var("_:new"), *self.world.subjects[:1]]
        predicates = [*q.variables_of(pattern)[:1], *self.world.predicates[:2]]
        return tuple(
            q.Step(self.random.choice(nodes), self.random.choice(predicates), self.random.choice(nodes))
            for _ in range(self.random.choice((1, 1, 2)))
        )


def _holds(condition: q.Expression, row: dict[str, Term]) -> bool:
    try:
        return holds(condition, row, None)
    except NotDetermined:
        return False


def neighbour(value: Term, random: Random) -> Term:
    """A term whose value is one step away, or the same value in another type."""
    if value[0] != "literal":
        return value
    found = value_of(value)
    if found.family == "exact":
        number = found.number + random.choice((-1, 0, 1, -100, 7, 1000))
        if number.denominator == 1:
            name = random.choice(("integer", "decimal", "double", "float", "long", "int"))
            return literal(str(number.numerator) + (".0" if name == "decimal" else ""), XSD + name)
        return literal(f"{float(number)!r}", XSD + "double")
    if found.family in ("float", "double"):
        other = "double" if found.family == "float" else "float"
        return literal(value[1], XSD + random.choice((found.family, other)))
    if found.family in ("string", "tagged"):
        return random.choice((literal(value[1] + "a"), literal(value[1], language="en"), literal(value[1])))
    return value
