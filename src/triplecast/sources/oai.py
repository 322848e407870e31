"""OAI-PMH 2.0 (https://www.openarchives.org/OAI/openarchivesprotocol.html): records since a date, page by page.

A source is the address of a list, ``…?verb=ListRecords&metadataPrefix=oai_dc`` with or without ``set``. Each record is
a publication under its identifier: RDF as it is, ``oai_dc`` as Dublin Core of the identifier.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from xml.etree.ElementTree import Element, ParseError, tostring

from defusedxml.ElementTree import fromstring
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from triplecast.errors import DocumentRejected
from triplecast.ingest.document import part_iri
from triplecast.ingest.feed_item import DC, absolute_iri
from triplecast.ingest.gate import GATE
from triplecast.ingest.media_types import N_TRIPLES, RDF_XML
from triplecast.ingest.xml_gate import RDF_NAMESPACE, pass_xml
from triplecast.sources.source import KnownSource
from triplecast.sqlite import SqliteFile

_OAI = "{http://www.openarchives.org/OAI/2.0/}"
_OAI_DC = "{http://www.openarchives.org/OAI/2.0/oai_dc/}dc"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
NO_MATCH, BAD_TOKEN = "noRecordsMatch", "badResumptionToken"


class OaiRecord(NamedTuple):
    identifier: str
    media_type: str
    data: bytes | None
    """None: it was deleted."""


class OaiPage(NamedTuple):
    """One answer of a list."""

    records: tuple[OaiRecord, ...]
    faults: tuple[str, ...]
    """Why records were left out."""
    token: str
    """With which the list goes on; empty at its end."""
    answered: str
    """When, by the repository's clock, as finely as it dates records where it dated one."""


class OaiFault(Exception):
    """An answer that is none, or says that something is wrong; `args` are its code and its text."""


class RecordsCompared(NamedTuple):
    due: tuple[OaiRecord, ...]
    new: int
    edited: int
    removed: int


def is_oai(url: str) -> bool:
    return ("verb", "ListRecords") in parse_qsl(urlsplit(url).query)


def list_address(location: str, since: str, token: str) -> str:
    """Where a list begins, or goes on."""
    parts = urlsplit(location)
    asked = [("verb", "ListRecords"), ("resumptionToken", token)]
    if not token:
        given = [pair for pair in parse_qsl(parts.query) if pair[0] != "from"]
        asked = [*given, *([("from", since)] if since else [])]
    return urlunsplit(parts._replace(query=urlencode(asked)))


def read_oai(data: bytes, charset: str | None = None) -> OaiPage:
    """Raises `OaiFault`."""
    try:
        root = fromstring(pass_xml(data, charset, GATE).data, forbid_dtd=True)
    except (DocumentRejected, ParseError, ValueError) as error:
        raise OaiFault("", f"its answer is no XML: {error}") from error
    answered = (root.findtext(f"{_OAI}responseDate") or "").strip()
    wrong = root.find(f"{_OAI}error")
    if wrong is not None and wrong.get("code") == NO_MATCH:
        return OaiPage((), (), "", answered)
    if wrong is not None:
        raise OaiFault(wrong.get("code") or "", (wrong.text or "").strip())
    listed = root.find(f"{_OAI}ListRecords")
    if listed is None:
        raise OaiFault("", "its answer is no list of OAI-PMH records")
    records, faults = [], []
    for each in listed.findall(f"{_OAI}record"):
        record = _read_record(each)
        if isinstance(record, OaiRecord):
            records.append(record)
        else:
            faults.append(record)
    dates = [each.text or "" for each in listed.iter(f"{_OAI}datestamp")]
    finely = answered[:10] if any(len(each.strip()) == 10 for each in dates) else answered
    token = listed.findtext(f"{_OAI}resumptionToken") or ""
    return OaiPage(tuple(records), tuple(faults), token.strip(), finely)


def compare_records(file: SqliteFile, source: KnownSource, records: Sequence[OaiRecord], now: int) -> RecordsCompared:
    """What is to be published or removed of records, under graphs of their own, inside a step of writing."""
    named = {_graph(source, each): each for each in records}
    statement = "SELECT key, digest FROM seen WHERE source = ? AND key IN (SELECT value FROM json_each(?))"
    known = dict(file.ask(statement, (source.id, json.dumps([*named]))))
    digests = {graph: sha256(each.data).digest() for graph, each in named.items() if each.data is not None}
    removed = [graph for graph, each in named.items() if each.data is None and graph in known]
    changed = [graph for graph, digest in digests.items() if known.get(graph) != digest]
    file.run("DELETE FROM seen WHERE source = ? AND key = ?", [(source.id, graph) for graph in removed])
    rows = [(source.id, graph, graph, digest, now) for graph, digest in digests.items()]
    file.run("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, x'', '', ?)", rows)
    due = tuple(named[graph]._replace(identifier=graph) for graph in (*changed, *removed))
    edited = sum(graph in known for graph in changed)
    return RecordsCompared(due, len(changed) - edited, edited, len(removed))


def _read_record(record: Element) -> OaiRecord | str:
    """What is wrong with it, as text."""
    header = record.find(f"{_OAI}header")
    identifier = "" if header is None else (header.findtext(f"{_OAI}identifier") or "").strip()
    if header is None or not identifier:
        return "a record has no identifier"
    if header.get("status") == "deleted":
        return OaiRecord(identifier, N_TRIPLES, None)
    metadata = record.find(f"{_OAI}metadata")
    inside = None if metadata is None else next(iter(metadata), None)
    if inside is None:
        return f"{identifier[:200]} has no metadata"
    if inside.tag == f"{{{RDF_NAMESPACE}}}RDF":
        return OaiRecord(identifier, RDF_XML, tostring(inside, "utf-8"))
    if inside.tag == _OAI_DC:
        return OaiRecord(identifier, N_TRIPLES, _dublin_core(identifier, inside))
    return f"{identifier[:200]} has metadata that is neither RDF nor oai_dc: ask for another metadataPrefix"


def _dublin_core(identifier: str, record: Element) -> bytes:
    """The elements as properties of the record; of an identifier that is no IRI, of a URN with it."""
    subject = NamedNode(identifier if absolute_iri(identifier) else part_iri("urn:triplecast:oai", identifier))
    triples = []
    for each in record:
        name, text = str(each.tag), (each.text or "").strip()
        if name.startswith(f"{{{DC}}}") and text:
            language = each.get(_LANGUAGE)
            try:
                value = Literal(text, language=language.lower()) if language else Literal(text)
            except ValueError:
                value = Literal(text)
            triples.append(Triple(subject, NamedNode(DC + name.partition("}")[2]), value))
    return bytes(serialize(triples, format=RdfFormat.N_TRIPLES) or b"")


def _graph(source: KnownSource, record: OaiRecord) -> str:
    return record.identifier if absolute_iri(record.identifier) else part_iri(source.url, record.identifier)
