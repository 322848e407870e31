"""Who answers standing queries in the benchmark tells the same changes of the same documents."""

from __future__ import annotations

import pytest

from benchmarks.peers.standing.contest import OXIGRAPH, RELATIONAL, TRIPLECAST, Limits, Request, StandingContest
from benchmarks.workloads.mdv import COMP, HUB, JOIN, OID, PATH, RuleBase

REQUESTS = [
    Request("registered", range(6), 6),
    Request("registered", range(6, 9), 1),
    Request("updated", range(9), 4),
    Request("updated", range(2), 1),
    Request("removed", range(3), 1),
    Request("registered", range(2), 2),
]
BASES = (RuleBase(OID, 20), RuleBase(COMP, 100), RuleBase(JOIN, 20), RuleBase(PATH, 20, structures=4), RuleBase(HUB, 5))


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_the_filter_and_pyoxigraph_tell_the_same(base: RuleBase) -> None:
    with StandingContest(base, (RELATIONAL, OXIGRAPH), Limits(build=300, request=300)) as contest:
        told = [contest.ask(request) for request in REQUESTS]
    assert not contest.left_out
    assert all(len(each) == 2 for each in told)
    assert sum(each[RELATIONAL].answer.matches for each in told) > 9


@pytest.mark.slow
def test_triplecast_tells_the_same() -> None:
    with StandingContest(BASES[3], (TRIPLECAST, RELATIONAL), Limits(build=300, request=300)) as contest:
        assert all(len(contest.ask(request)) == 2 for request in REQUESTS)
