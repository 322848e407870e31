"""What must be corrected in sections 3.4 and 3.5 for what the filter tells to be right, rule by rule, event by event.

Each is a switch, so that the printed form runs too; ``tests/experiments/mdv/test_mdv.py`` shows what each changes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Corrections:
    """All on: right. All off: as printed (`AS_PRINTED`)."""

    c1_pairs: bool = True
    """Candidates are resources: one that leaves a rule while another still holds it is told of neither. Here they are
    pairs of a rule and a resource."""
    c2_stale_results_leave: bool = True
    """"The results of atomic rules join rules depend on are materialized": nothing says that they are taken away again
    where the resource changes, so that later joins find what is no more."""
    c3_inner_candidates: bool = True
    """Input of the second execution are the resources that end rules gave. Then what was taken away of inner atomic
    rules (c2) is not derived again, unless it belongs to a modified resource itself."""
    c4_known_results: bool = True
    """Results of end rules are not kept, so that what matched before matches "again": a resource with several
    references, or one that is registered anew."""
    c5_events: bool = True
    """"Several documents in one batch": what one brings and the next takes away is told of neither."""
    c6_pairs_of_rules: bool = True
    """No error, but cost: "all atomic rules depending on the atomic rules currently stored in ResultObjects are
    determined", which of a shared one are as many as there are rules. Here a join rule is found by both its sources."""


AS_PRINTED = Corrections(*(False,) * 6)
CORRECTED = Corrections()
