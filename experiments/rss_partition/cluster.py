"""A cluster as the text has it: one server with the index stage, and back-end nodes with what is behind its entries.

The server answers what is an entry by itself, roots and what is not merged; a back-end node answers its part of the
others, of the publications that an entry leads there. A node's seconds are those of a publication that it is asked
about and of each step, as measured here; the network costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triplecast.index import Segment
from triplecast.index.merge import merge_segments
from triplecast.kernels.layout import F64, I32, I64
from triplecast.match.segment import Scratch, encode_batch, match_runs, publications_of
from triplecast.match.views import scan_views
from triplecast.model.publication import Publication
from triplecast.partition.items import Assignment, FiledItems
from triplecast.partition.routing import Router, Routing

ROUNDS = 5


class Stage(NamedTuple):
    """An assignment, of a segment whose subscriptions are one item each."""

    segment: Segment
    filed: FiledItems
    assigned: Assignment
    router: Router

    @property
    def entry_of(self) -> I32:
        """[members] the entry of each."""
        assert self.assigned.entry is not None
        by_subscription = np.empty(self.filed.subscriptions, np.int32)
        by_subscription[self.filed.items.subscription] = self.assigned.entry
        found: I32 = by_subscription[self.filed.of_member]
        return found

    @property
    def behind(self) -> I32:
        """The members of entries that several have: but the root itself, those that the server does not answer."""
        entry = self.entry_of
        return np.flatnonzero(np.bincount(entry)[entry] > 1).astype(np.int32)


class Coefficients(NamedTuple):
    publication: float
    """Seconds of each publication that a segment is asked about,"""
    step: float
    """and of each structure touched, joined, and pair found."""


class Work(NamedTuple):
    steps: F64
    """[publications]"""
    seconds: float
    """Core time of all."""


def steps_of(segment: Segment, publications: Sequence[Publication]) -> F64:
    """[publications] of each."""
    scratch = Scratch(segment)
    (read,) = encode_batch([segment], scan_views(publications))
    steps = np.zeros(len(publications))
    for number in range(len(publications)):
        first, last = read.encoded.view_offsets[number : number + 2].tolist()
        alone = read.encoded._replace(
            view_offsets=np.array([first, last]),
            view_terms=read.encoded.view_terms[number : number + 1],
            view_mode=read.encoded.view_mode[number : number + 1],
        )
        found = match_runs(segment, alone, scratch)
        steps[number] = found.counts[1] + found.counts[2] + len(found.subscription)
    return steps


def work_of(segment: Segment, publications: Sequence[Publication]) -> Work:
    """The seconds are the least of some rounds."""
    views, scratch = scan_views(publications), Scratch(segment)
    fastest = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        (read,) = encode_batch([segment], views)
        match_runs(segment, read.encoded, scratch)
        fastest = min(fastest, time.process_time() - began)
    return Work(steps_of(segment, publications), fastest)


def calibrate(works: Sequence[Work]) -> Coefficients:
    """By least squares over segments that were asked about the same publications."""
    count = len(works[0].steps)
    rows = np.array([[count, work.steps.sum()] for work in works])
    found, *_ = np.linalg.lstsq(rows, np.array([work.seconds for work in works]), rcond=None)
    publication, step = np.maximum(found, 1e-9).tolist()
    return Coefficients(publication, step)


def keep_members(segment: Segment, kept: I32) -> Segment | None:
    """The same of some members alone."""
    registrations = segment.tables.registrations[:]
    others = np.delete(registrations, kept)
    return merge_segments([segment], others) if len(kept) else None


def entries_found(stage: Stage, publications: Sequence[Publication]) -> tuple[I32, I32]:
    """Pairs of publications and the entries that they have."""
    assert stage.router.indexed is not None
    return Routing().find(stage.router.indexed.segment, publications)


def visits(stage: Stage, publications: Sequence[Publication]) -> I64:
    return Routing().route([stage.router], publications)


class Load(NamedTuple):
    """What the busiest node of a cluster has to do for some publications."""

    steps: float
    seconds: float


def load_of(stage: Stage, kept: I32, nodes: int, publications: Sequence[Publication], cost: Coefficients) -> Load:
    """Of the server and so many back-end nodes, whose shards the stage leads to. `kept`: the members that the server
    answers."""
    assert stage.router.indexed is not None
    server = float(steps_of(stage.router.indexed.segment, publications).sum())
    loads = [(server, len(publications))]
    led = visits(stage, publications)
    of_member = stage.assigned.shard[stage.filed.of_member]
    for node in range(nodes):
        part = keep_members(stage.segment, np.setdiff1d(np.flatnonzero(of_member == node), kept).astype(np.int32))
        if part is not None:
            asked = (led >> node & 1).astype(np.bool_)
            loads.append((float(steps_of(part, publications)[asked].sum()), int(asked.sum())))
    seconds = [count * cost.publication + steps * cost.step for steps, count in loads]
    return Load(max(steps for steps, _ in loads), max(seconds))


def match_members(segment: Segment, publications: Sequence[Publication]) -> tuple[I32, I32]:
    """Pairs of publications and members."""
    views, scratch = scan_views(publications), Scratch(segment)
    (read,) = encode_batch([segment], views)
    matched = match_runs(segment, read.encoded, scratch)
    return publications_of(views, matched), matched.subscription
