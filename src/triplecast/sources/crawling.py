"""Fetch and parse all pages of a source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.egress import Send
from triplecast.ingest import Document, ParsedDocument, Parser
from triplecast.model.printable import shortened
from triplecast.sources.activities import is_activities
from triplecast.sources.fetching import CheckFailed, Fetched, fetch
from triplecast.sources.hubs import FoundHub, find_hub
from triplecast.sources.items import is_feed
from triplecast.sources.oai import OaiFault, OaiPage, list_address, read_oai
from triplecast.sources.source import ACTIVITIES, DOCUMENT, FEED, HUBBED, LDES, KnownSource, SourcePage, Validators
from triplecast.sources.tree import is_tree

MOST_PAGES = 1000
MOST_BYTES = 256 << 20
"""Of all pages of a source."""
GONE = 410
NOT_MODIFIED = 304
_END = re.compile(rb"</(?:[\w.-]+:)?(?:rss|feed|RDF)\s*>")
_TAIL = 1000
_NEXT = re.compile(rb"<http://www.w3.org/ns/hydra/core#next(?:SourcePage)?> <([^<>]*)> (?:<[^<>]*> )?\.$", re.M)


class KnownPage(NamedTuple):
    """A page as it was when it was taken last."""

    validators: Validators
    following: str


class Crawled(NamedTuple):
    """All pages of a source, in order."""

    pages: tuple[SourcePage, ...]
    kind: str
    """Empty where nothing says it; of a source that tells of changes there are no pages."""
    moved_to: str
    """Of the first page, as `Fetched.moved_to`."""
    fresh_seconds: float
    hub: FoundHub | None = None
    """Of a feed that has changed."""


@dataclass(frozen=True, slots=True)
class Crawler:
    """Fetches pages by `send` and parses them in a child."""

    send: Send
    parser: Parser
    agent: str

    def crawl(self, source: KnownSource, known: Mapping[str, KnownPage], now: int) -> Crawled:
        """Raises `CheckFailed`, `EgressRefused` and `EgressFailed`: a snapshot is taken whole or not at all."""
        pages: list[SourcePage] = []
        kind, moved_to, fresh, size = source.kind, "", 0.0, 0
        url, location, hub = source.url, source.location, None
        while url:
            if any(url == page.url for page in pages):
                raise CheckFailed(f"its pages lead in a circle, back to {shortened(url, 200)}")
            if len(pages) == MOST_PAGES or size > MOST_BYTES:
                raise CheckFailed(f"it has more than {MOST_PAGES} pages, or {MOST_BYTES >> 20} MiB of them")
            there = known.get(url)
            fetched = self.ask(location, there.validators if there else Validators(), now)
            if not (source.kind or pages) and is_activities(fetched.body):
                return Crawled((), ACTIVITIES, "", 0.0)
            page = self._read(source, url, fetched, there)
            size += len(page.body)
            if not pages:
                moved_to, fresh = fetched.moved_to, fetched.fresh_seconds
                if page.parsed is not None and page.parsed.drafts:
                    quads = b"".join(each.quads for each in page.parsed.drafts)
                    if not source.kind and any(is_tree(quads, each) for each in (url, page.address)):
                        return Crawled((), LDES, "", 0.0)
                    kind = FEED if is_feed(page.parsed.drafts, url) else DOCUMENT
                    if source.kind not in ("", kind):
                        raise CheckFailed(f"it was a {source.kind} and is a {kind} now: remove it and add it again")
                if page.parsed is not None and kind in HUBBED:
                    hub = find_hub(fetched.links, page.body, page.address)
            pages.append(page)
            url = location = "" if kind == FEED else page.following
        return Crawled(tuple(pages), kind, moved_to, fresh, hub)

    def list_records(self, source: KnownSource, token: str, now: int) -> tuple[OaiPage, str]:
        """The first page of a list since the source's date, or the one of a token, and address. Raises as `crawl`."""
        address = list_address(source.location, source.since, token)
        fetched = self.ask(address, Validators(), now)
        try:
            return read_oai(fetched.body), address
        except OaiFault as fault:
            raise CheckFailed(": ".join(filter(None, map(str, fault.args)))) from None

    def ask(self, url: str, validators: Validators, now: int) -> Fetched:
        """An answer that has a body, or says that nothing changed since one with these validators. Raises
        `CheckFailed`, `EgressRefused` and `EgressFailed`."""
        fetched = fetch(self.send, url, validators, now, self.agent)
        if fetched.status == NOT_MODIFIED and any(validators):
            return fetched
        if fetched.status != 200:
            raise CheckFailed(f"it answers {fetched.status}", fetched.status, fetched.retry_seconds)
        if not fetched.body.strip():
            raise CheckFailed("its answer is empty")
        return fetched

    def _read(self, source: KnownSource, url: str, fetched: Fetched, there: KnownPage | None) -> SourcePage:
        if fetched.status == NOT_MODIFIED and there is not None:
            return SourcePage(url, fetched.address, there.validators, None, following=there.following)
        document = Document(url, fetched.body, fetched.media_type, url, split=source.split)
        (parsed,) = self.parser.parse_soon([document])
        if parsed.rejects and not parsed.drafts:
            first = parsed.rejects[0]
            raise CheckFailed(f"{first.stage}: {first.reason}; {first.hint}")
        if parsed.rejects and _is_cut_off(fetched.body):
            parsed = parsed._replace(drafts=parsed.drafts[:-1])
        following = fetched.links.get("next") or _next_of(parsed, url)
        return SourcePage(url, fetched.address, fetched.validators, parsed, fetched.body, fetched.media_type, following)


def _is_cut_off(body: bytes) -> bool:
    """Whether an ill-formed XML document lacks its end: then its last item is a part of one."""
    return body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and not _END.search(body, max(0, len(body) - _TAIL))


def _next_of(parsed: ParsedDocument, url: str) -> str:
    """The next page, as Hydra's vocabulary names it in the document itself."""
    for draft in parsed.drafts:
        for found in _NEXT.finditer(draft.quads):
            if (named := found[1].decode()) != url:
                return named
    return ""
