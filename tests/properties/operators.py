"""Generated queries that ask operators, and their answers by the slow reader: what an operator gives is looked up like
a function, and a property function like a triple that the publication would have for every term."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from pyoxigraph import BlankNode, Literal, NamedNode

from tests.reference import queries as q
from tests.reference.expressions import FALSE, FUNCTIONS, TRUE
from tests.reference.solve import Dataset, Solution, answer
from tests.reference.terms import XSD, Term, Triple, iri, literal
from tests.reference.values import TypeFault
from triplecast.operators import Event, operator

E = "http://example.org/"
OPS = "https://example.org/generated#"
SIZE, LETTERS, EVEN, BROKEN = OPS + "size", OPS + "letters", OPS + "even", OPS + "broken"
BINDING = (SIZE, LETTERS, BROKEN)


def size_of(text: str) -> int:
    return len(text)


def letters_of(text: str) -> list[str]:
    return sorted(set(text[-3:]) - set("0/"))


def is_even(text: str) -> bool:
    return len(text) % 2 == 0


@operator(SIZE, version="1", arguments=("bound", "free"), cost=0.002)
def size(event: Event, term: NamedNode | BlankNode | Literal) -> int:
    """How long a term's text is."""
    return size_of(term.value)


@operator(LETTERS, version="1", arguments=("bound", "free"), cost=0.001, batch=True)
def letters(events: list[Event], terms: list[Literal]) -> list[list[str]]:
    """The last letters of a term's text; none, one or several."""
    return [letters_of(term.value) for term in terms]


@operator(EVEN, version="1", arguments=("bound",), cost=0.003)
def even(event: Event, term: Literal) -> bool:
    """Whether a term's text has an even number of characters."""
    return is_even(term.value)


@operator(BROKEN, version="1", arguments=("bound", "free"))
def broken(event: Event, term: Literal) -> int:
    """The size of a term of odd size; fails for others."""
    if is_even(term.value):
        raise ValueError("an even one")
    return size_of(term.value)


# ---- the slow reader -------------------------------------------------------------------------------------------------


def results(operator: str, term: Term, instead: Sequence[int] | None) -> list[Term]:
    """`instead`: what is taken for the answer of a call that fails; None where none does."""
    if operator == LETTERS:
        return [literal(each) for each in letters_of(term[1])]
    if operator == BROKEN and is_even(term[1]):
        assert instead is not None
        return [literal(str(each), XSD + "integer") for each in instead]
    return [literal(str(size_of(term[1])), XSD + "integer")]


@lru_cache(maxsize=256)
def produced(triples: tuple[Triple, ...], instead: Sequence[int]) -> dict[str, tuple[Triple, ...]]:
    """By operator: the triples that the publication would have for what it gives, of every term that there can be."""
    terms = {term for triple in triples for term in triple}
    for _ in range(2):
        terms |= {found for term in terms for name in BINDING for found in results(name, term, instead)}
    return {
        name: tuple(
            (term, iri(name), found) for term in sorted(terms) for found in dict.fromkeys(results(name, term, instead))
        )
        for name in BINDING
    }


@lru_cache(maxsize=1024)
def asked_of(query: q.Query) -> frozenset[str]:
    """The operators that a query names."""
    text = repr(query)
    return frozenset(name for name in (*BINDING, EVEN) if name in text)


def answer_slowly(query: q.Query, triples: tuple[Triple, ...], instead: Sequence[int] = ()) -> list[Solution]:
    """With the answers `instead` of those of the calls that fail."""

    def call(name: str) -> object:
        def apply(term: Term) -> Term:
            found = results(name, term, instead)
            if len(found) != 1:
                raise TypeFault("no single result")
            return found[0]

        return apply

    own = {f"<{name}>": call(name) for name in BINDING} | {
        f"<{EVEN}>": lambda term: TRUE if is_even(term[1]) else FALSE
    }
    wanted = asked_of(query)
    virtual = [
        triple for name, found in produced(triples, tuple(instead)).items() if name in wanted for triple in found
    ]
    FUNCTIONS.update(own)  # type: ignore[arg-type]
    try:
        return answer(query, Dataset((*triples, *virtual)))
    finally:
        for name in own:
            del FUNCTIONS[name]


# ---- generated -------------------------------------------------------------------------------------------------------

_SUBJECTS = [iri(f"{E}s{number}") for number in range(3)]
_PREDICATES = [iri(E + name) for name in "ab"]
_TEXTS = ["a", "ab", "abc", "abcd", "bb", "cd0", ""]
VARIABLES = [q.Var(name) for name in ("x", "y", "z")]


def make_publication(random: Random) -> tuple[Triple, ...]:
    objects = [*_SUBJECTS, *map(literal, _TEXTS), literal("12", XSD + "integer"), literal("7", XSD + "integer")]
    size = random.randint(4, 9)
    return tuple(
        dict.fromkeys(
            (random.choice(_SUBJECTS), random.choice(_PREDICATES), random.choice(objects)) for _ in range(size)
        )
    )


class Maker:
    """Queries over those publications; with `fails`, some ask the operator that fails."""

    def __init__(self, random: Random, fails: bool) -> None:
        self.random = random
        self.binding = (SIZE, LETTERS, BROKEN) if fails else (SIZE, LETTERS)
        self.made = 0

    def query(self) -> q.Query:
        form = self.random.choice(("select", "select", "ask"))
        pattern = self.pattern()
        if self.random.random() < 0.15:
            inner = q.Select(self.pattern(), (VARIABLES[0],), distinct=self.random.random() < 0.5)
            pattern = q.Join(pattern, inner)
        if form == "select" and self.random.random() < 0.1:
            pattern = q.Group(pattern, (VARIABLES[0],), (q.Count(q.Var("n"), None),))
            variables: tuple[q.Var, ...] | None = (VARIABLES[0], q.Var("n"))
        else:
            variables = None
        return q.Query(form, q.Select(pattern, variables, distinct=self.random.random() < 0.2))

    def pattern(self) -> q.Pattern:
        pattern: q.Pattern = self.block()
        for _ in range(self.random.randint(1, 3)):
            pattern = self.wrapped(pattern)
        return pattern

    def block(self) -> q.Basic:
        """Triples from ?x on, maybe with what operators give for one of their variables."""
        steps = [q.Step(VARIABLES[0], self.random.choice(_PREDICATES), VARIABLES[1])]
        if self.random.random() < 0.3:
            steps.append(q.Step(VARIABLES[0], self.random.choice(_PREDICATES), VARIABLES[2]))
        if self.random.random() < 0.4:
            given = self.random.choice([step.object for step in steps])
            steps.append(q.Step(given, iri(self.random.choice(self.binding)), self.gives()))
        return q.Basic(tuple(steps))

    def gives(self) -> q.Node:
        """A new variable, one that is bound by then, or a constant."""
        kind = self.random.random()
        if kind < 0.6:
            self.made += 1
            return q.Var(f"v{self.made}")
        return VARIABLES[1] if kind < 0.7 else self.constant()

    def constant(self) -> Term:
        if self.random.random() < 0.4:
            return literal(self.random.choice(("a", "b", "c")))
        return literal(str(self.random.choice((1, 2, 3, 21))), XSD + "integer")

    def wrapped(self, pattern: q.Pattern) -> q.Pattern:
        kind = self.random.randrange(10)
        if kind < 4:
            return q.Filter(self.condition(), pattern)
        if kind == 4:
            self.made += 1
            return q.Bind(pattern, q.Var(f"v{self.made}"), self.value())
        if kind == 5:
            inside = self.block()
            condition = self.condition() if self.random.random() < 0.5 else None
            return q.Optional(pattern, inside, condition)
        if kind == 6:
            return q.Union(pattern, q.Filter(self.condition(), self.block()))
        if kind == 7:
            return q.Minus(pattern, q.Filter(self.condition(), self.block()))
        if kind == 8:
            return q.Filter(q.Exists(q.Filter(self.condition(), self.block()), self.random.random() < 0.5), pattern)
        return q.Join(pattern, self.block())

    def value(self) -> q.Expression:
        name = self.random.choice((*self.binding, EVEN))
        call = q.Call(f"<{name}>", (self.random.choice(VARIABLES[:2]),))
        return (
            call if self.random.random() < 0.7 else q.Call("IF", (self.condition(1), call, q.Constant(self.constant())))
        )

    def condition(self, depth: int = 0) -> q.Expression:
        kind = self.random.random()
        if depth < 2 and kind < 0.3:
            parts = (self.condition(depth + 1), self.condition(depth + 1))
            return q.Logic(self.random.choice(("&&", "||")), parts)
        if depth < 2 and kind < 0.4:
            return q.Not(self.condition(depth + 1))
        if kind < 0.55:
            return q.Call(f"<{EVEN}>", (self.random.choice(VARIABLES[:2]),))
        if kind < 0.65:
            return q.Compare("=", VARIABLES[1], q.Constant(literal(self.random.choice(_TEXTS))))
        operator = self.random.choice(("=", "!=", "<", ">="))
        return q.Compare(operator, self.value(), q.Constant(self.constant()))
