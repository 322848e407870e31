"""Families of subscriptions: drawn from few predicates and values, so that many contain another."""

from __future__ import annotations

import random
from collections.abc import Sequence

from triplecast.index import Segment, build_segments
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

PREFIX = "PREFIX e: <http://e/> PREFIX ft: <urn:triplecast:ft:> "


def random_query(rng: random.Random) -> str:
    """One star or path of up to four patterns, with a comparison or a word now and then."""
    variables = ["?a", "?b", "?c"]
    patterns, compared = [], []
    for _ in range(rng.randint(1, 4)):
        subject = rng.choice([*variables[:2], "?a", "e:s1", "e:s2"])
        predicate = rng.choice(["e:p", "e:q", "e:r", "?d"] if rng.random() < 0.9 else ["?a"])
        kind = rng.random()
        if kind < 0.3:
            end = rng.choice(["e:o1", "e:o2", "e:s1", '"red blue"', "3"])
        elif kind < 0.6:
            end = rng.choice(variables)
        else:
            end = f"?v{len(compared)}"
            condition = f"?v{len(compared)} {rng.choice(['<', '<=', '>', '>=', '=', '!='])} {rng.randint(1, 5)}"
            if rng.random() < 0.2:
                condition += f" || ?v{len(compared)} > {rng.randint(1, 9)}"
            compared.append(
                f"FILTER ft:contains(?v{len(compared)}, '\"red\"')" if rng.random() < 0.15 else f"FILTER ({condition})"
            )
        patterns.append(f"{subject} {predicate} {end}")
    return f"{PREFIX}SELECT * {{ {' . '.join(patterns)} {' '.join(compared)} }}"


def registrations(texts: Sequence[str]) -> list[Registration]:
    return [
        Registration(RegistrationId(number), Subscription(f"s{number}", text)) for number, text in enumerate(texts, 1)
    ]


def random_segment(rng: random.Random, size: int) -> Segment:
    (segment,) = build_segments(registrations([random_query(rng) for _ in range(size)]))
    return segment


def random_publication(rng: random.Random, position: int) -> Publication:
    lines = set()
    for _ in range(rng.randint(1, 12)):
        end = rng.choice(
            ["<http://e/o1>", "<http://e/o2>", "<http://e/s1>", '"red blue"', "3", "1", "5", "<http://e/p>"]
        )
        if end.isdigit():
            end = f'"{end}"^^<http://www.w3.org/2001/XMLSchema#integer>'
        subject, predicate = rng.choice(["s1", "s2", "s3", "o1"]), rng.choice(["p", "q", "r"])
        lines.add(f"<http://e/{subject}> <http://e/{predicate}> {end} .\n".encode())
    return Publication(position, f"http://e/g{position}", 1, "2026-11-24T08:00:00Z", b"".join(sorted(lines)), False)
