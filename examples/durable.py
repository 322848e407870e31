"""A durable engine: versions, unchanged content, cancelling, and the outbox after a restart."""

import tempfile
from pathlib import Path

import triplecast

RECORD = """@prefix dcterms: <http://purl.org/dc/terms/> .
<https://example.org/book> dcterms:title "Graphs" ; dcterms:extent {pages} ."""

with tempfile.TemporaryDirectory() as folder:
    with triplecast.Engine.open(Path(folder)) as engine:
        long = engine.subscribe("SELECT ?book ?n WHERE { ?book dcterms:extent ?n FILTER(?n > 300) }", id="long books")
        print(f"{long.id}: {long.cost}; warnings: {long.warnings}")
        for pages in (280, 320, 320, 350):
            receipt = engine.publish(RECORD.format(pages=pages), "text/turtle", graph="https://example.org/records/1")
            print(f"{pages} pages: {len(receipt.matches)} matches")
        engine.unsubscribe("long books", ticket=long.ticket)
        engine.publish(RECORD.format(pages=900), "text/turtle", graph="https://example.org/records/1")

    with triplecast.Engine.open(Path(folder)) as engine:
        for notification in engine.notifications():
            print(
                notification.sequence,
                notification.subscription,
                f"version {notification.version}",
                notification.json,
            )
