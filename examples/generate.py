"""Writes the sample publications in `src/triplecast/samples/inbox`: three news feeds, a data catalogue, a few articles.

The texts are Triplecast's own; the choice among them is a seeded draw, so running this again changes nothing.

    .venv/bin/python examples/generate.py
"""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from xml.sax.saxutils import escape

INBOX = Path(__file__).resolve().parents[1] / "src" / "triplecast" / "samples" / "inbox"
SEED = 20261121
START = datetime(2026, 10, 1, 6, 0, tzinfo=UTC)

PLACES = ("Ghent", "Tallinn", "Porto", "Graz", "Turku", "Leuven", "Brno", "Galway", "Bergen", "Trieste")
WRITERS = ("Ada Lindqvist", "Jonas Peeters", "Marta Oliveira", "Sean O'Dowd", "Ines Kovač", "Pekka Salo")
STORIES = {
    "energy": (
        "{place} switches on its first tidal turbine",
        "Wind farm off {place} feeds the grid a month early",
        "Heat pumps outsell boilers in {place}",
        "Night-time tariff saves {place} a tenth of its power",
    ),
    "rivers": (
        "Flood gates hold as the river crests in {place}",
        "Salmon return to the river above {place}",
        "River ferry in {place} runs on batteries",
        "Low water stops barges below {place}",
    ),
    "rail": (
        "Night train to {place} sells out",
        "Signal fault halts trains around {place}",
        "{place} reopens a railway closed for forty years",
        "Tram line nine reaches the harbour of {place}",
    ),
    "science": (
        "Telescope near {place} finds a quiet star",
        "Lab in {place} grows moss that cleans air",
        "Students from {place} map a cave with sound",
        "Old maps of {place} reveal a lost stream",
    ),
    "culture": (
        "Museum in {place} opens its stores to visitors",
        "Choir festival fills {place} with sound",
        "Library of {place} lends seeds and tools",
        "A film shot in {place} wins the silver reel",
    ),
    "health": (
        "Clinic in {place} tests a one-hour diagnosis",
        "Air quality alert lifted in {place}",
        "Nurses in {place} vote for shorter shifts",
        "Pollen season starts early in {place}",
    ),
}
BODIES = (
    "Officials called it a small step; residents disagreed.",
    "The council will publish the figures as open data next week.",
    "Readers had asked about it since spring.",
    "It cost less than planned, and took longer.",
    "A public hearing follows on Thursday.",
)


def draw_stories(rng: random.Random, count: int) -> list[dict[str, object]]:
    stories: list[dict[str, object]] = []
    for number in range(1, count + 1):
        subject = rng.choice(sorted(STORIES))
        stories.append(
            {
                "number": number,
                "subject": subject,
                "title": rng.choice(STORIES[subject]).format(place=rng.choice(PLACES)),
                "body": " ".join(rng.sample(BODIES, 2)),
                "writer": rng.choice(WRITERS),
                "when": START + timedelta(minutes=rng.randrange(50 * 24 * 60)),
            }
        )
    return stories


def write_rss2(path: Path, site: str, name: str, stories: list[dict[str, object]]) -> None:
    items = "".join(
        f"""  <item>
    <title>{escape(str(s["title"]))}</title>
    <link>{site}/news/{s["number"]}</link>
    <guid isPermaLink="true">{site}/news/{s["number"]}</guid>
    <description>{escape(str(s["body"]))}</description>
    <dc:creator>{escape(str(s["writer"]))}</dc:creator>
    <category>{s["subject"]}</category>
    <pubDate>{format_datetime(s["when"])}</pubDate>
  </item>
"""
        for s in stories
    )
    path.write_text(
        f"""<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel>
  <title>{name}</title>
  <link>{site}/</link>
  <description>News, written for Triplecast's samples</description>
{items}</channel>
</rss>
""",
        "utf-8",
    )


def write_atom(path: Path, site: str, name: str, stories: list[dict[str, object]]) -> None:
    entries = "".join(
        f"""  <entry>
    <id>{site}/news/{s["number"]}</id>
    <title>{escape(str(s["title"]))}</title>
    <link rel="alternate" href="{site}/news/{s["number"]}"/>
    <summary>{escape(str(s["body"]))}</summary>
    <author><name>{escape(str(s["writer"]))}</name></author>
    <category term="{s["subject"]}"/>
    <published>{s["when"].isoformat()}</published>
    <updated>{s["when"].isoformat()}</updated>
  </entry>
"""
        for s in stories
    )
    path.write_text(
        f"""<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>{site}/</id>
  <title>{name}</title>
  <link rel="self" href="{site}/feed.atom"/>
  <updated>{START.isoformat()}</updated>
{entries}</feed>
""",
        "utf-8",
    )


def write_rss1(path: Path, site: str, name: str, stories: list[dict[str, object]]) -> None:
    sequence = "".join(f'      <rdf:li rdf:resource="{site}/news/{s["number"]}"/>\n' for s in stories)
    items = "".join(
        f"""  <item rdf:about="{site}/news/{s["number"]}">
    <title>{escape(str(s["title"]))}</title>
    <link>{site}/news/{s["number"]}</link>
    <description>{escape(str(s["body"]))}</description>
    <dc:creator>{escape(str(s["writer"]))}</dc:creator>
    <dc:subject>{s["subject"]}</dc:subject>
    <dc:date>{s["when"].isoformat()}</dc:date>
  </item>
"""
        for s in stories
    )
    path.write_text(
        f"""<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
         xmlns:dc="http://purl.org/dc/elements/1.1/">
  <channel rdf:about="{site}/">
    <title>{name}</title>
    <link>{site}/</link>
    <description>News, written for Triplecast's samples</description>
    <items><rdf:Seq>
{sequence}    </rdf:Seq></items>
  </channel>
{items}</rdf:RDF>
""",
        "utf-8",
    )


THEMES = {
    "transport": ("Tram stops", "Cycle counts", "Bridge clearances", "Ferry timetable"),
    "environment": ("Air quality hourly", "River levels", "Street trees", "Noise map"),
    "economy": ("Market stalls", "Building permits", "Business register", "Harbour dues"),
    "health": ("Clinic waiting times", "Pollen counts", "Drinking water tests", "Defibrillators"),
}
FORMATS = (
    ("CSV", "text/csv"),
    ("GeoJSON", "application/geo+json"),
    ("Turtle", "text/turtle"),
    ("PDF", "application/pdf"),
)
LICENCES = ("https://creativecommons.org/publicdomain/zero/1.0/", "https://creativecommons.org/licenses/by/4.0/")
PREFIXES = """@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix c: <https://data.example.org/> .
"""


def dataset_turtle(rng: random.Random, number: int) -> str:
    theme = rng.choice(sorted(THEMES))
    place = rng.choice(PLACES)
    title = f"{rng.choice(THEMES[theme])} of {place}"
    issued = START.date() - timedelta(days=rng.randrange(2000))
    modified = START.date() + timedelta(days=rng.randrange(50))
    lines = [
        f"c:dataset-{number} a dcat:Dataset ;",
        f'  dcterms:title "{title}"@en ;',
        f"  dcat:theme c:theme-{theme} ;",
        f'  dcat:keyword "{theme}", "{place.lower()}" ;',
        f'  dcterms:issued "{issued}"^^xsd:date ; dcterms:modified "{modified}"^^xsd:date ;',
        f"  dcterms:license <{rng.choice(LICENCES)}> ;",
        f"  dcterms:publisher c:city-{place.lower()} ;",
    ]
    distributions = []
    for label, media in sorted(rng.sample(FORMATS, rng.randrange(1, 4))):
        node = f"c:dataset-{number}-{label.lower()}"
        lines.append(f"  dcat:distribution {node} ;")
        distributions.append(
            f'{node} a dcat:Distribution ; dcterms:format "{label}" ; dcat:mediaType "{media}" ; '
            f"dcat:byteSize {rng.randrange(1_000, 80_000_000)} ."
        )
    lines[-1] = lines[-1][:-1] + "."
    city = f'c:city-{place.lower()} a foaf:Organization ; foaf:name "City of {place}" .'
    return "\n".join([*lines, *distributions, city]) + "\n"


def write_catalogue(rng: random.Random) -> None:
    graphs = [f"c:record-{n} {{\n{dataset_turtle(rng, n)}}}\n" for n in range(1, 81)]
    (INBOX / "catalogue" / "catalogue.trig").write_text(PREFIXES + "".join(graphs), "utf-8")
    for number in range(81, 121):
        text = PREFIXES + dataset_turtle(rng, number)
        (INBOX / "catalogue" / f"dataset-{number}.ttl").write_text(text, "utf-8")


def write_articles(rng: random.Random) -> None:
    for number in range(1, 13):
        writer = rng.choice(WRITERS)
        place = rng.choice(PLACES)
        document = {
            "@context": {
                "@vocab": "https://schema.org/",
                "datePublished": {"@type": "http://www.w3.org/2001/XMLSchema#date"},
            },
            "@id": f"https://essays.example.org/{number}",
            "@type": "Article",
            "headline": f"Walking through {place}, part {number}",
            "wordCount": rng.randrange(300, 5000),
            "datePublished": str((START + timedelta(days=number)).date()),
            "inLanguage": rng.choice(("en", "pt", "fi")),
            "author": {"@type": "Person", "name": writer, "knowsAbout": rng.choice(sorted(STORIES))},
            "about": {"@id": f"https://data.example.org/city-{place.lower()}"},
        }
        path = INBOX / "articles" / f"essay-{number:02}.jsonld"
        path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")


def main() -> None:
    for folder in ("news", "catalogue", "articles"):
        (INBOX / folder).mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED)
    write_rss2(INBOX / "news" / "gazette.rss", "https://gazette.example.org", "Harbour Gazette", draw_stories(rng, 80))
    write_atom(INBOX / "news" / "courier.atom", "https://courier.example.org", "Valley Courier", draw_stories(rng, 80))
    write_rss1(INBOX / "news" / "wire.rdf", "https://wire.example.org", "Northern Wire", draw_stories(rng, 80))
    write_catalogue(rng)
    write_articles(rng)


if __name__ == "__main__":
    main()
