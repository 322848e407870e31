"""100 pictures and 1,000 subscriptions through the pipeline: each is looked at once, and counts are those drawn."""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

pytest.importorskip("PIL", reason="pictures need the extra [operators]")
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "operators" / "box"))

import counted_pictures
from counted_pictures import COUNTED, RECORD
from drawn import draw

from triplecast.journal import Journal
from triplecast.model.algebra import from_ntriples
from triplecast.operators import declared_operators
from triplecast.outbox import OutboxReader
from triplecast.pipeline.run import Sources, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
assert counted_pictures

PICTURES, SUBSCRIPTIONS, CAMERAS, FILES = 100, 1_000, 20, 4
SEED = 20261122
P = f"PREFIX : <https://example.org/> PREFIX c: <{COUNTED}> "


class Seen(NamedTuple):
    camera: int
    objects: int
    content: bytes

    def line(self, number: int, record: Path) -> str:
        data = f'<urn:p{number}> a <https://example.org/Picture> ; <https://example.org/camera> "c{self.camera}" .'
        attached = {f"urn:p{number}": self.content, RECORD: os.fsencode(record)}
        encoded = {iri: base64.b64encode(content).decode() for iri, content in attached.items()}
        row = {"id": f"urn:d{number}", "media_type": "text/turtle", "data": data, "attachments": encoded}
        return json.dumps(row) + "\n"


def draw_pictures() -> list[Seen]:
    chance = random.Random(SEED)
    seen = []
    for _ in range(PICTURES):
        drawn = draw(chance)
        content = drawn.encode(chance.choice(("PNG", "BMP", "GIF")))
        seen.append(Seen(chance.randrange(CAMERAS), drawn.objects, content))
    return seen


def ask(number: int) -> str:
    """One of four kinds of question, each about a camera or a number of its own."""
    kind, turn = number % 4, number // 4
    camera, least = turn % CAMERAS, turn % 22
    most = least + turn // 22
    return (
        P
        + (
            f'SELECT ?p ?n {{ ?p a :Picture ; :camera "c{camera}" ; c:objects ?n }}',
            f"SELECT ?p {{ ?p a :Picture FILTER(c:objects(?p) = {least}) }}",
            f"SELECT ?n {{ ?p a :Picture BIND(c:objects(?p) AS ?n) FILTER(?n > {least} && ?n <= {most}) }}",
            f'SELECT ?n {{ ?p :camera "c{camera}" OPTIONAL {{ ?p a :Picture ; c:objects ?n FILTER(?n > {least}) }} }}',
        )[kind]
    )


def expect(number: int, picture: Seen) -> list[int | None] | None:
    """The counts (or none) in the rows that a question has of a picture; None where it does not match."""
    kind, turn = number % 4, number // 4
    camera, least = turn % CAMERAS, turn % 22
    most = least + turn // 22
    found = picture.objects
    match kind:
        case 0:
            return [found] if picture.camera == camera else None
        case 1:
            return [None] if found == least else None
        case 2:
            return [found] if least < found <= most else None
        case _:
            return [found if found > least else None] if picture.camera == camera else None


def test_each_picture_is_looked_at_once_and_counts_are_those_drawn(tmp_path: Path, spark: SparkSession) -> None:
    subscriptions, inbox, output = tmp_path / "subscriptions.jsonl", tmp_path / "inbox", tmp_path / "out"
    record = tmp_path / "record"
    inbox.mkdir()
    pictures = draw_pictures()
    for part in range(FILES):
        lines = [picture.line(number, record) for number, picture in enumerate(pictures) if number % FILES == part]
        (inbox / f"{part}.jsonl").write_text("".join(lines))
    with subscriptions.open("w") as file:
        for number in range(SUBSCRIPTIONS):
            file.write(json.dumps({"id": str(number), "language": "sparql", "text": ask(number)}) + "\n")

    summary = run(Sources([subscriptions], inbox), output, once=True, spark=spark)

    looked = [line.split()[1:] for line in record.read_text().splitlines()]
    assert len(looked) <= PICTURES
    assert sorted(looked) == sorted([f"urn:d{number}", f"urn:p{number}"] for number in range(PICTURES))
    assert summary.work.operator_calls == len(looked)
    with Journal.read_only(output) as journal:
        assert sum(map(len, journal.answers(0, journal.head(), declared_operators()).values())) == len(looked)

    told: dict[tuple[str, str], list[int | None]] = {}
    with OutboxReader.read_only(output) as outbox:
        assert list(outbox.undecided()) == []
        for each in outbox.notifications():
            rows = json.loads(each.json)
            told[each.subscription, each.publication] = [
                int(from_ntriples(row["n"]).value) if "n" in row else None for row in rows
            ]
    wanted = {
        (str(number), f"urn:d{at}"): rows
        for number in range(SUBSCRIPTIONS)
        for at, picture in enumerate(pictures)
        if (rows := expect(number, picture)) is not None
    }
    assert len(wanted) > SUBSCRIPTIONS
    assert len({picture.objects for picture in pictures}) > 10
    assert told == wanted
