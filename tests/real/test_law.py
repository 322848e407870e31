"""Real documents through the engine without Spark: pairs and rows as the oracle has them, and versions."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.properties.product import rows_from
from tests.real.law import FOLDER, SHARE_WITH_RESULTS, SUBSCRIPTIONS, documents, expected, subscriptions
from triplecast import Document, Engine, Subscription

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the fetched collection law-sanipueblo is not on this machine"
)


@pytest.mark.slow
def test_same_pairs_and_rows_as_the_oracle(seed: int) -> None:
    asked, answers = subscriptions(seed), expected(seed)
    assert len({subscription for _, subscription in answers}) >= SHARE_WITH_RESULTS * SUBSCRIPTIONS
    number = {document.graph: index for index, document in enumerate(documents())}
    found = {}
    with Engine() as engine:
        registered = engine.subscribe_many([Subscription(str(at), each.text) for at, each in enumerate(asked)])
        assert [each.id for each in registered] == [str(at) for at in range(len(asked))]
        for receipt in engine.publish_many(
            Document(document.name, document.data, "application/rdf+xml", document.graph) for document in documents()
        ):
            assert receipt.rejects == ()
            assert receipt.undecided == ()
            for match in receipt.matches:
                found[number[match.publication], int(match.subscription)] = rows_from(match.json.encode())
    assert set(found) == set(answers)
    for pair, rows in found.items():
        assert Counter(rows) == Counter(answers[pair]), (documents()[pair[0]].name, asked[pair[1]].text)


def test_a_changed_document_is_matched_under_its_next_version() -> None:
    first = next(document for document in documents() if b"dcterms:creator" in document.data)
    changed = first.data.replace(b"Pueblo de San Ildefonso</dcterms:creator>", b"Somebody else</dcterms:creator>")
    with Engine() as engine:
        engine.subscribe("SELECT ?who { ?law dcterms:creator ?who }", id="creators")
        versions = []
        for data in (first.data, first.data, changed, first.data):
            receipt = engine.publish(data, "application/rdf+xml", first.graph)
            versions.append([(match.version, match.change) for match in receipt.matches])
    assert changed != first.data
    assert versions == [[(1, "added")], [], [(2, "changed")], [(3, "changed")]]
