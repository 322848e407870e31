"""Lines of JSON, made of shared pieces, say what each notification alone would say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from outbox_samples import named

from triplecast.model.match import CHANGES, changed_bindings
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.printable import printable
from triplecast.model.subscription import NamedRegistrations, Registration, RegistrationId, Subscription
from triplecast.outbox import Definitions, Notification, Outbox, OutboxBatch, PublicationName, json_lines, reader

QUERIES = (
    "SELECT ?s ?é WHERE { ?s <urn:p> ?é }",
    "SELECT ?é ?s WHERE { ?s <urn:p> ?é }",
    "SELECT ?s WHERE { ?s <urn:p> 7 }",
    "ASK { ?s <urn:p> 7 }",
    "CONSTRUCT { ?s <urn:q> _:b } WHERE { ?s <urn:p> ?é }",
    "SELECT ?s WHERE { ?s <urn:p> ?o FILTER(<urn:unknown>(?o)) }",
)
"""The last is refused where nobody has declared the operator."""
TEXTS = ("rail", 'a "quoted" name', "\u202ehidden\x9b\n\t", "naïve 語 \U0001f600", "back\\slash\x7f", "")
SOLUTIONS = (
    "[]",
    "[{}]",
    '[{"s":"<urn:a>"}]',
    '[{"s":"<urn:a>","é":"\\"1\\"^^<http://www.w3.org/2001/XMLSchema#integer>"},{"s":"_:b0"}]',
    '[{"é":"\\"\\u202e語\\"@de","s":"<urn:b>"}]',
)
WIDE = 1 << 33


def registration(id: int) -> Registration:
    name, owner = TEXTS[id % 6] + str(id), (None, *TEXTS)[id % 7]
    return Registration(RegistrationId(id), Subscription(name, QUERIES[id % len(QUERIES)], owner=owner))


def registrations(ids: Sequence[int]) -> list[Registration]:
    return [registration(id) for id in ids]


def names(ids: Sequence[int]) -> list[NamedRegistrations]:
    return named(registrations(ids))


def some(ids: Sequence[int]) -> list[Registration]:
    """A journal that lacks some."""
    return [registration(id) for id in ids if id % 5]


def line(each: Notification) -> str:
    row = {
        "sequence": each.sequence,
        "cursor": str(each.cursor),
        "id": each.id,
        "change": each.change,
        "publication": each.publication,
        "version": each.version,
        "position": each.position,
        "registration": each.registration,
        "subscription": each.subscription,
        "owner": each.owner,
        "accepted_at": each.accepted_at,
        **each.recorded.row(),
    }
    return printable(json.dumps(row, ensure_ascii=False, separators=(",", ":"))) + "\n"


def drawn(random: Random, first: int, last: int) -> OutboxBatch:
    kinds = random.choice((1, 2, len(CHANGES)))
    base = random.choice((0, 0, WIDE))
    positions = sorted(random.sample(range(first, last + 1), random.randrange(1, 6)))
    names = tuple(
        PublicationName(each, f"urn:g/{random.choice(TEXTS)}", each, f"2026-11-{each:02}T08:00:00.000000Z")
        for each in positions
    )
    pairs = sorted({(random.choice(positions), base + random.randrange(1, 60)) for _ in range(random.randrange(1, 40))})
    texts = [random.choice(SOLUTIONS).encode() for _ in range(random.randrange(1, 9))]
    both = [changed_bindings(*random.choices(texts, k=2)) for _ in range(random.randrange(1, 4))]
    changes = [random.choice((0, 0, *range(kinds))) for _ in pairs]
    sheets = [
        len(texts) + random.randrange(len(both)) if CHANGES[change].word == "changed" else random.randrange(len(texts))
        for change in changes
    ]
    texts += both
    return OutboxBatch(
        names,
        np.array([position for position, _ in pairs], np.int64),
        np.array([id for _, id in pairs], np.int64),
        np.array(changes, np.uint8),
        np.array(sheets, np.int32),
        np.cumsum([0, *map(len, texts)], dtype=np.int64),
        np.frombuffer(b"".join(texts), np.uint8),
    )


@pytest.mark.parametrize("number", range(30))
def test_lines_are_those_of_each_notification_alone(
    number: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn chunks, pages, sizes of pieces and caches, places and filters."""
    random = Random(seed + number)
    monkeypatch.setattr(reader, "_PAGE_CHUNKS", random.randrange(1, 6))
    monkeypatch.setattr(json_lines, "_AT_ONCE", random.choice((1, 3, 1000)))
    monkeypatch.setattr(json_lines, "_BYTES_AT_ONCE", random.choice((1, 100, 4 << 20)))
    monkeypatch.setattr(json_lines, "_KEPT", random.choice((1, 20, 1000)))
    monkeypatch.setattr(json_lines, "_SHORT", random.choice((10, 1000)))
    definitions = random.choice((None, Definitions(registrations, NO_OPERATORS), Definitions(some, NO_OPERATORS)))
    with Outbox.open(tmp_path) as outbox:
        for first in range(1, 30, 7):
            outbox.commit(drawn(random, first, first + 6), first + 6, names)
        if random.random() < 0.3:
            outbox.prune(random.randrange(1, 20))
        since = random.choice((0, random.randrange(40)))
        name, owner = random.choice(((None, None), (None, None), (TEXTS[1] + "7", None), (None, "rail")))
        alone = list(outbox.notifications(since, None, name, owner, definitions))
        parts = list(outbox.json_lines(since, name, owner, definitions))
        assert "".join(text for _, text in parts) == "".join(map(line, alone))
        assert all(text.endswith("\n") for _, text in parts)
        ends = np.cumsum([text.count("\n") for _, text in parts], dtype=np.int64).tolist()
        assert [cursor for cursor, _ in parts] == [alone[end - 1].cursor for end in ends]
