"""Records of a catalogue as an aggregator holds them: ten triples each, with a title and a text of their own.

A record has a class of 10, a publisher of 100, a creator of 10,000, a day of ten years, three subjects of 5,000, and a
link to an earlier record. So ten triples bring two literals and a subject that no other record has.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from random import Random

from benchmarks.workloads.texts import NAMESPACE
from triplecast.model.publication import Draft

TRIPLES = 10
"""Of a record."""
_SUBJECTS = 5_000


def make_records(first: int, count: int, seed: int = 11) -> Iterator[Draft]:
    """Records `first`, … as publications of their own, in canonical form."""
    random = Random(seed + first)
    for number in range(first, first + count):
        lines = [line.encode() for line in _lines(number, random)]
        quads = b"".join(sorted(lines))
        yield Draft(f"{NAMESPACE}record/{number}", quads, sha256(quads).digest(), "none")


def _lines(number: int, random: Random) -> Iterator[str]:
    subject = f"<{NAMESPACE}record/{number}#it>"
    values = [
        ("type", f"<{NAMESPACE}class{number % 10}>"),
        ("publisher", f"<{NAMESPACE}publisher{number % 100}>"),
        ("creator", f"<{NAMESPACE}creator{random.randrange(10_000)}>"),
        ("date", f'"{2016 + number % 10}-{1 + number % 12:02}-{1 + number % 28:02}"'),
        ("title", f'"Record {number} of a catalogue"'),
        ("text", f'"What record {number} says of itself, in some eighty characters that no other has."'),
        ("next", f"<{NAMESPACE}record/{random.randrange(number + 1)}#it>"),
    ]
    values += [("subject", f"<{NAMESPACE}subject{each}>") for each in random.sample(range(_SUBJECTS), 3)]
    for predicate, value in values:
        yield f"{subject} <{NAMESPACE}{predicate}> {value} .\n"
