"""What must be corrected in the 2007 text for its ``match`` (section 4.5, lines 298 to 322) to be right.

Each is a switch, so that the printed form runs too; ``tests/experiments/rss_cluster/test_rss_cluster.py`` shows what
each changes.
Listing lines are those of ``match``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Corrections:
    """All on: right. All off: as printed (`AS_PRINTED`)."""

    c1_both_ends_count: bool = True
    """Line 300: the satisfied subscriptions are those without constraints at *either* end, those whose constraints on
    v' hold, and those whose constraints on w' hold. One that limits both ends must not come by one of them alone."""
    c2_all_constraints_of_an_end_count: bool = True
    """A subscription with two constraints on one variable stands in two lists and must be found in both."""
    c3_constraints_hold_of_what_is_joined: bool = True
    """Line 7 puts the row into the edge's one binding table as soon as one subscription's constraints hold of it, and
    constraints are not looked at again: others that share the edge join rows that they exclude. They are looked at once
    more on each joined row, as ``CheckConstraint`` of 2005 does."""
    c4_tables_are_cleared: bool = True
    """Nothing empties the binding tables between publications."""
    c5_loops_keep_both_ends: bool = True
    """Line 300 lets v' and w' be stars each for itself, so that (*i *i) would take edges whose ends differ."""


AS_PRINTED = Corrections(*(False,) * 5)
CORRECTED = Corrections()
