"""Documents that strain a parser, and mutants of real ones.

`python -m tests.unit.ingest.harmless_documents SEED COUNT` compares what parsing COUNT mutants here and in a child
gives; with `hostile` for both it parses those documents here alone. Each prints one line of JSON, in a process of its
own, so that a crash and its memory are seen. The file that TRIPLECAST_MUTANT names then has the seed and the number of
a mutant shortly before.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from triplecast.ingest import Document, ParsedDocument
from triplecast.ingest.harmless import parse_harmless
from triplecast.ingest.parse import parse_document

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
SIZE = 1 << 16
TYPES = {
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".nq": "application/n-quads",
    ".trig": "application/trig",
}
DAMAGE = (
    *(
        b"<",
        b">",
        b'"',
        b"'",
        b'"""',
        b"'''",
        b"\\",
        b"\\u",
        b"\\U0010ffff",
        b"\\uD800",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(
        b"[",
        b"]",
        b"(",
        b")",
        b"{",
        b"}",
        b"{|",
        b"|}",
        b"<<",
        b">>",
        b"<<(",
        b")>>",
        b"~",
        b"_:",
        b"_:a",
        b"@",
        b"@en",
    ),
    *(
        b"@en--ltr",
        b"^^",
        b"^",
        b".",
        b";",
        b",",
        b"a",
        b":",
        b"::",
        b"#",
        b"%",
        b"%zz",
        b"/../",
        b"//",
        b"?",
        b"\r",
        b"\n",
    ),
    *(
        b"@prefix : <a:> .",
        b"PREFIX p: <>",
        b"@base <x/> .",
        b"BASE <a:b>",
        b"@version",
        b"GRAPH",
        b"1e",
        b"-.5",
        b"true",
    ),
)
DULL = (b"a", b"Z", b"0", b" ", b"\n", b"-", b"_", b"\xc3\xa9", b"=", b"+", b"!", b"$", b"&", b"*")


def filled(start: bytes, piece: bytes, end: bytes = b"", size: int = SIZE) -> bytes:
    return start + piece * ((size - len(start) - len(end)) // len(piece)) + end


def hostile() -> Iterator[tuple[str, bytes]]:
    """Name and Turtle of documents that make a parser write, resolve, nest, name or fail as much as they can."""
    for size in (1 << 11, 1 << 13, SIZE):
        half, eighth = b"x" * (size // 2), b"x" * (size // 8)
        yield "repeated by commas", filled(b"<a:s> <a:p> 1", b",1", b" .", size)
        yield "different by commas", b"<a:s> <a:p> " + b",".join(b"%d" % n for n in range(size // 7)) + b" ."
        yield "a long subject", filled(b"<a:" + half + b"> <a:p> 1", b",1", b" .", size)
        yield (
            "a long prefix",
            filled(b"@prefix p: <a:" + half + b"> . p:", b" p: p: , p: ; p: p: . p:", b" p: p: .", size),
        )
        yield "a prefix of an eighth", filled(b"@prefix : <a:" + eighth + b">.", b": : :.", b"", size)
        yield "bases that grow", filled(b"@base <a:/> .", b"@base <x/> .", b"<> <a:p> 1 .", size)
        yield "sparql bases that grow", filled(b"BASE <a:/>", b"BASE<x/>", b" <> <a:p> 1 .", size)
        yield "prefixes", b"".join(b"@prefix p%d:<a:>." % n for n in range(size // 20))
        yield (
            "dots in a path",
            filled(b"@base <a:/", b"x/", b"> . <a:s> <a:p> <" + b"../" * (size // 8) + b"> .", size // 2),
        )
        yield "spaces", filled(b"<a:s> <a:p>", b" ", b"1 .", size)
        yield "comments", filled(b"", b"#\n", b"<a:s> <a:p> 1 .", size)
        yield "a long literal", filled(b'<a:s> <a:p> "', b"x", b'" .', size)
        yield "a literal of escapes", filled(b'<a:s> <a:p> "', b"\\n", b'" .', size)
        yield "a literal of controls", filled(b'<a:s> <a:p> """', b"\x01", b'""" .', size)
        yield "a literal without an end", filled(b'<a:s> <a:p> """', b"x\n", b"", size)
        yield "a literal like blank nodes", filled(b'<a:s> <a:p> """', b" _:x <", b'""" .', size)
        yield "a literal like triple terms", filled(b'<a:s> <a:p> """', b"<<( --ltr ", b'""" .', size)
        yield "quotes", filled(b"<a:s> <a:p> ", b'"",', b'"" .', size)
        yield "a long IRI without an end", filled(b"<a:", b"x", b"", size)
        yield "a long number", filled(b"<a:s> <a:p> ", b"9", b" .", size)
        yield "a long language tag", filled(b'<a:s> <a:p> "x"@en', b"-x", b" .", size)
        yield "a language tag that is none", filled(b'<a:s> <a:p> "x"@', b"abcdefghi-", b" .", size)
        yield "percent signs", filled(b"<a:s> <a:p> <a:", b"%41", b"> .", size)
        yield "square brackets", b"<a:s> <a:p> " + b"[ <a:p> " * (size // 9) + b"]" * (size // 9) + b" ."
        yield "a hundred brackets", b"<a:s> <a:p> " + b"[ <a:p> " * 99 + b"1" + b"]" * 99 + b" ."
        yield "a hundred triple terms", b"<a:s> <a:p> " + b"<<( <a:s> <a:p> " * 99 + b"1" + b" )>>" * 99 + b" ."
        yield "a hundred reified triples", b"<< <a:s> <a:p> " * 99 + b"1" + b" >>" * 99 + b" <a:p> 1 ."
        yield "annotations", b"<a:s> <a:p> 1 " + b"{| <a:p> 1 " * 49 + b"|}" * 49 + b" ."
        yield "a list", filled(b"<a:s> <a:p> (", b"1 ", b") .", size)
        yield "alike blank nodes", b"".join(b"_:a%d <a:p> _:a%d ." % (n, (n + 1) % 60) for n in range(60))
        yield "a star of blank nodes", b"".join(b"_:c <a:p> _:a%d ." % n for n in range(100))
        yield (
            "blank nodes all joined",
            b"".join(b"_:%c <a:p> _:%c ." % (a, b) for a in b"abcdefgh" for b in b"abcdefgh"),
        )
        yield "graphs", b"".join(b"<a:g%d>{<a:s> <a:p> 1}" % n for n in range(min(size // 22, 99)))
        yield "quads", b"".join(b"<a:s> <a:p> <a:o> <a:g%d> .\n" % n for n in range(size // 29))
        yield "bad quads", b"".join(b'<a:s> <a:p> "x"@%d <a:g%d> .\n' % (n, n % 90) for n in range(size // 30))
        yield "bad lines", filled(b"", b"<a:s> <a:p> .\n", b"", size)


def real(data: Path = DATA) -> list[Document]:
    """The real documents of the formats that are parsed in process, and what is not harmless among them too."""
    files = sorted(path for path in data.rglob("*") if path.suffix in TYPES and path.stat().st_size <= SIZE)
    return [Document(path.name, path.read_bytes()) for path in files]


def excerpt(rng: random.Random, data: bytes) -> bytes:
    """A few statements of a document, with its prefixes: most of the time is for parsing."""
    if len(data) < 800 or rng.random() < 0.02:
        return data
    statements = data.split(b".\n")
    head = [each for each in statements[:40] if each.lstrip().startswith((b"@", b"PREFIX"))]
    start = rng.randrange(len(statements))
    return b".\n".join([*head, *statements[start : start + rng.randint(1, 4)]])[:2000] + b".\n"


def mutant(rng: random.Random, documents: list[Document]) -> Document:
    """Part of a document with up to five random damages, mostly small, under its own or another type."""
    document = rng.choice(documents)
    data = excerpt(rng, document.data)
    text = bytearray(data)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 1, 2, 5))):
        place = rng.randrange(len(text) + 1)
        match rng.randrange(5):
            case 0:
                text[place:place] = rng.choice(DAMAGE)
            case 1:
                del text[place : place + rng.randint(1, 20)]
            case 2:
                other = rng.randrange(len(text) + 1)
                text[other:other] = text[place : place + rng.randint(1, 40)]
            case 3:
                text[place : place + 1] = bytes([rng.randrange(256)]) if rng.random() < 0.3 else rng.choice(DULL)
            case _:
                text[place:place] = rng.choice(DAMAGE) * rng.randint(1, 300 if rng.random() < 0.02 else 3)
    media_type = rng.choice([None, None, None, None, None, None, *TYPES.values()])
    graph = rng.choice([None, None, "http://e/d", "http://é/d", "urn:x", "no iri", "http://e/" + "a/../" * 99])
    return Document(document.source, bytes(text), media_type, graph, rng.random() < 0.2)


def compare(seed: int, count: int) -> dict[str, int | float]:
    """Compare `count` mutants; raise AssertionError at the first difference."""
    documents = real()
    note = os.environ.get("TRIPLECAST_MUTANT")
    seen: dict[str, int | float] = {"mutants": 0, "here": 0, "rejected here": 0, "with blank nodes": 0}
    longest = 0.0
    for number in range(count):
        document = mutant(random.Random(f"{seed}/{number}"), documents)
        if note and number % 1000 == 0:
            Path(note).write_text(f"{seed}/{number}")
        seconds, here = timed(document)
        longest = max(longest, seconds if seconds <= longest else timed(document)[0])  # the machine pauses, too
        seen["mutants"] += 1
        if here is not None:
            seen["here"] += 1
            seen["rejected here"] += bool(here.rejects)
            seen["with blank nodes"] += any(draft.labels == "canonical" for draft in here.drafts)
            assert here == parse_document(document), f"seed {seed}/{number}: {document}"
    return seen | {"most seconds": round(longest, 4), "MB": peak()}


def peak() -> int:
    """The most MB that this process had: not by `getrusage`, whose figure begins with that of the parent."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def timed(document: Document) -> tuple[float, ParsedDocument | None]:
    began = time.process_time()
    parsed = parse_harmless(document)
    return time.process_time() - began, parsed


def strain() -> dict[str, int | float]:
    """Parse the hostile documents: the most bytes and seconds of one, how many were harmless, and the memory of all."""
    before = peak()
    written, longest, here = 0, 0.0, 0
    for document in strained():
        runs = [timed(document) for _ in range(3)]
        longest = max(longest, min(seconds for seconds, _ in runs))
        if (parsed := runs[0][1]) is not None:
            here += 1
            written = max(written, sum(len(draft.quads) for draft in parsed.drafts))
    return {"bytes": written, "seconds": round(longest, 4), "here": here, "MB": peak() - before}


def strained() -> Iterator[Document]:
    """The hostile documents as each type, with a short base and a long one."""
    for name, data in hostile():
        for media_type in TYPES.values():
            yield Document(name, data, media_type, "http://e/d")
            yield Document(name, data, media_type, "http://e/" + "a" * 4000, dataset=True)


if __name__ == "__main__":
    print(json.dumps(strain() if sys.argv[1] == "hostile" else compare(int(sys.argv[1]), int(sys.argv[2]))))
