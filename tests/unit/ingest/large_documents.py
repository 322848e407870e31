"""Documents of every format close to a size, good ones and hostile ones: what a parser may be made to hold.

Each is made of one pattern that is repeated until the size is reached; `rng` varies names and lengths.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import count

Made = Callable[[random.Random, int], bytes]
"""Makes a document of about so many bytes."""


def repeated(start: str, part: Callable[[random.Random, int], str], end: str = "", joint: str = "") -> Made:
    """Return what makes a document of `start`, numbered parts with `joint` between them, and `end`."""

    def make(rng: random.Random, size: int) -> bytes:
        def parts() -> Iterator[str]:
            left = size - len(start.encode()) - len(end.encode())
            for number in count():
                text = part(rng, number)
                left -= len(text.encode()) + len(joint)
                if left < 0:
                    return
                yield text

        return (start + joint.join(parts()) + end).encode()

    return make


def _rdf(part: Callable[[random.Random, int], str], more: str = "") -> Made:
    head = f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"{more}>'
    return repeated(head, part, "</rdf:RDF>")


def _rss(part: Callable[[random.Random, int], str]) -> Made:
    head = '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>t</title>'
    return repeated(head, part, "</channel></rss>")


def _item(part: Callable[[random.Random, int], str]) -> Made:
    return repeated('<rss version="2.0"><channel><item><guid>1</guid>', part, "</item></channel></rss>")


def _atom(part: Callable[[random.Random, int], str]) -> Made:
    return repeated('<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:f</id>', part, "</feed>")


def _rss_1(part: Callable[[random.Random, int], str]) -> Made:
    more = ' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    return _rdf(lambda rng, i: part(rng, i) if i else '<channel rdf:about="urn:c"><title>t</title></channel>', more)


def _word(rng: random.Random, longest: int = 12) -> str:
    return "".join(rng.choices("abcdefghijklmnop é", k=rng.randrange(1, longest)))


GOOD: Mapping[str, tuple[str, Made]] = {
    "catalogue.ttl": (
        "text/turtle",
        repeated(
            "@prefix e: <http://example.org/vocabulary#> .\n",
            lambda rng, i: f'e:s{i} a e:Thing ; e:title "{_word(rng, 60)}"@en ; e:next e:s{i + 1}, e:s{i + 2} .\n',
        ),
    ),
    "nodes.ttl": (
        "text/turtle",
        repeated("@prefix e: <http://e/> .\n", lambda _, i: f"e:{i} e:p [ e:q {i} ; e:r [ e:s 'x' ] ] .\n"),
    ),
    "lines.nt": (
        "application/n-triples",
        repeated("", lambda rng, i: f'<http://example.org/{i}> <http://example.org/title> "{_word(rng, 90)}" .\n'),
    ),
    "graphs.nq": (
        "application/n-quads",
        repeated("", lambda rng, i: f'<http://e/{i}> <http://e/title> "{_word(rng, 60)}" <http://e/g{i % 9000}> .\n'),
    ),
    "graphs.trig": (
        "application/trig",
        repeated(
            "@prefix e: <http://e/> .\n",
            lambda rng, i: f'e:g{i % 9000} {{ e:s{i} e:title "{_word(rng, 90)}" ; e:date {i} }}\n',
        ),
    ),
    "things.jsonld": (
        "application/ld+json",
        repeated(
            '{"@context": {"@vocab": "http://e/"}, "@graph": [',
            lambda rng, i: f'{{"@id": "http://e/{i}", "@type": "T", "name": "{_word(rng, 60)}", "n": {i}}}',
            "]}",
            ",\n",
        ),
    ),
    "things_of_schema_org.jsonld": (
        "application/ld+json",
        repeated(
            '{"@context": "https://schema.org", "@graph": [',
            lambda rng, i: (
                f'{{"@id": "http://e/{i}", "@type": "Thing", "name": "{_word(rng, 60)}", "url": "http://e/"}}'
            ),
            "]}",
            ",\n",
        ),
    ),
    "things.rdf": (
        "application/rdf+xml",
        _rdf(lambda rng, i: f'<e:T rdf:about="http://e/{i}"><e:name xml:lang="en">{_word(rng, 60)}</e:name></e:T>\n'),
    ),
    "items.rdf": (
        "application/rdf+xml",
        _rss_1(
            lambda rng, i: (
                f'<item rdf:about="urn:i{i}"><title>{_word(rng, 60)}</title><dc:date>2026-11-22</dc:date>'
                f"<description>{_word(rng, 3000)}</description></item>\n"
            )
        ),
    ),
    "items.rss": (
        "application/rss+xml",
        _rss(
            lambda rng, i: (
                f"<item><guid>http://e/{i}</guid><title>{_word(rng, 60)}</title><category>{_word(rng)}</category>"
                f"<pubDate>Sun, 22 Nov 2026 8:00 GMT</pubDate><description>{_word(rng, 3000)}</description></item>\n"
            )
        ),
    ),
    "entries.atom": (
        "application/atom+xml",
        _atom(
            lambda rng, i: (
                f"<entry><id>urn:{i}</id><title>{_word(rng, 60)}</title><updated>2026-11-22T08:00:00Z</updated>"
                f'<link href="http://e/{i}"/><content type="html">{_word(rng, 3000)}</content></entry>\n'
            )
        ),
    ),
}
"""What publishers may send: each is published at the largest size, or at that of `SMALLER`."""
SMALLER = {"catalogue.ttl": 9 << 20, "nodes.ttl": 6 << 20}
"""Bytes of documents that a larger one would exceed the limit of written-out bytes with."""

_SHARED = '<rdf:Description rdf:about="a:x"><dc:t>what all items share</dc:t></rdf:Description>'

HOSTILE: Mapping[str, tuple[str, Made]] = {
    "smallest triples": ("text/turtle", repeated("<a:a><a:a>1", lambda _, i: str(i), ".", ",")),
    "list": ("text/turtle", repeated("<a:a><a:a>(", lambda *_: "1", ").", " ")),
    "blank nodes": ("text/turtle", repeated("<a:a><a:a>[]", lambda *_: "[]", ".", ",")),
    "long prefix": ("text/turtle", repeated(f"@prefix p:<a:{'x' * 9000}>.", lambda _, i: f"p:a p:b p:{i}.")),
    "prefixes": ("text/turtle", repeated("", lambda _, i: f"@prefix p{i}:<a:>.")),
    "one comment": ("text/turtle", repeated("#", lambda *_: "x" * 100)),
    "one literal": ("text/turtle", repeated('<a:a><a:a>"', lambda *_: "x" * 100, '".')),
    "smallest lines": ("application/n-triples", repeated("", lambda _, i: f"<a:><a:><a:{i}>.\n")),
    "blank lines": ("application/n-triples", repeated("", lambda *_: "\n")),
    "blank chain": ("application/n-triples", repeated("", lambda _, i: f"_:{i}<a:>_:{i + 1}.\n")),
    "faulty lines": ("application/n-quads", repeated("", lambda _, i: f"<a:><a:><a b><a:{i % 90}>.\n")),
    "smallest quads": ("application/n-quads", repeated("", lambda _, i: f"<a:><a:><a:{i}><a:{i % 9999}>.\n")),
    "graphs": ("application/trig", repeated("", lambda _, i: f"<a:{i}>{{<a:><a:>1}}")),
    "empty graphs": ("application/trig", repeated("", lambda _, i: f"<a:{i}>{{}}")),
    "empty arrays": ("application/ld+json", repeated('{"a:a":[', lambda *_: "[]", "]}", ",")),
    "empty objects": ("application/ld+json", repeated('{"a:a":[', lambda *_: "{}", "]}", ",")),
    "nodes": ("application/ld+json", repeated('{"a:a":[', lambda *_: '{"a:b":1}', "]}", ",")),
    "numbers": ("application/ld+json", repeated('{"a:a":[', lambda _, i: str(i), "]}", ",")),
    "strings": ("application/ld+json", repeated('{"a:a":[', lambda *_: '""', "]}", ",")),
    "a list": ("application/ld+json", repeated('{"a:a":{"@list":[', lambda *_: "1", "]}}", ",")),
    "keys": ("application/ld+json", repeated("{", lambda _, i: f'"a:{i}":1', "}", ",")),
    "unknown keys": ("application/ld+json", repeated("{", lambda _, i: f'"{i}":1', "}", ",")),
    "terms": ("application/ld+json", repeated('{"@context":{', lambda _, i: f'"t{i}":"a:{i}"', "}}", ",")),
    "typed terms": (
        "application/ld+json",
        repeated('{"@context":{', lambda _, i: f'"t{i}":{{"@id":"a:{i}","@type":"@id"}}', "}}", ","),
    ),
    "contexts": ("application/ld+json", repeated('{"@context":[', lambda *_: '{"a":"b:"}', '],"a":1}', ",")),
    "inner contexts": (
        "application/ld+json",
        repeated('{"a:a":[', lambda _, i: f'{{"@context":{{"t{i}":"a:"}},"t{i}":1}}', "]}", ","),
    ),
    "graphs of nodes": ("application/ld+json", repeated('{"@graph":[', lambda _, i: f'{{"@id":"a:{i}"}}', "]}", ",")),
    "named graphs": (
        "application/ld+json",
        repeated('{"@graph":[', lambda _, i: f'{{"@id":"a:{i}","@graph":[{{"a:a":1}}]}}', "]}", ","),
    ),
    "arrays beside a bundled context": (
        "application/ld+json",
        repeated('{"@context":"https://schema.org","name":[', lambda *_: "[]", "]}", ","),
    ),
    "empty elements": ("application/rdf+xml", _rdf(lambda *_: "<e:a/>")),
    "descriptions": ("application/rdf+xml", _rdf(lambda *_: '<e:a e:b=""/>')),
    "properties": (
        "application/rdf+xml",
        repeated(
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"><e:a>',
            lambda *_: "<e:b/>",
            "</e:a></rdf:RDF>",
        ),
    ),
    "namespaces": ("application/rdf+xml", _rdf(lambda _, i: f'<n{i}:a xmlns:n{i}="a:{i}"/>')),
    "one text": ("application/rdf+xml", _rdf(lambda _, i: "x" * 100)),
    "wide text": ("application/rdf+xml", _rdf(lambda _, i: "\U0001f600" * 100)),
    "items of nothing": ("application/rss+xml", _rss(lambda *_: "<item/>")),
    "items of RSS 1.0": ("application/rdf+xml", _rss_1(lambda _, i: f'<item rdf:about="a:{i}"/>')),
    "shared node": (
        "application/rdf+xml",
        _rss_1(lambda _, i: f'<item rdf:about="a:{i}"><dc:s rdf:resource="a:x"/></item>' if i % 2 else _SHARED),
    ),
    "categories": ("application/rss+xml", _item(lambda _, i: f"<category>{i}</category>")),
    "enclosures": ("application/rss+xml", _item(lambda _, i: f'<enclosure url="a:{i}"/>')),
    "unknown elements": ("application/rss+xml", _item(lambda *_: "<x/>")),
    "titles": ("application/rss+xml", _item(lambda *_: "<title>x</title>")),
    "entries of links": (
        "application/atom+xml",
        repeated(
            '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>a:</id>',
            lambda _, i: f'<link href="a:{i}"/>',
            "</entry></feed>",
        ),
    ),
    "channels": ("application/rss+xml", _rss(lambda *_: "<category>a</category>")),
    "ill-formed items": ("application/rss+xml", repeated("<rss><channel>", lambda _, i: f"<item><guid>{i}<title>a")),
    "entities": ("application/rss+xml", _item(lambda *_: "&amp;")),
}
"""Each is published or rejected, within the limits of a parser's child."""
