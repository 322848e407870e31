"""The W3C SPARQL suites through the whole product: `Engine.subscribe`, `Engine.publish`, the bindings of the match.

`test_sparql_evaluation` holds the evaluator to the same cases; here the index decides what it can, and what it only
narrows goes to the evaluator in its child. pytest -s prints how many cases each decided.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.sparql_suite import (
    ABSENT,
    SUITE,
    Case,
    difference,
    expected_of,
    manifest_cases,
    oracle_cases,
    publication_of,
    query_text,
)
from tests.conformance.test_sparql_evaluation import BY_VALUE, EXCLUDED, REFUSED
from triplecast import Engine, QueryRefused
from triplecast.engine import Receipt
from triplecast.evaluate import Solutions
from triplecast.languages import parse_query
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit

pytestmark = pytest.mark.skipif(not SUITE.is_dir(), reason=ABSENT)

NEVER = "semantics 1.2: a subscription that can never match is refused"
REFUSED_HERE = REFUSED | {"solution-seq/limit-3": NEVER}
"""Cases that `subscribe` must refuse by name, with the reason."""


INDEX_DECIDES = 266
"""Cases that never leave the index."""


def test_every_case_through_subscribe_and_publish() -> None:
    decided: Counter[str] = Counter()
    faults: list[str] = []
    cases = (*oracle_cases(), *manifest_cases())
    asked = {query_text(case) for case in cases if case.id not in EXCLUDED}
    with Engine() as engine:
        for number, case in enumerate(cases):
            if case.id in EXCLUDED:
                decided["excluded"] += 1
                assert not in_index(case) or query_text(case) in asked, f"in the index, and not asked: {case.id}"
            elif case.id in REFUSED_HERE:
                with pytest.raises(QueryRefused):
                    engine.subscribe(query_text(case), id=case.id)
                decided["refused"] += 1
            else:
                decided["index" if in_index(case) else "evaluator"] += 1
                found = difference(answer_of(engine, case, number), expected_of(case), case.id in BY_VALUE)
                if found:
                    faults.append(f"{case.id} ({'index' if in_index(case) else 'evaluator'}): {found}")
    print(f"decided by: {dict(sorted(decided.items()))}")
    assert faults == []
    assert decided["index"] >= INDEX_DECIDES
    assert sum(decided.values()) == len(cases)


def in_index(case: Case) -> bool:
    return admit(Subscription(case.id, query_text(case))).decided


def answer_of(engine: Engine, case: Case, number: int) -> Solutions:
    """Of one subscription and one publication under an identity of its own."""
    engine.subscribe(query_text(case), id=case.id)
    publication = publication_of(case)
    media_type = "application/n-quads" if case.dataset else "application/n-triples"
    graph = f"{publication.graph}/{number}"
    receipt = engine.publish(publication.quads, media_type, graph, dataset=case.dataset)
    engine.unsubscribe(case.id)
    assert not receipt.rejects, (case.id, receipt.rejects)
    assert not receipt.undecided, (case.id, receipt.undecided)
    return solutions_of(case, receipt)


def solutions_of(case: Case, receipt: Receipt) -> Solutions:
    query = parse_query(query_text(case))
    names = tuple(variable.name for variable in query.variables)
    if not receipt.matches:
        return Solutions(names, (), (), False)
    (match,) = receipt.matches
    rows = tuple(tuple(row.get(name) for name in names) for row in match.bindings)
    triples = tuple((triple.subject, triple.predicate, triple.object) for triple in match.graph)
    return Solutions(names, rows, triples, True)
