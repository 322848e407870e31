"""The compiler: from the algebra of a template to its plan, one pass after another.

Each pass takes and returns a `PlanDraft`. `tests/golden/compile/` shows what each does to a few queries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyoxigraph import Literal

from triplecast.compile.cases import CaseFinder, Cases, Undecidable
from triplecast.compile.combination import Combination
from triplecast.compile.conjunctions import Kept, combine
from triplecast.compile.constants import Constant
from triplecast.compile.necessary import Conjunction, necessary_conditions
from triplecast.compile.plan import ATOMS_LIMIT, Cost, Plan
from triplecast.compile.term_numbers import TermNumbers, answer_of, cost_of
from triplecast.compile.texts import NamedText, texts_within
from triplecast.errors import QueryRefused
from triplecast.evaluate import check_regexes
from triplecast.languages.rewriting import calls_in
from triplecast.model import algebra
from triplecast.model.algebra import (
    Distinct,
    Expression,
    Modifier,
    Pattern,
    Project,
    Query,
    Reduced,
    Slice,
    Variable,
    subexpressions,
)


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """A plan in the making: the passes fill it from top to bottom."""

    query: Query
    slots: int
    constants: tuple[str, ...]
    """Of one subscription; the plan serves others whose constants are of the same kinds (`plans.kinds_of`)."""
    entailed: bool = False
    """The plan is for publications read with a taxonomy."""
    empty_on_empty: bool = False
    """The query is known to have no result on the empty graph, nor therefore where it has nothing to aggregate."""
    texts: tuple[NamedText, ...] = ()
    """All full-text conditions."""
    cases: Cases = ()
    unlike: tuple[tuple[Constant, ...], ...] = ()
    """Constants that differ from each other; the cases hold for constants of which this is true."""
    reason: str = ""
    """Why the evaluator has to decide; empty while the index may."""
    conjunctions: tuple[Conjunction, ...] = ()
    kept: tuple[Kept, ...] = ()
    """What is kept of the solutions of each conjunction, where the index decides."""
    combination: Combination | None = None
    plan: Plan | None = None


def compile_query(
    query: Query, slots: int, constants: tuple[str, ...], entailed: bool = False, empty_on_empty: bool = False
) -> Plan:
    """Run `PASSES`; the arguments are those of `PlanDraft`. Raises `QueryRefused` for queries that can never match."""
    draft = PlanDraft(query, slots, constants, entailed, empty_on_empty)
    for compiler_pass in PASSES:
        draft = compiler_pass(draft)
    assert draft.plan is not None
    return draft.plan


def refuse_unmatchable(draft: PlanDraft) -> PlanDraft:
    """Refuse ``LIMIT 0`` and constant regular expressions that cannot run; raises `QueryRefused`."""
    pattern: Pattern = draft.query.pattern
    while isinstance(pattern, Modifier):
        if isinstance(pattern, Slice) and pattern.limit == 0:
            raise QueryRefused("LIMIT 0", "the query can never match", "drop LIMIT, or ask for one solution or more")
        pattern = pattern.pattern
    regexes: list[tuple[str, str]] = []
    for call in calls_in(draft.query.pattern):
        if call.function in ("REGEX", "REPLACE"):
            flags = call.arguments[2 if call.function == "REGEX" else 3 :] or (Literal(""),)
            if isinstance(call.arguments[1], Literal) and isinstance(flags[0], Literal):
                regexes.append((call.arguments[1].value, flags[0].value))
    check_regexes(regexes)
    return draft


def find_texts(draft: PlanDraft) -> PlanDraft:
    """Collect the full-text conditions, each once."""
    return replace(draft, texts=tuple(dict.fromkeys(texts_within(draft.query.pattern))))


def split_cases(draft: PlanDraft) -> PlanDraft:
    """Split the pattern into a union of conjunctions with tests, or note the reason why that is impossible."""
    pattern: Pattern = draft.query.pattern
    if isinstance(pattern, Distinct | Reduced):
        pattern = pattern.pattern
    if isinstance(pattern, Project):
        pattern = pattern.pattern
    finder = CaseFinder(draft.constants, draft.entailed)
    try:
        return replace(draft, cases=finder.cases(pattern), unlike=tuple(finder.unlike))
    except Undecidable as fault:
        return replace(draft, reason=str(fault))


def combine_cases(draft: PlanDraft) -> PlanDraft:
    """Number the conjunctions of the cases and find how their rows make the answer, or note why they do not."""
    if draft.reason:
        return draft
    try:
        conjunctions, kept, combination = combine(draft.cases, draft.query)
    except Undecidable as fault:
        return replace(draft, reason=str(fault))
    return replace(draft, conjunctions=conjunctions, kept=kept, combination=combination)


def find_necessary(draft: PlanDraft) -> PlanDraft:
    """Replace the conjunctions of a query that the evaluator decides by necessary conditions (semantics 4)."""
    if not draft.reason:
        return draft
    pattern = aggregate_within(draft.query.pattern) if draft.empty_on_empty else None
    necessary = necessary_conditions(pattern or draft.query.pattern, draft.constants, draft.entailed)
    return replace(draft, conjunctions=necessary, unlike=())


def aggregate_within(pattern: Pattern) -> Pattern | None:
    """The aggregated pattern, if the query is one aggregate without GROUP BY under conditions without EXISTS.

    Such a query depends only on the solutions of that pattern: without any, it answers as on the empty graph.
    """
    while True:
        match pattern:
            case algebra.OrderBy(_, conditions) if any(_calls_exists(condition) for condition, _ in conditions):
                return None
            case algebra.Filter(condition, _) | algebra.Extend(_, _, condition) if _calls_exists(condition):
                return None
            case algebra.Group(inner, (), _):
                return inner
        if not isinstance(pattern, algebra.Modifier | algebra.Filter | algebra.Extend | algebra.Produce):
            return None
        pattern = pattern.pattern


def _calls_exists(expression: Expression) -> bool:
    return any(isinstance(part, algebra.Exists) for part in subexpressions(expression))


def limit_comparisons(draft: PlanDraft) -> PlanDraft:
    """Leave all comparisons to the evaluator where there are more than `ATOMS_LIMIT` of them."""
    atoms = [sum(map(len, conjunction.usable_clauses())) for conjunction in draft.conjunctions]
    if (sum(atoms) if draft.reason else max(atoms)) <= ATOMS_LIMIT:
        return draft
    bare = tuple(conjunction._replace(clauses=()) for conjunction in draft.conjunctions)
    reason = draft.reason or f"more than {ATOMS_LIMIT} comparisons"
    return replace(draft, reason=reason, conjunctions=bare, unlike=(), kept=(), combination=None)


def number_terms(draft: PlanDraft) -> PlanDraft:
    """Replace variables and constants by numbers, which makes the plan."""
    decided = not draft.reason
    words = tuple(dict.fromkeys(word for conjunction in draft.conjunctions for word in conjunction.words))
    numbers = TermNumbers(draft.slots, words)
    made = [numbers.branch(conjunction) for conjunction in draft.conjunctions]
    branches = tuple(branch for branch, _ in made)
    unlike = tuple(tuple(numbers.reference(each) for each in group) for group in draft.unlike)
    compared = {atom.reference for branch in branches for clause in branch.clauses for atom in clause}
    predicates = (pattern.predicate for conjunction in draft.conjunctions for pattern in conjunction.patterns)
    answers = tuple(answer_of(kept, variables) for kept, (_, variables) in zip(draft.kept, made, strict=False))
    plan = Plan(
        decided=decided,
        branches=branches,
        slots=draft.slots,
        fixed=tuple(numbers.fixed),
        answers=answers,
        combination=draft.combination,
        residuals=tuple(conjunction.residual for conjunction in draft.conjunctions) if decided else (),
        reason=draft.reason,
        cost=max(map(cost_of, branches), key=list(Cost).index),
        bare=decided and any(isinstance(predicate, Variable) for predicate in predicates),
        comparisons=tuple(sorted(compared)),
        unlike=unlike,
        words=words,
        texts=draft.texts,
    )
    return replace(draft, plan=plan)


PASSES = (refuse_unmatchable, find_texts, split_cases, combine_cases, find_necessary, limit_comparisons, number_terms)
