"""Template to plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from triplecast.compile.cases import Undecidable
from triplecast.compile.conditions import NamedClause
from triplecast.compile.constants import place_of
from triplecast.compile.decided import Decided, Kept, decide_query
from triplecast.compile.necessary import Conjunction, necessary_conditions
from triplecast.compile.plan import ATOMS_LIMIT, PATTERNS_LIMIT, Answer, Atom, Branch, Clause, Cost, Plan
from triplecast.compile.refusals import check_constant_regexes, refuse_no_solutions
from triplecast.compile.texts import WORD, NamedText, NeededWord, shape_of, texts_within
from triplecast.model.algebra import (
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Group,
    OrderBy,
    Pattern,
    Produce,
    Project,
    Query,
    Reduced,
    Slice,
    Slot,
    Variable,
    subexpressions,
)

if TYPE_CHECKING:
    from triplecast.languages import Template


def compile_template(template: Template, constants: tuple[str, ...], entailed: bool = False) -> Plan:
    """The plan of a template, made with the `constants` of one of its subscriptions.

    It serves every subscription of the template whose constants have the kinds that `plan.comparisons` was made for
    (see `kinds_of`); with `entailed`, of publications read with a taxonomy. Raises `QueryRefused` for what can never
    match.
    """
    return compile_query(template.query, template.slots, constants, entailed)


def compile_query(
    query: Query, slots: int, constants: tuple[str, ...], entailed: bool = False, within_aggregate: bool = False
) -> Plan:
    """`within_aggregate`: the query is known to give nothing on the empty graph, so that an aggregate over no solutions
    gives nothing on any publication (see `aggregate_within`)."""
    refuse_no_solutions(query)
    check_constant_regexes(query)
    texts = tuple(dict.fromkeys(texts_within(query.pattern)))
    try:
        decided = decide_query(query, constants, entailed)
    except Undecidable as fault:
        pattern = aggregate_within(query.pattern) if within_aggregate else None
        branches = necessary_conditions(pattern or query.pattern, constants, entailed)
        return _number(branches, None, str(fault), slots, constants, texts)
    return _number(decided.conjunctions, decided, "", slots, constants, texts)


def kinds_of(plan: Plan, constants: tuple[str, ...]) -> tuple[object, ...]:
    """The kinds of the constants that the plan compares by value, whether those differ that differed for it, and the
    shapes of what its texts need; equal kinds may share a plan."""
    kinds = tuple([place_of(constants[reference])[0] for reference in plan.comparisons if reference < plan.slots])
    if not plan.unlike and not plan.texts:
        return kinds
    differ = (len({plan.reference(constants, each) for each in group}) == len(group) for group in plan.unlike)
    return (*kinds, *differ, *(shape_of(text.needed(constants)) for text in plan.texts))


def aggregate_within(pattern: Pattern) -> Pattern | None:
    """What is aggregated, if the query is one aggregate without GROUP BY under conditions without EXISTS.

    Such a query sees of a publication nothing but the solutions of that pattern: where there are none, it answers as on
    the empty graph.
    """
    while True:
        match pattern:
            case Project(inner, _) | Distinct(inner) | Reduced(inner) | Slice(inner, _, _):
                pattern = inner
            case OrderBy(inner, conditions):
                if any(_asks_exists(condition) for condition, _ in conditions):
                    return None
                pattern = inner
            case Filter(condition, inner) | Extend(inner, _, condition):
                if _asks_exists(condition):
                    return None
                pattern = inner
            case Produce(inner, _, _, _):
                pattern = inner
            case Group(inner, (), _):
                return inner
            case _:
                return None


def _asks_exists(expression: Expression) -> bool:
    return any(isinstance(part, Exists) for part in subexpressions(expression))


class _Numbers:
    """Variable numbers and references of constants of a plan in the making."""

    def __init__(self, slots: int, words: tuple[NeededWord, ...]) -> None:
        self.slots = slots
        self.words = {word: slots + number for number, word in enumerate(words)}
        self.fixed: dict[str, int] = {}

    def reference(self, constant: NamedNode | Literal | Slot | str) -> int:
        if isinstance(constant, Slot):
            return constant.index
        return self.slots + len(self.words) + self.fixed.setdefault(str(constant), len(self.fixed))

    def branch(self, conjunction: Conjunction) -> tuple[Branch, dict[Variable, int]]:
        variables = {variable: number for number, variable in enumerate(conjunction.variables())}

        def node(place: Variable | NamedNode | Literal | Slot) -> int:
            return -variables[place] - 1 if isinstance(place, Variable) else self.reference(place)

        def clause(atoms: NamedClause) -> Clause:
            return tuple(
                Atom(variables[atom.variable], atom.operator, atom.lane, self.reference(atom.constant))
                for atom in atoms
            )

        patterns = tuple(
            (node(pattern.subject), node(pattern.predicate), node(pattern.object)) for pattern in conjunction.patterns
        )
        words = tuple(
            (-variables[word.text.variable] - 1, self.reference(WORD), self.words[word]) for word in conjunction.words
        )
        usable = [clause for clause in conjunction.clauses if all(atom.variable in variables for atom in clause)]
        return Branch(
            (patterns + words)[:PATTERNS_LIMIT], tuple(clause(atoms) for atoms in usable), len(variables)
        ), variables


def _number(
    conjunctions: tuple[Conjunction, ...],
    decided: Decided | None,
    reason: str,
    slots: int,
    constants: tuple[str, ...],
    texts: tuple[NamedText, ...],
) -> Plan:
    words = tuple(dict.fromkeys(word for conjunction in conjunctions for word in conjunction.words))
    numbers = _Numbers(slots, words)
    made = [numbers.branch(conjunction) for conjunction in conjunctions]
    branches = tuple(branch for branch, _ in made)
    atoms = [sum(map(len, branch.clauses)) for branch in branches]
    if (max(atoms) if decided else sum(atoms)) > ATOMS_LIMIT:
        bare = tuple(conjunction._replace(clauses=()) for conjunction in conjunctions)
        return _number(bare, None, reason or f"more than {ATOMS_LIMIT} comparisons", slots, constants, texts)
    unlike = tuple(tuple(numbers.reference(each) for each in group) for group in decided.unlike) if decided else ()
    compared = {atom.reference for branch in branches for clause in branch.clauses for atom in clause}
    return Plan(
        decided=decided is not None,
        branches=branches,
        slots=slots,
        fixed=tuple(numbers.fixed),
        answers=tuple(_answer(kept, variables) for kept, (_, variables) in zip(decided.kept, made, strict=True))
        if decided
        else (),
        combination=decided.combination if decided else None,
        residuals=tuple(conjunction.residual for conjunction in conjunctions) if decided else (),
        reason=reason,
        cost=max(map(cost_of, branches), key=list(Cost).index),
        bare=decided is not None
        and any(isinstance(each.predicate, Variable) for conjunction in conjunctions for each in conjunction.patterns),
        comparisons=tuple(sorted(compared)),
        unlike=unlike,
        words=words,
        texts=texts,
    )


def _answer(kept: Kept, variables: dict[Variable, int]) -> Answer:
    columns = tuple((variable.name, variables[variable]) for variable in kept.variables)
    return Answer(columns, kept.distinct, kept.ask)


def cost_of(branch: Branch) -> Cost:
    """That of its narrowest pattern; a needed word is one with a constant object."""
    if any(subject >= 0 or end >= 0 for subject, _, end in branch.patterns):
        return Cost.NARROW
    return Cost.PREDICATE if any(predicate >= 0 for _, predicate, _ in branch.patterns) else Cost.BROAD
