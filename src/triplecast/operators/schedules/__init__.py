"""In which order costly predicates are evaluated, so that as few as possible are (the operators paper, section 4).

How it is called, for one publication::

    schedule = make_schedule("adaptive", experience)   # once; `insert` and `remove` follow the registry
    run = schedule.start(conjunctions)                 # what is left to decide after everything cheap
    while wanted := run.wanted(limit):
        for predicate in wanted:
            run.learnt(predicate, holds)               # True, False, or None for an operator that failed
    run.outcomes()                                     # of each row: HOLDS, REFUTED or FAILED

A *template* is a predicate of a subscription, equal for all that unify; a *ground predicate* is one of its instances in
one publication, evaluated once for all rows that have it. A row is a conjunction of ground predicates: one joint
substitution of one subscription. The answers are the same under every schedule; which predicates are evaluated, is not.

Batches. ``wanted(limit)`` gives at most `limit` ground predicates, none of them evaluated and no two in one undecided
row (naive's may be): whatever the others turn out to be, each is still in an undecided row when it is its turn. What
asking for many costs is that they are chosen with fewer answers: nearly nothing for adaptive, a tenth for Sub-Order
(`docs/schedules.md`). Publications of a batch may step together, each with its own run.

A failed predicate leaves its rows open as long as another predicate of theirs might be false (semantics 8.1).

No I/O and no clocks: what an evaluation cost is told to `Experience` by whoever measured it.
"""

from __future__ import annotations

from triplecast.operators.schedules.catalogue import SCHEDULES, make_schedule
from triplecast.operators.schedules.conjunctions import FAILED, HOLDS, OPEN, REFUTED, Conjunctions, make_conjunctions
from triplecast.operators.schedules.experience import Experience, LearntTemplate
from triplecast.operators.schedules.interface import Run, Schedule, StandingTable

__all__ = [
    "FAILED",
    "HOLDS",
    "OPEN",
    "REFUTED",
    "SCHEDULES",
    "Conjunctions",
    "Experience",
    "LearntTemplate",
    "Run",
    "Schedule",
    "StandingTable",
    "make_conjunctions",
    "make_schedule",
]
