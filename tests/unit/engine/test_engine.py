"""The Python surface, in memory: subscribe, publish, cancel, explain, preview."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, PREFIX, TITLES, UNTITLED, StepClock, turtle
from pyoxigraph import Literal, NamedNode

import triplecast
from triplecast import Document, Engine, FolderLocked, InputError, QueryRefused, QuerySyntaxError, Receipt, Subscription
from triplecast.model.events import Removal

GRAPH = "https://example.org/doc/1"


def test_a_publication_is_matched_when_its_receipt_is_given() -> None:
    with Engine(StepClock()) as engine:
        rail = engine.subscribe(TITLES, id="rail", owner="ada")
        everything = engine.subscribe(ANY_TITLE)
        engine.subscribe(UNTITLED, id="untitled")
        assert (rail.id, rail.registration, rail.expires, rail.cost) == (
            "rail",
            1,
            "2027-01-16T08:00:02.000000Z",
            "narrow",
        )
        assert everything.id == "subscription-2"
        receipt = engine.publish(turtle("Bonjour"), media_type="text/turtle", graph=GRAPH)
        (publication,) = receipt.publications
        assert (publication.graph, publication.version, publication.outcome) == (GRAPH, 1, "accepted")
        assert publication.accepted_at.startswith("2027-01-15T08:00:")
        assert [(match.subscription, match.change, match.version) for match in receipt.matches] == [
            ("rail", "added", 1),
            ("subscription-2", "added", 1),
        ]
        assert receipt.matches[0].bindings == [{"title": Literal("Bonjour")}]
        assert receipt.matches[1].bindings == [
            {"item": NamedNode("https://example.org/item"), "title": Literal("Bonjour")}
        ]
        assert (receipt.rejects, receipt.undecided) == ((), ())
        sent = list(engine.notifications())
        assert [(n.id, n.subscription, n.owner, n.json) for n in sent] == [
            (receipt.matches[0].notification, "rail", "ada", receipt.matches[0].json),
            (receipt.matches[1].notification, "subscription-2", None, receipt.matches[1].json),
        ]
        assert [n.sequence for n in engine.notifications(since=1)] == [2]


def test_a_query_that_is_no_longer_at_hand_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.engine.matching.SUBSCRIPTIONS_CACHED", 3)
    with Engine() as engine:
        for name in ("a", "b", "c", "d", "e"):
            engine.subscribe(TITLES, id=name)
            told = [match.subscription for match in engine.publish(turtle(name), "text/turtle", GRAPH).matches]
            assert told == ["a", "b", "c", "d", "e"][: len(told)]
            assert told[-1] == name
        for name in ("b", "c", "d", "e"):
            engine.unsubscribe(name)
        (match,) = engine.publish(turtle("again"), "text/turtle", GRAPH).matches
        assert match.definition == Subscription("a", TITLES)


def test_what_the_index_cannot_decide_is_decided_too() -> None:
    with Engine() as engine:
        engine.subscribe(UNTITLED, id="untitled")
        (match,) = engine.publish(turtle(None), "text/turtle", GRAPH).matches
        assert (match.subscription, match.bindings) == ("untitled", [{}])
        (match,) = engine.publish(turtle("now titled"), "text/turtle", GRAPH).matches
        assert (match.change, match.removed) == ("removed", [{}])


def test_unchanged_content_is_not_matched_again_and_a_b_a_is_three_versions() -> None:
    with Engine() as engine:
        engine.subscribe(TITLES, id="rail")
        seen = []
        for title in ("A", "A", "B", "A"):
            receipt = engine.publish(turtle(title), "text/turtle", GRAPH)
            seen.append((receipt.publications[0].version, receipt.publications[0].outcome, len(receipt.matches)))
        assert seen == [(1, "accepted", 1), (1, "unchanged", 0), (2, "accepted", 1), (3, "accepted", 1)]
        assert [n.version for n in engine.notifications()] == [1, 2, 3]


@pytest.mark.parametrize("notify", ["every", "new", "changed"])
def test_a_removed_document_comes_back_as_the_next_version(notify: str) -> None:
    with Engine() as engine:
        engine.subscribe(TITLES, id="rail", notify=notify)
        engine.publish(turtle("A"), "text/turtle", GRAPH)
        receipt = engine.remove(GRAPH)
        (removal,) = receipt.removals
        assert removal == Removal(3, GRAPH, 1, removal.removed_at, former=2)
        told = receipt.matches
        assert receipt == Receipt((), told, (), (), (), (removal,))
        assert [(match.change, len(match.removed)) for match in told] == [("removed", 1)] * (notify == "changed")
        assert engine.remove(GRAPH) is None
        assert len(list(engine.notifications())) == 1 + len(told)
        again = engine.publish(turtle("A"), "text/turtle", GRAPH)
        assert again.publications[0].version == 2
        assert [match.change for match in again.matches] == ["added"] * (notify != "new")


def test_a_document_without_a_name_is_named_by_its_content() -> None:
    with Engine() as engine:
        first, again, other = (engine.publish(turtle(title), "text/turtle").publications[0] for title in "AAB")
        assert first.graph.startswith("urn:triplecast:document:sha256/")
        assert (again.graph, again.outcome) == (first.graph, "unchanged")
        assert (other.graph == first.graph, other.version) == (False, 1)


def test_one_bad_document_does_not_harm_its_neighbours() -> None:
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")
        documents = [
            Document("a", turtle("A").encode(), "text/turtle"),
            Document("bad", b"<a> <b> .", "text/turtle"),
            Document("c", turtle("A").encode(), "text/turtle"),
            Document("a", turtle("B").encode(), "text/turtle"),
            Document("a", turtle("B").encode(), "text/turtle"),
        ]
        receipts = engine.publish_many(iter(documents))
        assert [len(receipt.matches) for receipt in receipts] == [1, 0, 1, 1, 0]
        assert [publication.version for receipt in receipts for publication in receipt.publications] == [1, 1, 2, 2]
        (reject,) = receipts[1].rejects
        assert (reject.source, reject.stage, reject.line) == ("bad", "parse", 1)


def test_a_feed_gives_a_publication_per_item() -> None:
    feed = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
    <id>https://example.org/feed</id><updated>2026-11-21T08:00:00Z</updated>
    <entry><title>One</title><id>https://example.org/1</id><updated>2026-11-21T08:00:00Z</updated></entry>
    <entry><title>Two</title><id>https://example.org/2</id><updated>2026-11-21T08:00:00Z</updated></entry></feed>"""
    with Engine() as engine:
        engine.subscribe("SELECT ?title WHERE { ?item a rss:item ; rss:title ?title }", id="titles")
        receipt = engine.publish(feed, "application/atom+xml")
        assert [p.graph for p in receipt.publications] == ["https://example.org/1", "https://example.org/2"]
        assert [match.bindings for match in receipt.matches] == [
            [{"title": Literal("One")}],
            [{"title": Literal("Two")}],
        ]


@pytest.mark.parametrize("graphs", [2, 3, 6, 8])
def test_a_document_may_bring_more_than_is_matched_at_once(graphs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.engine.matching.MATCHED_AT_ONCE", 3)
    quads = "".join(f'<urn:s> <https://example.org/title> "{i}" <urn:g{i}> .\n' for i in range(graphs))
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")
        receipt = engine.publish(quads, "application/n-quads", GRAPH)
        assert [match.publication for match in receipt.matches] == [f"urn:g{i}" for i in range(graphs)]
        assert [n.publication for n in engine.notifications()] == [f"urn:g{i}" for i in range(graphs)]


def test_what_cannot_be_decided_is_told() -> None:
    triples = "".join(f"<urn:s{i}> <urn:p{i}> <urn:o{i}> .\n" for i in range(200))
    with Engine() as engine:
        engine.subscribe("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }", id="product")
        engine.subscribe("SELECT ?s { ?s <urn:p7> ?o }", id="seven")
        receipt = engine.publish(triples, "application/n-triples", GRAPH)
        assert [match.subscription for match in receipt.matches] == ["seven"]
        (pair,) = receipt.undecided
        assert (pair.subscription, pair.publication, pair.version) == ("product", GRAPH, 1)
        assert pair.reason
        assert [n.subscription for n in engine.notifications()] == ["seven"]
        (kept,) = engine.undecided()
        assert (kept.subscription, kept.publication, kept.reason) == ("product", GRAPH, pair.reason)
        assert engine.undecided(after=kept.position) == []
        assert engine.prune_undecided(kept.position) == 1
        assert engine.undecided() == []


def test_after_a_cancel_nothing_new() -> None:
    with Engine() as engine:
        rail = engine.subscribe(TITLES, id="rail")
        other = engine.subscribe(TITLES, id="other")
        engine.publish(turtle("A"), "text/turtle", GRAPH)
        with pytest.raises(InputError, match="does not belong to 'rail'"):
            engine.unsubscribe("rail", ticket=other.ticket)
        assert engine.unsubscribe("rail", ticket=rail.ticket) == 4
        with pytest.raises(InputError, match="no live subscription 'rail'"):
            engine.unsubscribe("rail")
        assert [m.subscription for m in engine.publish(turtle("B"), "text/turtle", GRAPH).matches] == ["other"]
        again = engine.subscribe(ANY_TITLE, id="rail")
        assert again.registration > rail.registration
        assert again.ticket != rail.ticket
        assert {m.registration for m in engine.publish(turtle("C"), "text/turtle", GRAPH).matches} == {
            other.registration,
            again.registration,
        }


def test_what_is_not_built_is_refused_by_name() -> None:
    with Engine() as engine:
        for refused, named in (
            ({"scope": "galaxy"}, "galaxy"),
            ({"entailment": "owl"}, "owl"),
            ({"language": "cypher"}, "cypher"),
        ):
            with pytest.raises(QueryRefused, match=named):
                engine.subscribe(TITLES, **refused)
        with pytest.raises(InputError, match="attachments"):
            engine.publish(turtle("A"), attachments=[b""])
        with pytest.raises(QuerySyntaxError):
            engine.subscribe("SELECT ?x WHERE {")
        engine.subscribe(TITLES, id="rail")
        with pytest.raises(InputError, match="'rail' is in use"):
            engine.subscribe(TITLES, id="rail")


def test_what_is_no_text_is_refused() -> None:
    with Engine() as engine:
        for call in (
            lambda: engine.subscribe(TITLES, id=""),
            lambda: engine.subscribe(TITLES, id=5),
            lambda: engine.subscribe(TITLES, id="\udc80"),
            lambda: engine.subscribe(TITLES.encode()),
            lambda: engine.unsubscribe("\udc80"),
            lambda: engine.publish(None),
            lambda: engine.publish("<urn:a> <urn:b> '\udc80' ."),
            lambda: engine.publish("", graph="urn:\udc80"),
            lambda: engine.remove("\udc80"),
        ):
            with pytest.raises(InputError):
                call()
        assert engine.publish(turtle("A"), "text/turtle", GRAPH).publications[0].position == 1


def test_many_subscriptions_are_registered_beside_those_that_cannot_be() -> None:
    with Engine() as engine:
        engine.subscribe(TITLES, id="taken")
        answers = engine.subscribe_many(
            [
                Subscription("one", TITLES),
                Subscription("taken", TITLES),
                Subscription("bad", "SELECT"),
                Subscription("one", ANY_TITLE),
                Subscription("service", "SELECT * { SERVICE <urn:x> { ?s ?p ?o } }"),
                Subscription("", TITLES),
                Subscription("no text", TITLES.encode()),
                Subscription("half a \udc80", TITLES),
                Subscription("two", ANY_TITLE),
            ]
        )
        assert [type(answer).__name__ for answer in answers] == [
            "Subscribed",
            "IdInUse",
            "QuerySyntaxError",
            "IdInUse",
            "QueryRefused",
            "InputError",
            "InputError",
            "InputError",
            "Subscribed",
        ]
        receipt = engine.publish(turtle("A"), "text/turtle", GRAPH)
        assert [match.subscription for match in receipt.matches] == ["taken", "one", "two"]


def test_a_broad_subscription_works_and_says_so() -> None:
    with Engine() as engine:
        broad = engine.subscribe("SELECT ?s WHERE { ?s ?p ?o }", id="all")
        assert broad.cost == "broad"
        assert broad.warnings
        assert len(engine.publish(turtle("A"), "text/turtle", GRAPH).matches) == 1


def test_explain_says_why_and_why_not() -> None:
    with Engine() as engine:
        engine.subscribe(TITLES, id="rail")
        (why,) = engine.explain(turtle("A"), "rail", "text/turtle", GRAPH)
        assert why.matched
        assert "title" in str(why)
        (why_not,) = engine.explain(turtle("A", topic="sea"), "rail", "text/turtle", GRAPH)
        assert not why_not.matched
        assert "topic" in str(why_not)
        assert list(engine.notifications()) == []
        with pytest.raises(triplecast.DocumentRejected, match="line 1"):
            engine.explain("<a> <b> .", "rail", "text/turtle", GRAPH)
        with pytest.raises(InputError, match="no live subscription 'nobody'"):
            engine.explain(turtle("A"), "nobody", "text/turtle", GRAPH)


def test_a_preview_tells_what_would_have_matched() -> None:
    with Engine(StepClock()) as engine:
        assert engine.preview(TITLES).share == 0.0
        for number in range(6):
            engine.publish(
                turtle(str(number), topic="rail" if number % 2 else "sea"), "text/turtle", f"urn:doc:{number}"
            )
        preview = engine.preview(TITLES, last=4)
        assert [match.publication for match in preview.matches] == ["urn:doc:3", "urn:doc:5"]
        assert (preview.publications, preview.share, preview.seconds) == (4, 0.5, 3.0)
        assert preview.per_day == pytest.approx(2 * 86_400 / 3)
        assert engine.preview(PREFIX + "ASK { ?s ex:never ?o }").matches == ()
        with pytest.raises(QuerySyntaxError):
            engine.preview("SELECT")
        assert list(engine.notifications()) == []


def test_threads_may_publish_and_subscribe_at_once() -> None:
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")

        def work(number: int) -> None:
            for version in range(10):
                engine.publish(turtle(f"{number}-{version}"), "text/turtle", f"urn:doc:{number}")
                engine.subscribe(TITLES, id=f"{number}-{version}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        mine = [n for n in engine.notifications() if n.subscription == "any"]
        for number in range(3):
            assert [n.version for n in mine if n.publication == f"urn:doc:{number}"] == list(range(1, 11))
        later = engine.publish(turtle("last"), "text/turtle", "urn:doc:0")
        assert len(later.matches) == 31


def test_a_feed_that_is_polled_tells_each_item_once() -> None:
    with Engine() as engine:
        engine.subscribe("SELECT ?t { ?item rss:title ?t }", id="titles")
        channel = "<title>f</title><link>http://f/</link>"
        first, second = (f"<item><guid isPermaLink='false'>{n}</guid><title>{n}</title></item>" for n in (1, 2))
        polls = [f"<rss version='2.0'><channel>{channel}{items}</channel></rss>" for items in (first, second + first)]
        receipts = [engine.publish(poll, media_type="application/rss+xml") for poll in polls]
        assert [[match.publication for match in receipt.matches] for receipt in receipts] == [
            ["http://f/#1"],
            ["http://f/#2"],
        ]


def test_two_named_graphs_are_found_together_in_a_dataset_only() -> None:
    trig = PREFIX.replace("PREFIX", "@prefix").replace("\n", " .\n") + (
        "ex:g { ex:a ex:p 1 . ex:b ex:p 2 } ex:h { ex:a ex:q 3 }"
    )
    with Engine() as engine:
        both = engine.subscribe(PREFIX + "SELECT ?x { GRAPH ex:g { ?x ex:p 1 } GRAPH ex:h { ?x ex:q 3 } }", id="both")
        assert any("only a dataset does" in warning for warning in both.warnings)
        assert engine.publish(trig, "application/trig", GRAPH).matches == ()
        (match,) = engine.publish(trig, "application/trig", GRAPH, dataset=True).matches
        assert match.bindings == [{"x": NamedNode("https://example.org/a")}]
        other = trig.replace("ex:q 3", "ex:q 4")
        (match,) = engine.publish(other, "application/trig", GRAPH, dataset=True).matches
        assert (match.added, match.removed) == ([], [{"x": NamedNode("https://example.org/a")}])


def test_a_folder_that_this_process_has_open_is_told_as_such(tmp_path: Path) -> None:
    with Engine.open(tmp_path), pytest.raises(FolderLocked, match="it is this very process: close"):
        Engine.open(tmp_path)


@pytest.mark.parametrize("wrong", ["text", b"bytes", None, ["text"]])
def test_what_is_no_list_of_documents_is_told_as_such(wrong: object) -> None:
    with Engine() as engine:
        with pytest.raises(TypeError, match=r"publish_many takes an iterable of triplecast\.Document"):
            engine.publish_many(wrong)  # type: ignore[arg-type]
        assert engine.publish_many([]) == []


def test_a_wrong_document_among_good_ones_leaves_nothing_accepted() -> None:
    with Engine() as engine:
        with pytest.raises(TypeError, match="not dict"):
            engine.publish_many([Document("a", b"<a:a> <a:b> 1 ."), {"id": "b"}])  # type: ignore[list-item]
        assert engine.publish("<a:a> <a:b> 1 .").publications[0].position == 1


def test_the_name_of_a_file_is_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.ttl").write_text("<urn:s> <urn:p> 1 .")
    with Engine() as engine:
        with pytest.raises(
            InputError, match=r"'there.ttl' is the name of a file.*publish Path\('there.ttl'\).read_bytes"
        ):
            engine.publish("there.ttl")
        assert engine.publish("nowhere.ttl").rejects
        assert engine.publish("").publications
