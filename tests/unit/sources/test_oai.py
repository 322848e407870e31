"""OAI-PMH: lists in pages, records that change and are deleted, and lists that break off."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.feed_server import Asked, Said
from tests.unit.sources.source_samples import DAY, World, world
from triplecast.sources.oai import OaiFault, read_oai

TITLES = "SELECT ?r ?title { ?r dc:title ?title }"
LIST = "/oai?verb=ListRecords&metadataPrefix=oai_dc&set=maps"
XML = "http://www.openarchives.org/OAI/2.0/"


class Repository:
    """Records by identifier: date, and title or None for a deleted one; two a page."""

    def __init__(self, w: World) -> None:
        self.records: dict[str, tuple[str, str | None]] = {}
        self.now = "2026-01-01T00:00:00Z"
        self.broken = False
        self.world = w
        self.paths: list[dict[str, list[str]]] = []
        w.server.answer = self.answer  # type: ignore[method-assign]

    def answer(self, asked: Asked) -> Said:
        given = parse_qs(urlsplit(asked.path).query)
        self.paths.append(given)
        assert given["verb"] == ["ListRecords"]
        start, since = 0, given.get("from", [""])[0]
        if token := given.get("resumptionToken"):
            assert set(given) == {"verb", "resumptionToken"}
            if self.broken:
                return Said("", 503, {"Retry-After": "60"})
            number, since = token[0].split("!")
            start = int(number)
        else:
            assert given["set"] == ["maps"]
        chosen = [(id, *each) for id, each in sorted(self.records.items()) if each[0] >= since]
        if not chosen:
            return Said(self.written('<error code="noRecordsMatch"/>'))
        records = "".join(_record(*each) for each in chosen[start : start + 2])
        more = f"<resumptionToken>{start + 2}!{since}</resumptionToken>" if start + 2 < len(chosen) else ""
        return Said(self.written(f"<ListRecords>{records}{more}</ListRecords>"))

    def written(self, inside: str) -> str:
        return f'<OAI-PMH xmlns="{XML}"><responseDate>{self.now}</responseDate><request/>{inside}</OAI-PMH>'


def _record(identifier: str, date: str, title: str | None) -> str:
    status = ' status="deleted"' if title is None else ""
    header = f"<header{status}><identifier>{identifier}</identifier><datestamp>{date}</datestamp></header>"
    dc = f'<oai:dc xmlns:oai="{XML}oai_dc/" xmlns="http://purl.org/dc/elements/1.1/"><title>{title}</title></oai:dc>'
    return f"<record>{header}" + ("" if title is None else f"<metadata>{dc}</metadata>") + "</record>"


def titles(w: World) -> list[str]:
    rows = w.engine.query(TITLES)
    assert isinstance(rows, list)
    return sorted(row["title"].value for row in rows)


def test_records_are_harvested_since_the_last_time(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        repository = Repository(w)
        w.add(LIST)
        repository.records = {f"oai:e.org:{n}": (f"2025-0{n}-01T00:00:00Z", f"T{n}") for n in range(1, 6)}
        polled = w.poll(LIST)
        assert (polled.new, polled.error, titles(w)) == (5, "", ["T1", "T2", "T3", "T4", "T5"])
        assert w.source(LIST).kind == "oai"
        repository.records["oai:e.org:2"] = ("2026-01-02T00:00:00Z", None)
        repository.records["oai:e.org:3"] = ("2026-01-02T00:00:00Z", "T3, edited")
        repository.records["oai:e.org:9"] = ("2026-01-02T00:00:00Z", "T9")
        repository.now = "2026-01-03T00:00:00Z"
        polled = w.poll(LIST)
        assert (polled.new, polled.edited, polled.removed) == (1, 1, 1)
        assert repository.paths[-2]["from"] == ["2026-01-01T00:00:00Z"]
        assert titles(w) == ["T1", "T3, edited", "T4", "T5", "T9"]
        polled = w.poll(LIST)
        assert (polled.failed, polled.new) == (False, 0)
        assert sorted(w.told()) == ["T1", "T2", "T3", "T3, edited", "T4", "T5", "T9"]
        (origin,) = w.poller.sources.provenance("oai:e.org:9")
        assert origin.source == w.server.url(LIST)


def test_a_list_that_breaks_off_goes_on_where_it_was(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        repository = Repository(w)
        w.add(LIST)
        repository.records = {f"oai:e.org:{n}": (f"2025-0{n}-01", f"T{n}") for n in range(1, 6)}
        repository.broken = True
        assert w.poll(LIST).failed
        assert titles(w) == ["T1", "T2"]
        assert w.source(LIST).since == ""
        repository.broken = False
        repository.now = "2026-01-05T00:00:00Z"
        w.wait(DAY)
        w.poll(LIST)
        assert titles(w) == ["T1", "T2", "T3", "T4", "T5"]
        assert w.source(LIST).since == "2026-01-01"  # of the list's beginning, as finely as records are dated
        assert len(w.told()) == 5


def test_rdf_in_records_is_published_as_it_is(tmp_path: Path) -> None:
    rdf = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<rdf:Description rdf:about="https://e.org/book"><dc:title xml:lang="de">Karten</dc:title></rdf:Description>'
        "</rdf:RDF>"
    )
    with world(tmp_path, TITLES) as w:
        repository = Repository(w)
        w.add(LIST)
        header = "<header><identifier>not an iri</identifier><datestamp>2026-01-01</datestamp></header>"
        other = "<record><header><identifier>oai:x</identifier></header><metadata><mods/></metadata></record>"
        record = f"<record>{header}<metadata>{rdf}</metadata></record>"
        w.server.answer = lambda asked: Said(  # type: ignore[method-assign]
            repository.written(f"<ListRecords>{record}{other}</ListRecords>")
        )
        polled = w.poll(LIST)
        assert "neither RDF nor oai_dc" in polled.error
        assert titles(w) == ["Karten"]
        assert w.engine.query(f"ASK {{ GRAPH <{w.server.url(LIST)}#not%20an%20iri> {{ ?s ?p ?o }} }}") is True


@pytest.mark.parametrize("data", [b"", b"<html/>", b'<!DOCTYPE a [<!ENTITY b "c">]><a/>', b"{}"])
def test_what_is_no_list_is_an_error(data: bytes) -> None:
    with pytest.raises(OaiFault):
        read_oai(data)
