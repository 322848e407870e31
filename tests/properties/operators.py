"""Generated queries that ask operators, and their answers by the slow reader: what an operator gives is looked up like
a function, and a property function like a triple that the publication would have for every term."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from pyoxigraph import BlankNode, Literal, NamedNode

from tests.reference import queries as q
from tests.reference.expressions import FALSE, FUNCTIONS, TRUE
from tests.reference.solve import Dataset, Solution, answer
from tests.reference.terms import XSD, Term, Triple, iri, literal
from tests.reference.values import TypeFault
from triplecast.operators import PublicationView, Unanswerable, operator

E = "http://example.org/"
OPS = "https://example.org/generated#"
SIZE, LETTERS, EVEN = OPS + "size", OPS + "letters", OPS + "even"
BROKEN, FLAKY = OPS + "broken", OPS + "flaky"
"""One that binds and one that filters; both fail for some terms."""
BINDING = (SIZE, LETTERS, BROKEN)
FILTERS = (EVEN, FLAKY)


def size_of(text: str) -> int:
    return len(text)


def letters_of(text: str) -> list[str]:
    return sorted(set(text[-3:]) - set("0/"))


def is_even(text: str) -> bool:
    return len(text) % 2 == 0


def is_short(text: str) -> bool:
    return len(text) < 2


def fails(operator: str, text: str) -> bool:
    return is_even(text) if operator == BROKEN else operator == FLAKY and len(text) == 3


NOTES = "urn:notes"
"""The attachment that says into which file a call writes a line, if it is there."""


MOOD = "TRIPLECAST_MOOD"
"""The variable of the environment that names a file: how many of 100 calls fail, and what says which; beside it, those
that did not are noted."""


def note(event: PublicationView, operator: str, term: NamedNode | BlankNode | Literal) -> None:
    """That it ran, told by itself. It fails where the mood is bad."""
    if MOOD in os.environ:
        share, salt = Path(os.environ[MOOD]).read_text().split()
        if Random(f"{salt} {operator} {term}").randrange(100) < int(share):
            raise Unanswerable("in a bad mood")
        with open(f"{os.environ[MOOD]}.calls", "a") as calls:
            calls.write(f"{operator} {term}\n")
    path = event.attachments.get(NOTES)
    if path is not None:
        with open(path, "a") as notes:
            notes.write(f"{event.publication.value} {operator} {term}\n")


@operator(SIZE, version="1", arguments=("bound", "free"), cost=0.002)
def size(event: PublicationView, term: NamedNode | BlankNode | Literal) -> int:
    """How long a term's text is."""
    note(event, SIZE, term)
    return size_of(term.value)


@operator(LETTERS, version="1", arguments=("bound", "free"), cost=0.001, batch=True)
def letters(events: list[PublicationView], terms: list[Literal]) -> list[list[str]]:
    """The last letters of a term's text; none, one or several."""
    for event, term in zip(events, terms, strict=True):
        note(event, LETTERS, term)
    return [letters_of(term.value) for term in terms]


@operator(EVEN, version="1", arguments=("bound",), cost=0.003)
def even(event: PublicationView, term: Literal) -> bool:
    """Whether a term's text has an even number of characters."""
    note(event, EVEN, term)
    return is_even(term.value)


@operator(BROKEN, version="1", arguments=("bound", "free"))
def broken(event: PublicationView, term: Literal) -> int:
    """The size of a term of odd size; fails for others."""
    note(event, BROKEN, term)
    if fails(BROKEN, term.value):
        raise ValueError("an even one")
    return size_of(term.value)


@operator(FLAKY, version="1", arguments=("bound",))
def flaky(event: PublicationView, term: Literal) -> bool:
    """Whether a term's text is short; fails for some."""
    note(event, FLAKY, term)
    if fails(FLAKY, term.value):
        raise ValueError("three characters")
    return is_short(term.value)


# ---- the slow reader -------------------------------------------------------------------------------------------------


class Substitutes(NamedTuple):
    """What the calls that fail might have said, by their terms."""

    gives: tuple[Term, ...] = ()
    """`BROKEN`, of a term that `of` does not have."""
    holds: bool = False
    """`FLAKY`, of a term that `short` does not have."""
    of: tuple[tuple[Term, tuple[Term, ...]], ...] = ()
    short: tuple[tuple[Term, bool], ...] = ()


NOTHING = Substitutes()


def results(operator: str, term: Term, instead: Substitutes) -> tuple[Term, ...]:
    """What an operator gives; of one that filters, its truth."""
    if operator == EVEN:
        return (TRUE if is_even(term[1]) else FALSE,)
    if operator == FLAKY:
        short = dict(instead.short).get(term, instead.holds) if fails(FLAKY, term[1]) else is_short(term[1])
        return (TRUE if short else FALSE,)
    if operator == LETTERS:
        return tuple(literal(each) for each in letters_of(term[1]))
    if fails(operator, term[1]):
        return dict(instead.of).get(term, instead.gives)
    return (literal(str(size_of(term[1])), XSD + "integer"),)


def produced(triples: tuple[Triple, ...], operator: str, instead: Substitutes) -> Iterable[Triple]:
    """The triples that the publication would have for what an operator gives of its terms: nothing else is asked of it
    in a pattern."""
    if operator != BROKEN:
        return _produced(triples, operator)
    return (
        *_produced(triples, operator),
        *((term, iri(BROKEN), found) for term in failing(triples, BROKEN) for found in results(BROKEN, term, instead)),
    )


@lru_cache(maxsize=1024)
def _produced(triples: tuple[Triple, ...], operator: str) -> tuple[Triple, ...]:
    """By the calls that do not fail."""
    return tuple(
        (term, iri(operator), found)
        for term in terms_of(triples)
        if not fails(operator, term[1])
        for found in results(operator, term, NOTHING)
    )


@lru_cache(maxsize=256)
def terms_of(triples: tuple[Triple, ...]) -> tuple[Term, ...]:
    """What operators may be given: all but predicates."""
    return tuple(sorted({term for subject, _, object in triples for term in (subject, object)}))


@lru_cache(maxsize=1024)
def failing(triples: tuple[Triple, ...], operator: str) -> tuple[Term, ...]:
    return tuple(term for term in terms_of(triples) if fails(operator, term[1]))


@lru_cache(maxsize=1024)
def asked_of(query: q.Query) -> frozenset[str]:
    """The operators that a query names."""
    text = repr(query)
    return frozenset(name for name in (*BINDING, *FILTERS) if name in text)


@contextmanager
def answering(gives: Callable[[str, Term], tuple[Term, ...]]) -> Iterator[None]:
    """Within, the slow reader's expressions know the operators as functions that give this."""

    def function(name: str) -> Callable[[Term], Term]:
        def apply(term: Term) -> Term:
            found = gives(name, term)
            if len(found) != 1:
                raise TypeFault("no single result")
            return found[0]

        return apply

    own = {f"<{name}>": function(name) for name in (*BINDING, *FILTERS)}
    FUNCTIONS.update(own)
    try:
        yield
    finally:
        for name in own:
            del FUNCTIONS[name]


def answer_slowly(query: q.Query, triples: tuple[Triple, ...], instead: Substitutes = NOTHING) -> list[Solution]:
    asked = asked_of(query)
    virtual = [triple for name in BINDING if name in asked for triple in produced(triples, name, instead)]
    with answering(lambda name, term: results(name, term, instead)):
        return answer(query, Dataset((*triples, *virtual)))


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
        self.filters = FILTERS if fails else (EVEN,)
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
        name = self.random.choice((*self.binding, *self.filters))
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
            return q.Call(f"<{self.random.choice(self.filters)}>", (self.random.choice(VARIABLES[:2]),))
        if kind < 0.65:
            return q.Compare("=", VARIABLES[1], q.Constant(literal(self.random.choice(_TEXTS))))
        operator = self.random.choice(("=", "!=", "<", ">="))
        return q.Compare(operator, self.value(), q.Constant(self.constant()))
