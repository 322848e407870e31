"""What must be corrected in the 2005 text for its algorithm to be right, and what would be wasted otherwise.

Each is a switch, so that the printed form runs too; ``tests/experiments/gtopss/test_gtopss_corrections.py`` shows what
each changes. Lines are those of the listings in sections 4.2 (``Insert``, ``match``, ``CheckConstraint``, ``isTrue``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Corrections:
    """All on: right. All off: as printed (`AS_PRINTED`)."""

    c1_edges_keep_their_direction: bool = True
    """``match`` 2–5 asks for every edge of the complete graph over E.v, E.w and the stars, also those that end in E.v
    or begin in E.w: a subscription's edge is taken for the reverse. The prose below the listing has it right: (v1 v2),
    (v1 *i), (*i v2), (*i *j)."""
    c2_loops_are_edges: bool = True
    """A complete graph has no edge from a node to itself, so an edge from a node to itself is never found. With it,
    (*i *i) must be asked for only where E.v is E.w."""
    c3_tables_are_cleared: bool = True
    """Nothing empties the binding tables: rows of earlier publications would be joined with those of this one."""
    c4_counters_are_cleared: bool = True
    """``match`` 15 resets the counter only of what reached it; the others would start the next publication with what is
    left. Wastes joins; with c3 no answer is wrong."""
    c5_distinct_edges_are_counted: bool = True
    """``match`` 9 counts every publication edge that fits, so one edge that fits twice stands for two. Wastes joins;
    the join with an empty table is empty."""
    c6_rows_are_added_once: bool = True
    """``match`` 10 stands in the loop over the edge's subscriptions, so that a row is added as many times as there are
    such: joins and results multiply."""
    c7_all_constraints_count: bool = True
    """``CheckConstraint`` 1–3 returns with the first variable's constraint."""
    c8_equal_means_direct_instance: bool = True
    """``isTrue`` 3 compares the value with the class; the prose (section 3.2) says direct instance. Semantics 6.3 takes
    the prose."""
    c9_types_stand_for_their_instance: bool = True
    """``isNodeDescendant(c, v)`` holds of no instance v, as nothing is below one; and whether a class is at or under
    itself is left open. A value's types stand for it, a class is its own type, and each is at, under and above itself:
    semantics 6.3."""


AS_PRINTED = Corrections(*(False,) * 9)
CORRECTED = Corrections()
