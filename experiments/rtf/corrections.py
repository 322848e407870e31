"""The forms in which the algorithms run.

The paper's text is followed where it says something. Each correction is needed for right answers and can be turned off,
which gives the literal form and its wrong answers; what is spared keeps the answers and leaves out work that the text
asks for. `README.md` tells them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    c1_variable_roots: bool = True
    """Tries whose root is a variable or the wildcard are visited for every triple; line 138 names only the root
    whose content is the triple's subject, under which the query of figure 1 never matches."""
    c2_joined: bool = True
    """A query matches when its marked tuples agree on their variables, between tuples and within one; the scan of
    line 147 asks only that each tuple is marked. iBroker keeps its variables (line 153, iv) but no step compares them.
    """
    c3_cleared: bool = True
    """Marks are those of one publication; no step of lines 138 to 147 takes them back."""
    c4_notified_once: bool = True
    """A subscription that was cut at its disjunctions, or begins in several triples (iBroker), is told once."""
    c5_negated: bool = True
    """What must not stand in a text is looked at after the traversal; negation is promised (line 13) and no step
    speaks of it."""
    c6_one_statement: bool = True
    """RTFs: the structural half and the words of a tuple are reached by one and the same triple (figure 3 is "not
    described in detail")."""
    c7_positions_kept: bool = True
    """iBroker: distances are kept beside the list of words that replaces its value (line 157 keeps the words
    alone)."""
    k1_hashed: bool = False
    """Children are looked up by content; lines 88 and 138 have a list, of which each is examined. iBroker: the
    entry of a query in the next bucket is looked up; lines 153 to 155 refer to the bucket only."""
    k2_touched_only: bool = False
    """Only queries with a marked tuple are looked at; line 147 scans the query table."""


CORRECTED = Form()
"""Right, and otherwise step by step as the text has it."""
LITERAL = Form(*(False,) * 9)
"""As the text has it."""
SPARED = Form(k1_hashed=True, k2_touched_only=True)
"""Right, and spared what a hash table spares."""
