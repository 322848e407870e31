"""A standing query, a feed, and what matched: in memory, nothing is kept."""

from pathlib import Path

import triplecast

FEED = Path(__file__).parent / "inbox" / "news" / "courier.atom"

with triplecast.Engine() as engine:
    engine.subscribe('SELECT ?item ?title WHERE { ?item dc:subject "rail" ; rss:title ?title }', id="rail")
    receipt = engine.publish(FEED.read_bytes(), media_type="application/atom+xml")
    print(f"{len(receipt.publications)} items, {len(receipt.matches)} matches")
    for match in receipt.matches[:3]:
        print(match.subscription, match.publication, match.bindings[0]["title"].value)
