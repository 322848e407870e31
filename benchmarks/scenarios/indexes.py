"""Workloads as the product takes them: registrations, publications, an index over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.steps import encode
from benchmarks.workloads import WORKLOADS, Workload
from triplecast.index import Segment, build_segment
from triplecast.kernels.layout import Encoded
from triplecast.kernels.views import Views
from triplecast.match.segment import Scratch
from triplecast.match.views import scan_views
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

BATCH = 500
"""Publications matched in one call."""


@dataclass(frozen=True, slots=True)
class Indexed:
    workload: Workload
    publications: Sequence[Publication]
    segment: Segment
    scratch: Scratch


def index_workload(name: str, subscriptions: int, publications: int) -> Indexed:
    workload = WORKLOADS[name](subscriptions, publications)
    segment = build_segment(to_registrations(workload.subscriptions))
    if segment.refused:
        raise ValueError(f"workload {name}: {len(segment.refused)} subscriptions refused: {segment.refused[0].reason}")
    return Indexed(workload, to_publications(workload), segment, Scratch(segment))


def to_registrations(texts: Sequence[str]) -> list[Registration]:
    return [
        Registration(RegistrationId(number), Subscription(f"s{number}", text)) for number, text in enumerate(texts, 1)
    ]


def to_publications(workload: Workload) -> list[Publication]:
    """Accepted after all subscriptions."""
    first = len(workload.subscriptions) + 1
    return [
        Publication(Position(first + number), f"urn:bench:{number}", 1, "2026-11-21T08:00:00.000000Z", lines)
        for number, lines in enumerate(workload.publications)
    ]


def in_batches(publications: Sequence[Publication]) -> Iterator[Sequence[Publication]]:
    for start in range(0, len(publications), BATCH):
        yield publications[start : start + BATCH]


def encode_all(indexed: Indexed) -> list[tuple[Views, Encoded]]:
    return [
        (views, encode(indexed.segment, views))
        for views in (scan_views(batch) for batch in in_batches(indexed.publications))
    ]
