"""Pages of activities: an ActivityStreams 2.0 collection that tells what changed, as IIIF Change Discovery 1.0 has it
(https://iiif.io/api/discovery/1.0/).

They are read as JSON, since what names the contexts need not be at hand. Of each page the newest comes first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from triplecast.ingest.feed_item import absolute_iri
from triplecast.ingest.media_types import EXTENSIONS, JSON_LD
from triplecast.sources.changes import ChangePage, Lead, SourceChange, order_of
from triplecast.sources.fetching import Fetched
from triplecast.sources.source import read_time

_COLLECTIONS = {"Collection", "OrderedCollection", "CollectionPage", "OrderedCollectionPage"}
_CONTEXTS = ("www.w3.org/ns/activitystreams", "iiif.io/api/discovery/")
_BARE = {"@context", "@id", "@type", "canonical", "format", "id", "label", "name", "provider", "seeAlso", "type"}
"""What an object has that is only named, and has to be fetched."""
_RDF = {*EXTENSIONS.values()} - {"application/rss+xml", "application/atom+xml", "application/xml"}
_TIMES = ("endTime", "updated", "published")
_ABOUT = (
    ("object", {"Delete", "Remove", "Move"}, True),
    ("object", {"Create", "Update", "Add"}, False),
    ("target", {"Move"}, False),
)
"""What activities are about, and whether it is removed."""
_ENDS = {"prev": "last", "next": "first"}
"""Where a walk begins that goes on this way."""
_HALVES = re.compile("[\\ud800-\\udfff]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def is_activities(body: bytes) -> bool:
    """Whether a document is a collection of activities, or a page of one."""
    if not body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    context = json.dumps(found.get("@context", ""))
    return bool(_COLLECTIONS & {*_texts(found.get("type"))}) and any(each in context for each in _CONTEXTS)


def read_activities(lead: Lead, fetched: Fetched, paths: Mapping[str, str]) -> ChangePage:
    """A collection, or a page of it. Its walk begins at the end where the newest are: in a collection of pages that
    list the earliest first, at the last. Raises ValueError."""
    try:
        page = json.loads(fetched.body)
        if _SURROGATE.search(fetched.body):  # half a character could neither be stored nor said
            page = json.loads(_HALVES.sub(" ", json.dumps(page, ensure_ascii=False)))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(page, dict) or not _COLLECTIONS & {*_texts(page.get("type"))}:
        raise ValueError("it is no collection of activities")
    links = {name: found for name in ("first", "last", "prev", "next") if (found := _id(page.get(name)))}
    listed = page.get("orderedItems", page.get("items"))
    items = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    times = [time for each in items if (time := _time(each)) is not None]
    ascends = not times or times[0] <= times[-1]
    if not lead.way:
        paths = {**paths, **links}
        ways = [each for each, end in _ENDS.items() if end in links]
        way = paths.get("way", ways[0] if ways else "")
        leads = (Lead(links[_ENDS[way]], way),) if way in ways else ()
    elif lead.way == "prev" and not ascends and "first" in paths:
        return ChangePage(lead, fetched, (), (Lead(paths["first"], "next"),), False, (), {**paths, "way": "next"})
    else:
        leads = (Lead(links[lead.way], lead.way),) if lead.way in links else ()
    streams = {lead.url, _id(page), _id(page.get("partOf"))}
    faults: list[str] = []
    changes = [
        change
        for each in (reversed(items) if ascends else items)
        for change in _read(each, streams, page.get("@context"), faults)
    ]
    return ChangePage(lead, fetched, tuple(changes), leads, False, tuple(faults), paths)


def _read(activity: dict[str, Any], streams: set[str], context: object, faults: list[str]) -> Iterator[SourceChange]:
    """What an activity removes and publishes; nothing of one that is about something else."""
    order = order_of(_time(activity))
    digest = sha256(json.dumps(activity, sort_keys=True).encode()).digest()
    kinds = {*_texts(activity.get("type"))}
    if "Refresh" in kinds:
        yield SourceChange(f"refresh {activity.get('id', '')}", "", order, digest)
    for name, verbs, removes in _ABOUT:
        if not kinds & verbs or _is_elsewhere(activity, kinds, streams):
            continue
        graph = _id(activity.get(name))
        if absolute_iri(graph):
            change = SourceChange(graph, graph, order, digest)
            yield change if removes else _described(change, activity.get(name), context)
        else:
            faults.append(f"the {name} of an activity has no IRI")


def _is_elsewhere(activity: Mapping[str, Any], kinds: set[str], streams: set[str]) -> bool:
    """Whether something was added to another collection, or removed from one."""
    return any(
        verb in kinds and (there := _id(activity.get(name))) and there not in streams
        for verb, name in (("Add", "target"), ("Remove", "origin"))
    )


def _described(change: SourceChange, about: object, context: object) -> SourceChange:
    """With what the page says of it, or with where that is."""
    if isinstance(about, dict) and about.keys() - _BARE:
        data = json.dumps({"@context": context, **about} if context is not None else about).encode()
        return change._replace(media_type=JSON_LD, data=data)
    also = about.get("seeAlso") if isinstance(about, dict) else None
    described = [each for each in (also if isinstance(also, list) else [also]) if isinstance(each, dict)]
    rdf = [_id(each) for each in described if str(each.get("format")).partition(";")[0].strip().lower() in _RDF]
    return change._replace(location=next(filter(None, rdf), change.graph))


def _id(value: object) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("id", value.get("@id"))
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def _time(activity: Mapping[str, Any]) -> float | None:
    times = (read_time(text) for each in _TIMES if isinstance(text := activity.get(each), str))
    return next((at for at in times if at is not None), None)
