"""The values of sources: what is asked, what is known of it, what it brought."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from pyoxigraph import NamedNode

from triplecast.errors import InputError
from triplecast.ingest import ParsedDocument
from triplecast.languages.roots import read_split

SECOND = 1_000_000
"""Microseconds, in which a clock counts."""
FEED, DOCUMENT, OAI = "feed", "document", "oai"
"""Kinds: items of a feed, of which old ones leave it; documents that list all there is; records by OAI-PMH, which are
asked for by their date."""
IDENTITIES = ("guid", "link", "content")
"""By what an item of a feed is known again."""
LONGEST_URL = 2000

_SCHEMES = ("http", "https")
_CONTROLS = re.compile("[\x00-\x20\x7f]")

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
class Source:
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
    """The latest date of an item, as xsd:dateTime."""
    moves: int
    """How often in a row it was elsewhere for good."""
    moving_to: str
    is_released: bool
    """Whether the next snapshot is taken whatever it lacks."""
    since: str
    """Of OAI-PMH: from when on records are asked for."""

    @property
    def host(self) -> str:
        return urlsplit(self.location).netloc.lower()


class Validators(NamedTuple):
    """What a server said of its answer, sent back as it was."""

    etag: str = ""
    last_modified: str = ""


class Page(NamedTuple):
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
    hint = "give an address like https://example.org/feed.xml"
    shown = text[:200]
    if _CONTROLS.search(text) or len(text) > LONGEST_URL:
        raise InputError(f"{shown!r} holds a space or control character, or more than {LONGEST_URL} characters", hint)
    try:
        parts = urlsplit(text)
        _ = parts.port
        url = NamedNode(urlunsplit(parts._replace(fragment="", scheme=parts.scheme.lower()))).value
    except ValueError as error:
        raise InputError(f"{shown!r} is no address: {error}", hint) from error
    if parts.scheme.lower() not in _SCHEMES or not parts.hostname:
        raise InputError(f"{shown!r} is no address of http or https", hint)
    if parts.username is not None or parts.password is not None:
        raise InputError("an address with a name or password would be shown", "leave them out")
    return url


def check_source(source: NewSource) -> NewSource:
    """Return it as it is kept. Raises `InputError`."""
    if source.identity not in IDENTITIES:
        raise InputError(f"items are not known by {source.identity!r}", f"use one of {', '.join(IDENTITIES)}")
    split = None if source.split is None else read_split(source.split)
    return NewSource(check_url(source.url), source.title, source.folders, split, source.identity)
