"""Pages of a Linked Data Event Stream (https://w3id.org/ldes/specification), which are nodes of TREE
(https://w3id.org/tree/specification): members that never change, and relations to other pages.

A member stands for itself, or for a version of what ``ldes:versionOfPath`` names. It says what the named graph of its
IRI holds, else its description.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from hashlib import sha256

from triplecast.ingest.canonical import split_line
from triplecast.ingest.descriptions import Descriptions
from triplecast.ingest.media_types import N_TRIPLES
from triplecast.sources.changes import ChangePage, Lead, SourceChange, order_of
from triplecast.sources.fetching import Fetched
from triplecast.sources.source import read_time

MOST_BYTES = 64 << 20
"""Of the members of one page, which may repeat what they share."""
_TREE = "https://w3id.org/tree#"
_MEMBER, _VIEW, _RELATION, _NODE, _VALUE = (
    f"<{_TREE}{each}>" for each in ("member", "view", "relation", "node", "value")
)
_GREATER = (f"<{_TREE}GreaterThanRelation>", f"<{_TREE}GreaterThanOrEqualToRelation>")
_LDES = "https://w3id.org/ldes#"
_IMMUTABLE = f"<{_LDES}immutable>"
_NAMES = ("sequencePath", "timestampPath", "versionOfPath", "versionDeletePath", "versionDeleteObject")
_PATHS = {each: f"<{_LDES}{each}>" for each in _NAMES}
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_DELETE = "<https://www.w3.org/ns/activitystreams#Delete>"
"""What a member is that removes, unless the stream says otherwise."""
_LEXICAL = re.compile(r'"([^"\\]*)"')

Values = Mapping[tuple[str, str], list[str]]
"""Objects by subject and property, as in N-Triples."""


def is_tree(quads: bytes, url: str) -> bool:
    """Whether a document at `url` is a node of TREE, or the collection that leads to one."""
    place = re.escape(f"<{url}>".encode())
    tree = re.escape(_TREE.encode())
    return bool(
        re.search(rb"^(?:%s <%s(?:relation|view)> |\S+ <%sview> %s )" % (place, tree, tree, place), quads, re.M)
    )


def read_tree(quads: bytes, lead: Lead, fetched: Fetched, known: Mapping[str, str]) -> ChangePage:
    """A page of canonical N-Quads, with the earliest members and leads first. `known`: how members tell their order,
    what they are versions of, and that this was removed, by the pages before. Raises `DocumentRejected` where members
    repeat too much."""
    plain: list[bytes] = []
    graphs: defaultdict[str, list[bytes]] = defaultdict(list)
    values: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for line in quads.splitlines(True):
        if (quad := split_line(line)) is None:
            continue
        subject, predicate, value, graph = (term.decode() for term in quad)
        if graph:
            graphs[graph].append(f"{subject} {predicate} {value} .\n".encode())
        else:
            plain.append(line)
        if graph in ("", subject):
            values[subject, predicate].append(value)
    streams = {subject for subject, predicate in values if predicate in (_MEMBER, _VIEW)}
    said = {name: values[each, path][0] for name, path in _PATHS.items() for each in streams if (each, path) in values}
    paths = {**known, **said}
    nodes = {f"<{url}>" for url in (lead.url, fetched.address)}
    descriptions = Descriptions(plain, MOST_BYTES)
    members: list[SourceChange] = []
    blank = 0
    for iri in sorted({member for each in streams for member in values.get((each, _MEMBER), ())}):
        if not iri.startswith("<"):
            blank += 1
            continue
        written = graphs.get(iri) or descriptions.of(iri[1:-1])
        members.append(_read_member(iri, b"".join(sorted({*written})), values, paths))
    faults = (f"{blank} members have no IRI",) if blank else ()
    immutable = any(value.startswith('"true"') for each in nodes for value in values.get((each, _IMMUTABLE), ()))
    members.sort(key=lambda each: (each.order, each.key))
    final = immutable or fetched.immutable
    return ChangePage(lead, fetched, tuple(members), _leads(values, nodes), final, faults, paths)


def _read_member(iri: str, data: bytes, values: Values, paths: Mapping[str, str]) -> SourceChange:
    def of(name: str) -> list[str]:
        return values.get((iri, paths.get(name, "")), [])

    versions = [each[1:-1] for each in of("versionOfPath") if each.startswith("<")]
    kinds = values.get((iri, paths.get("versionDeletePath", _TYPE)), [])
    times = [_number(each) for name in ("sequencePath", "timestampPath") for each in of(name)]
    order = order_of(next((each for each in times if each is not None), None))
    change = SourceChange(iri[1:-1], versions[0] if versions else iri[1:-1], order, sha256(iri.encode()).digest())
    if paths.get("versionDeleteObject", _DELETE) in kinds:
        return change
    return change._replace(media_type=N_TRIPLES, data=data)


def _leads(values: Values, nodes: set[str]) -> tuple[Lead, ...]:
    """Those of the page, the ones with the earliest members first; of a collection its first view."""
    views = sorted(view for each in nodes for view in values.get((each, _VIEW), ()) if view not in nodes)
    inner = nodes | {view for (_, predicate), found in values.items() if predicate == _VIEW for view in found}
    starts: dict[str, float] = {}
    for relation in {each for node in inner for each in values.get((node, _RELATION), ())}:
        is_later = any(kind in _GREATER for kind in values.get((relation, _TYPE), ()))
        times = [time for value in values.get((relation, _VALUE), ()) if (time := _number(value)) is not None]
        start = min(times) if is_later and times else -math.inf
        for node in values.get((relation, _NODE), ()):
            starts[node] = max(start, starts.get(node, -math.inf))
    found = sorted(starts, key=lambda node: (starts[node], node))
    return tuple(Lead(each[1:-1]) for each in (found or views[:1]) if each.startswith("<"))


def _number(literal: str) -> float | None:
    """A time in seconds since 1970, or a number."""
    text = lexical[1] if (lexical := _LEXICAL.match(literal)) else ""
    return float(text[:15]) if text.isascii() and text.isdecimal() else read_time(text)
