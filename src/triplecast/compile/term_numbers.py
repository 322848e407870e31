"""Variables and constants of a draft as the numbers of a plan."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode

from triplecast.compile.comparisons import NamedClause
from triplecast.compile.conjunctions import Kept
from triplecast.compile.necessary import Conjunction
from triplecast.compile.plan import PATTERNS_LIMIT, Answer, Atom, Branch, Clause, Cost
from triplecast.compile.texts import WORD, NeededWord
from triplecast.model.algebra import Slot, Variable


class TermNumbers:
    """Numbers the variables of each conjunction, and the constants of all."""

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
        clauses = tuple(map(clause, conjunction.usable_clauses()))
        return Branch((patterns + words)[:PATTERNS_LIMIT], clauses, len(variables)), variables


def answer_of(kept: Kept, variables: dict[Variable, int]) -> Answer:
    columns = tuple((variable.name, variables[variable]) for variable in kept.variables)
    return Answer(columns, kept.distinct, kept.ask)


def cost_of(branch: Branch) -> Cost:
    """Classify a branch by its narrowest pattern; a needed word is a pattern with a constant object."""
    if any(subject >= 0 or end >= 0 for subject, _, end in branch.patterns):
        return Cost.NARROW
    return Cost.PREDICATE if any(predicate >= 0 for _, predicate, _ in branch.patterns) else Cost.BROAD
