"""Documents that list all there is: pages, what they list no longer, and what is missing too much at once."""

from __future__ import annotations

from pathlib import Path

from tests.feed_server import Asked, Said
from tests.unit.sources.source_samples import World, world

DATASETS = "SELECT ?title { ?d a dcat:Dataset ; dct:title ?title }".replace("dct:", "dcterms:")
PREFIXES = """@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
@prefix hydra: <http://www.w3.org/ns/hydra/core#> . @prefix d: <https://data.example/> .
"""
TURTLE = {"Content-Type": "text/turtle"}


def page(*names: str, following: str = "", etag: str = "") -> Said:
    body = (
        PREFIXES + "<> a hydra:PartialCollectionView" + (f" ; hydra:next <{following}>" if following else "") + " .\n"
    )
    body += "".join(f'd:{name} a dcat:Dataset ; dct:title "{name}" .\n' for name in names)
    return Said(body, headers=TURTLE | ({"ETag": etag} if etag else {}))


def listed(w: World) -> set[str]:
    rows = w.engine.query(DATASETS)
    assert isinstance(rows, list)
    return {row["title"].value for row in rows}


def test_a_catalogue_is_read_with_its_pages_and_what_it_lists_no_longer_is_removed(tmp_path: Path) -> None:
    with world(tmp_path, DATASETS) as w:
        w.add("/one", split="dcat:Dataset")
        w.server.pages["/one"] = page("a", "b", following="/two")
        w.server.pages["/two"] = page("c", "d")
        assert w.poll("/one").new == 6  # and what else each page says
        assert listed(w) == {"a", "b", "c", "d"}
        assert w.poll("/one").new == 0
        w.server.pages["/one"] = page("a", following="/two")
        w.server.pages["/two"] = page("c", "d", "e")
        polled = w.poll("/one")
        assert (polled.new, polled.removed) == (1, 1)
        assert listed(w) == {"a", "c", "d", "e"}
        assert sorted(w.told()) == ["a", "b", "c", "d", "e"]


def test_a_dataset_that_moves_to_another_page_is_neither_lost_nor_told_again(tmp_path: Path) -> None:
    with world(tmp_path, DATASETS) as w:
        w.add("/one", split="dcat:Dataset")
        w.server.pages["/one"] = page("a", "b", following="/two")
        w.server.pages["/two"] = page("c")
        w.poll("/one")
        w.server.pages["/one"] = page("a", following="/two")
        w.server.pages["/two"] = page("b", "c")
        w.poll("/one")
        assert listed(w) == {"a", "b", "c"}
        w.server.pages["/one"] = page("a", "b", "c")
        w.poll("/one")
        assert listed(w) == {"a", "b", "c"}
        assert sorted(w.told()) == ["a", "b", "c"]


def test_each_page_is_asked_with_its_own_validators(tmp_path: Path) -> None:
    def conditional(said: Said) -> object:
        etag = said.headers["ETag"]
        return lambda asked: Said(status=304) if asked.headers.get("if-none-match") == etag else said

    with world(tmp_path, DATASETS) as w:
        w.add("/one", split="dcat:Dataset")
        w.server.pages["/one"] = conditional(page("a", following="/two", etag='"1"'))  # type: ignore[assignment]
        w.server.pages["/two"] = conditional(page("b", etag='"2"'))  # type: ignore[assignment]
        w.poll("/one")
        assert w.poll("/one").new == 0
        w.server.pages["/two"] = conditional(page("b", "c", etag='"3"'))  # type: ignore[assignment]
        polled = w.poll("/one")
        assert (polled.new, polled.removed) == (1, 0)
        assert listed(w) == {"a", "b", "c"}


def test_too_much_missing_at_once_waits_for_a_release(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(20)]
    with world(tmp_path, DATASETS) as w:
        url = w.add("/all", split="dcat:Dataset")
        w.server.pages["/all"] = page(*names, etag='"1"')
        w.poll("/all")
        w.server.pages["/all"] = page(*names[:3], "new", etag='"2"')
        polled = w.poll("/all")
        assert (polled.withheld, polled.new, polled.removed) == (17, 0, 0)
        assert listed(w) == {*names}
        assert w.source("/all").withheld == 17
        assert w.poll("/all").withheld == 17
        w.poller.sources.release(url, w.now)
        assert w.poll("/all").removed == 17
        assert listed(w) == {*names[:3], "new"}
        w.server.pages["/all"] = page()
        assert w.poll("/all").removed == 4  # few
        assert listed(w) == set()
        w.server.pages["/all"] = page(*names)
        w.poll("/all")
        w.server.pages["/all"] = page()
        assert w.poll("/all").withheld == 20  # what was released once is not for ever


def test_a_page_that_fails_changes_nothing(tmp_path: Path) -> None:
    with world(tmp_path, DATASETS) as w:
        w.add("/one", split="dcat:Dataset")
        w.server.pages["/one"] = page("a", following="/two")
        w.server.pages["/two"] = page("b")
        w.poll("/one")
        w.server.pages["/one"] = page("z", following="/two")
        w.server.pages["/two"] = Said(status=500)
        assert w.poll("/one").failed
        assert listed(w) == {"a", "b"}
        w.server.pages["/two"] = page("b", following="/one")
        assert "circle" in w.poll("/one").error
        assert listed(w) == {"a", "b"}


def test_a_plain_document_is_replaced_and_named_graphs_that_leave_are_removed(tmp_path: Path) -> None:
    with world(tmp_path, "SELECT ?o { ?s <urn:p> ?o }") as w:
        w.add("/doc")
        for value in ("1", "2"):
            w.server.pages["/doc"] = Said(f"<> <urn:p> {value} .", headers=TURTLE)
            w.poll("/doc")
        assert [row["o"].value for row in w.engine.query("SELECT ?o { ?s <urn:p> ?o }")] == ["2"]  # type: ignore[union-attr]
        w.add("/sets")
        trig = {"Content-Type": "application/trig"}
        w.server.pages["/sets"] = Said("<urn:a> { <urn:x> <urn:p> 7 } <urn:b> { <urn:x> <urn:p> 8 }", headers=trig)
        w.poll("/sets")
        w.server.pages["/sets"] = Said("<urn:a> { <urn:x> <urn:p> 7 }", headers=trig)
        assert w.poll("/sets").removed == 1
        assert w.engine.query("ASK { GRAPH <urn:b> { ?s ?p ?o } }") is False
        assert w.engine.query("ASK { GRAPH <urn:a> { ?s ?p ?o } }") is True


def test_a_link_header_names_the_next_page_too(tmp_path: Path) -> None:
    def first(asked: Asked) -> Said:
        return page("a")._replace(headers=TURTLE | {"Link": '<x>; rel=self, </two>; title="a, b"; rel="last next"'})

    with world(tmp_path, DATASETS) as w:
        w.add("/one", split="dcat:Dataset")
        w.server.pages["/one"] = first
        w.server.pages["/two"] = page("b")
        w.poll("/one")
        assert listed(w) == {"a", "b"}
