"""The values of sources: what is asked, what is known of it, what it brought."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from pyoxigraph import NamedNode

from triplecast.egress import read_url
from triplecast.errors import EgressRefused, InputError
from triplecast.ingest import ParsedDocument
from triplecast.languages.roots import read_split
from triplecast.model.printable import shortened

SECOND = 1_000_000
"""Microseconds, in which a clock counts."""
FEED, DOCUMENT, OAI, LDES, ACTIVITIES = "feed", "document", "oai", "ldes", "activities"
"""Kinds: items of a feed, of which old ones leave it; documents that list all there is; records by OAI-PMH, which are
asked for by their date; members of a Linked Data Event Stream; activities that tell of changes."""
CHANGES = (LDES, ACTIVITIES)
HUBBED = ("", FEED)
"""Kinds that a hub may tell of: a feed, also one that has had no item yet."""
IDENTITIES = ("guid", "link", "content")
"""By what an item of a feed is known again."""
Folders = tuple[tuple[str, ...], ...]
"""Of an outline that sources stand in: each the names from its top."""


@dataclass(frozen=True, slots=True)
class NewSource:
    """A source to add."""

    url: str
    title: str = ""
    folders: Folders = ()
    split: str | None = None
    """Of RDF, as ``publish`` takes it."""
    identity: str = "guid"


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A source, and how it stands. Times are microseconds since 1970, 0 for never."""

    id: int
    url: str
    """As it was added: the name of the source, and of the feed or document that it gives."""
    location: str
    """Where it is asked for: another address once it has moved for good."""
    title: str
    folders: Folders
    split: str | None
    identity: str
    kind: str
    """Empty until it has answered."""
    next_check: int
    last_check: int
    last_change: int
    interval: int
    """Seconds between two checks, by how often it changes."""
    failures: int
    """Checks in a row that failed."""
    error: str
    """Why the last check failed, or what of its answer was left out; empty where all was well."""
    gone: bool
    """Whether it said that it is gone for good (410): it is not asked again but by `check`."""
    withheld: int
    """Items that look like an old archive, or what is missing of a snapshot: they wait for a release."""
    newest: str
    """The latest date of an item that is not ahead, in seconds since 1970; empty where none is dated."""
    moves: int
    """How often in a row it was elsewhere for good."""
    moving_to: str
    is_released: bool
    """Whether the next snapshot is taken whatever it lacks."""
    since: str
    """Of OAI-PMH: from when on records are asked for."""

    @property
    def host(self) -> str:
        return server_of(self.location)


def server_of(address: str) -> str:
    """With its port; empty for what is no address, which egress refuses."""
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""


class Validators(NamedTuple):
    """What a server said of its answer, sent back as it was."""

    etag: str = ""
    last_modified: str = ""


class SourcePage(NamedTuple):
    """One document of a source, as it was fetched."""

    url: str
    address: str
    """Where it came from in the end."""
    validators: Validators
    parsed: ParsedDocument | None
    """None: it is as it was (304)."""
    body: bytes = b""
    media_type: str | None = None
    following: str = ""
    """The address of the next page; empty on the last."""


class Provenance(NamedTuple):
    """Where a publication came from (`prov:`), kept outside its graph."""

    graph: str
    version: int
    position: int
    source: str
    address: str
    fetched_at: str
    etag: str
    last_modified: str


def check_url(text: str) -> str:
    """Return the address, without what no server sees. Raises `InputError` for one that cannot be asked."""
    url = text.partition("#")[0]
    try:
        read_url(url)
        return NamedNode(url).value
    except (ValueError, EgressRefused) as error:
        reason = error.reason if isinstance(error, EgressRefused) else str(error)
        raise InputError(f"{text[:200]!r} cannot be asked: {reason}", "give https://host/path") from error


def check_source(source: NewSource) -> NewSource:
    """Return it as it is kept. Raises `InputError`."""
    if source.identity not in IDENTITIES:
        raise InputError(f"items are not known by {source.identity!r}", f"use one of {', '.join(IDENTITIES)}")
    split = None if source.split is None else read_split(source.split)
    folders = tuple(tuple(map(_shown, names)) for names in source.folders)
    return NewSource(check_url(source.url), _shown(source.title), folders, split, source.identity)


def _shown(text: str) -> str:
    """On one line, without what no XML can hold."""
    line = text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)
    return shortened(line.strip(), 1000)


def read_time(text: str) -> float | None:
    """Seconds since 1970 of a time in ISO 8601, without a zone in UTC; None for what is none."""
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def shown_time(at: int) -> str | None:
    """A time as xsd:dateTime in whole seconds, UTC; None for never."""
    return datetime.fromtimestamp(at // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


_ROW = ("url", "location", "title", "folders", "kind", "split", "identity", "interval", "failures", "error", "gone")


def source_row(source: KnownSource) -> dict[str, object]:
    """A source as JSON shows it."""
    times = {name: shown_time(getattr(source, name)) for name in ("next_check", "last_check", "last_change")}
    return {name: getattr(source, name) for name in _ROW} | {"held": source.withheld} | times
