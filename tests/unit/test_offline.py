"""Matching without a journal: batches, versions, admission."""

from __future__ import annotations

from triplecast import offline
from triplecast.ingest import Document
from triplecast.model.publication import Draft, Reject
from triplecast.model.subscription import Subscription
from triplecast.offline import Versions, cut_batches, match_documents
from triplecast.registry.admission import admit_all
from triplecast.registry.lines import LoadedSubscriptions


def loaded(*subscriptions: Subscription) -> LoadedSubscriptions:
    """As the lines of one file."""
    places = tuple(f"file:{number}" for number, _ in enumerate(subscriptions, 1))
    return LoadedSubscriptions(subscriptions, places, ())


def test_a_batch_is_cut_by_bytes_and_by_documents() -> None:
    big = Document("big", bytes(offline.BATCH_BYTES // 2))
    small = Document("small", b"x")
    reject = Reject("r", "gate", "why", "how")
    assert [len(batch) for batch in cut_batches([big, small, big, small, reject])] == [3, 2]
    assert [len(batch) for batch in cut_batches([small] * 600)] == [256, 256, 88]
    assert [len(batch) for batch in cut_batches([reject] * 257)] == [256, 1]
    assert list(cut_batches([])) == []


def test_versions_have_the_time_of_the_clock_and_unchanged_content_is_passed_over() -> None:
    versions = Versions(5, clock=lambda: 1_000_001)
    draft = Draft("http://e/a", b"", b"1", "none")
    changed = Draft("http://e/a", b"", b"2", "none")
    accepted = versions.accept([draft, draft, changed])
    assert [(p.position, p.version, p.accepted_at) for p in accepted] == [
        (6, 1, "1970-01-01T00:00:01.000001Z"),
        (7, 2, "1970-01-01T00:00:01.000001Z"),
    ]


def test_publications_of_a_match_have_the_time_of_the_clock() -> None:
    admitted = admit_all(loaded(Subscription("any", "ASK { ?s ?p ?o }")))
    documents = [Document("a.nt", b"<a:a> <a:b> <a:c> .")]
    (outcome,) = match_documents(admitted, documents, clock=lambda: 0)
    assert [p.accepted_at for p in outcome.publications] == ["1970-01-01T00:00:00.000000Z"]
    assert len(outcome.matched) == 1


def test_two_graphs_at_once_are_asked_of_datasets_only() -> None:
    both = loaded(Subscription("both", "ASK { GRAPH <a:g> { ?s ?p ?o } GRAPH <a:h> { ?s ?p ?o } }"))
    (fault,) = admit_all(both, datasets=False).faults
    assert "cannot be both <a:g> and <a:h>" in fault.reason
    document = Document("d.trig", b"<a:g> { <a:a> <a:b> 1 } <a:h> { <a:a> <a:b> 1 }", dataset=True)
    (outcome,) = match_documents(admit_all(both), [document])
    assert len(outcome.matched) == 1


def test_a_subscription_that_cannot_be_asked_stops_no_other() -> None:
    found = admit_all(
        loaded(
            Subscription("alien", "nuqneH", language="klingon"),
            Subscription("wrong", "SELECT"),
            Subscription("stated", "# triplecast: entailment=owl\nASK { ?s ?p ?o }"),
            Subscription("good", "ASK { ?s ?p ?o }"),
        )
    )
    assert [subscription.name for subscription in found.subscriptions] == ["good"]
    assert [fault.place for fault in found.faults] == ["file:1", "file:2:1:7", "file:3"]
    assert str(found.faults[1]).splitlines()[1:3] == ["  SELECT", "        ^"]
