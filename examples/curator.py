"""A curator's morning: what is new in a feed, a catalogue and a collection of laws since yesterday."""

from pathlib import Path

import triplecast

SAMPLES = Path(__file__).parent / "curator"
WATCHED = {
    "articles": 'SELECT ?title { ?item a rss:item ; rss:title ?title ; dc:subject "archives" }',
    "datasets": "SELECT ?title ?licence { ?d a dcat:Dataset ; dct:title ?title OPTIONAL { ?d dct:license ?licence } }",
    "laws": "SELECT ?title ?state { ?law a eli:LegalResource ; dct:title ?title ; eli:in_force ?state }",
}
SOURCES = {
    "feed.rss": ("https://news.example/feed", None),
    "catalogue.ttl": ("https://data.example/catalogue.ttl", "dcat:Dataset"),
    "law.ttl": ("https://law.example/all.ttl", "eli:LegalResource"),
}

with triplecast.Engine() as engine:
    for name, query in WATCHED.items():
        engine.subscribe(query, id=name, scope="repository")
    for day in ("monday", "tuesday"):
        documents = [
            triplecast.Document(file, (SAMPLES / day / file).read_bytes(), graph=graph, split=split)
            for file, (graph, split) in SOURCES.items()
        ]
        print(f"{day}:")
        for receipt in engine.publish_many(documents):
            for match in receipt.matches:
                for sign, rows in (("-", match.removed), ("+", match.added)):
                    for row in rows:
                        print(f"  {match.subscription} {sign}", *(f"{name}={term.value}" for name, term in row.items()))
