"""Rules: Datalog over a publication, by clingo.

A publication is facts: ``triple(S, P, O)`` for each triple (of a dataset, of any of its graphs) and ``number(L, N)``
for each literal L that is an integer N of 32 bits. An IRI is a string, a literal ``literal("text", "datatype")``, or
``literal("text", "@tag")`` with a language tag, a blank node ``blank("label")``. What rules derive is read in the same
way, and a number N as the integer that it is. The constant ``rdf_type`` stands for rdf:type. What a rule denies
(``-p(X)``, classical negation) is a predicate of its own, asked for as ``-p``; with ``p(X)`` it is a contradiction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from triplecast.errors import InputError
from triplecast.operators import PublicationView, Unanswerable
from triplecast.operators.box.programs import PRELUDE, Signature, placed, read_program, unusable
from triplecast.terms.nearness import nearest_names
from triplecast.terms.values import ILL_VALUE, ValueClass, value_of

if TYPE_CHECKING:
    from triplecast.model.algebra import Term

MOST_TRIPLES = 50_000
"""Of a publication that rules are applied to."""
VERSION = "2"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_WIDEST = 1 << 31

Rows: TypeAlias = dict[object, list[Sequence[Any]]]
"""Arguments (symbols of clingo) of a predicate's facts, by the first of them; under None, all."""


class Rules:
    """A Datalog program in clingo's language. Applied to a publication it has to have exactly one stable model, as
    every program without choices and without negation through recursion has. The process that needs it reads it when it
    is first needed."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._models = lru_cache(4)(self._derive)

    @cached_property
    def version(self) -> str:
        """Of the program: another text is another version of the operators that use it."""
        from hashlib import sha256

        return f"{VERSION}-{sha256(self._program.encode()).hexdigest()[:12]}"

    def rows(self, event: PublicationView, predicate: str, *given: Term) -> list[Any]:
        """What is derived: the other arguments of each fact of `predicate` that begins with `given`, as a tuple, or as
        a term where there is one only. Raises `Unanswerable` for a publication that is too large or that the program
        contradicts, and `InputError` for a program or a predicate that cannot be used."""
        arity = self._arity(predicate, len(given), exactly=False)
        found = [tuple(map(_term, row[len(given) :])) for row in self._matching(event, predicate, arity, given)]
        return [row[0] for row in found] if arity == len(given) + 1 else found

    def holds(self, event: PublicationView, predicate: str, *given: Term) -> bool:
        """Whether exactly this fact is there. Raises what `rows` raises."""
        arity = self._arity(predicate, len(given), exactly=True)
        return bool(self._matching(event, predicate, arity, given))

    def _matching(
        self, event: PublicationView, predicate: str, arity: int, given: Sequence[Term]
    ) -> list[Sequence[Any]]:
        symbols = list(map(_symbol, given))
        facts = self._models(event.quads, event.dataset).get((predicate, arity), {})
        return [row for row in facts.get(symbols[0] if symbols else None, []) if row[: len(given)] == symbols]

    def entails(self, event: PublicationView, subject: Term) -> list[tuple[Term, Term]]:
        """Predicate and object of each triple of a subject, stated or derived."""
        return self.rows(event, "triple", subject)

    def types(self, event: PublicationView, subject: Term) -> list[Term]:
        """The types of a subject, stated or derived."""
        return self.rows(event, "triple", subject, NamedNode(RDF_TYPE))

    def _arity(self, predicate: str, given: int, exactly: bool) -> int:
        """How many arguments the facts have that are asked for: as many as are given, or the one larger number."""
        sizes = sorted({size for name, size in self._signatures if name == predicate})
        if not sizes:
            near = nearest_names(predicate, sorted({name for name, _ in self._signatures}))
            raise InputError(
                f"no rule derives {predicate}", f"was {near[0]} meant?" if near else "add a rule with it as its head"
            )
        fitting = [size for size in sizes if (size == given if exactly else size > given)]
        if len(fitting) != 1:
            known = " and ".join(f"{predicate}/{size}" for size in sizes)
            raise InputError(f"{given} arguments are given for {known}", "give as many as leave one predicate")
        return fitting[0]

    @cached_property
    def _signatures(self) -> tuple[Signature, ...]:
        """Predicates that may hold."""
        return read_program(self._program)

    def _derive(self, quads: bytes, dataset: bool) -> dict[Signature, Rows]:
        """The one stable model, for lookups."""
        import clingo

        told: list[str] = []
        undefined: list[str] = []

        def log(code: clingo.MessageCode, message: str) -> None:
            (undefined if code == clingo.MessageCode.OperationUndefined else told).append(message)

        control = clingo.Control(logger=log)
        try:
            control.add("base", [], PRELUDE)
            control.add("base", [], self._program)
            with control.backend() as backend:
                for fact in _facts(quads, dataset):
                    backend.add_rule([backend.add_atom(fact)])
            control.ground([("base", [])])
        except RuntimeError as error:
            raise unusable(told, error) from error
        if undefined:
            raise Unanswerable(
                f"the rules calculate what has no value: {placed(undefined[0])}; let them ask first whether "
                "it is a number, and not 0 where they divide"
            )
        control.configuration.solve.models = 2
        models: list[Sequence[clingo.Symbol]] = []
        with control.solve(yield_=True) as found:
            models.extend(model.symbols(atoms=True) for model in found)
        if not models:
            raise Unanswerable(
                "the publication contradicts the rules (a constraint, or p(…) and -p(…) both); fix one of them"
            )
        if len(models) > 1:
            raise InputError("the rules leave a choice: they have several stable models", "derive without choices")
        return _indexed(models[0])


def _facts(quads: bytes, dataset: bool) -> list[Any]:
    """Raises `Unanswerable` for a publication that is too large, or has text that clingo cannot hold."""
    import clingo

    lines = quads.count(b"\n")
    if lines > MOST_TRIPLES:
        raise Unanswerable(f"rules apply to {MOST_TRIPLES:,} triples at most, and the publication has {lines:,}")
    facts: dict[Any, None] = {}
    for quad in parse(quads, format=RdfFormat.N_QUADS if dataset else RdfFormat.N_TRIPLES):
        terms = [_symbol(term) for term in (quad.subject, quad.predicate, quad.object)]
        facts[clingo.Function("triple", terms)] = None
        kind, number = value_of(quad.object) if isinstance(quad.object, Literal) else ILL_VALUE
        if kind == ValueClass.EXACT and isinstance(number, int) and -_WIDEST <= number < _WIDEST:
            facts[clingo.Function("number", [terms[2], clingo.Number(number)])] = None
    return list(facts)


def _symbol(term: object) -> Any:
    from clingo import Function, String

    if isinstance(term, NamedNode):
        return String(term.value)
    if isinstance(term, BlankNode):
        return Function("blank", [String(term.value)])
    if not isinstance(term, Literal):
        raise Unanswerable("rules apply to triples of IRIs, blank nodes and literals; leave triple terms out")
    if "\0" in term.value:
        raise Unanswerable("the publication has text with U+0000, which rules cannot read; leave it out")
    kind = f"@{term.language}" if term.language is not None else term.datatype.value
    return Function("literal", [String(term.value), String(kind)])


def _term(symbol: Any) -> Term:
    """Raises `InputError` for what stands for no term."""
    from clingo import SymbolType

    try:
        if symbol.type == SymbolType.Number:
            return Literal(symbol.number)
        if symbol.type == SymbolType.String:
            return NamedNode(symbol.string)
        texts = [part.string for part in symbol.arguments]
        if symbol.match("blank", 1):
            return BlankNode(*texts)
        if symbol.match("literal", 2):
            text, kind = texts
            return Literal(text, language=kind[1:]) if kind[:1] == "@" else Literal(text, datatype=NamedNode(kind))
    except (ValueError, RuntimeError):
        pass
    raise InputError(
        f"the rules derive {symbol}, which is no term",
        'derive absolute IRIs ("https://…"), literal("text", "datatype"), blank("label") and numbers',
    )


def _indexed(model: Sequence[Any]) -> dict[Signature, Rows]:
    indexed: dict[Signature, Rows] = {}
    for symbol in model:
        row = symbol.arguments
        rows = indexed.setdefault(("-" * symbol.negative + symbol.name, len(row)), {})
        rows.setdefault(None, []).append(row)
        if row:
            rows.setdefault(row[0], []).append(row)
    return indexed
