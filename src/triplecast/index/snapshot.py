"""Snapshots: the segments and removals that publications are matched against, and the manifests that name them."""

from __future__ import annotations

import hashlib
import json
import zlib
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.crash_points import reach
from triplecast.errors import StorageFault
from triplecast.index.file import REBUILD, Sole, write_durably
from triplecast.index.members import Refused
from triplecast.index.registrations import Removals
from triplecast.index.segment import Segment
from triplecast.kernels.layout import I64, STRUCTURE_GROUPS, STRUCTURE_KEYS, STRUCTURE_PLAIN, U8
from triplecast.model.subscription import SubscriptionCounts


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index valid for publications up to the next registry change after position `covers`."""

    covers: int
    segments: tuple[Segment, ...]
    removals: Removals
    manifest: str = ""
    """The name of its manifest, by which workers open it from the same store."""

    def __len__(self) -> int:
        """Count the registrations live at position `covers` or later, invalid ones included."""
        return sum(len(segment) for segment in self.segments) - len(self.removals.registration)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Registrations, cancelled ones too, that this version cannot evaluate although the journal has them."""
        return tuple(refused for segment in self.segments for refused in segment.refused)


FORMAT = 1
"""Of manifests; segment files count their own (`index.file.FORMAT`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """The files and removals of a snapshot: `segments` are file names."""

    number: int
    covers: int
    segments: tuple[str, ...]
    removals: Removals
    needed_from: int = 0
    """The snapshot is valid after this position only: subscriptions cancelled up to it may have been merged away."""
    operators: Mapping[str, str] = field(default_factory=dict)
    """The signatures, by IRI, of the operators that its subscriptions could call when they were compiled."""

    @property
    def name(self) -> str:
        return f"manifest-{self.number:010}.json"


SEGMENTS_OPEN = 128
"""Segments that stay mapped though no snapshot holds them, so that each job of a worker finds them."""
_OPENED: OrderedDict[tuple[Path, int, int, int, int], Segment] = OrderedDict()
_OPENING = Lock()


def open_segment(path: Path) -> Segment:
    """Open a segment, once per process while its file is unchanged."""
    try:
        state = path.stat()
    except OSError as error:
        raise StorageFault(path.name, f"cannot be read: {error.strerror}", REBUILD) from error
    key = (path, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    with _OPENING:
        segment = _OPENED.pop(key, None)
    if segment is None:
        segment = Segment.open(path)
    with _OPENING:
        _OPENED[key] = segment
        if len(_OPENED) > SEGMENTS_OPEN:
            _OPENED.popitem(last=False)
    return segment


def release_segments(folder: Path) -> None:
    """Let the segments of `folder` be unmapped once nobody holds them."""
    with _OPENING:
        for key in [key for key in _OPENED if key[0].parent == folder]:
            del _OPENED[key]


def read_manifest(folder: Path, name: str) -> Manifest:
    """Read a manifest. Raises `StorageFault` for a damaged one and for another format."""
    content = read_checked(folder / name)
    return Manifest(
        content["number"],
        content["covers"],
        tuple(content["segments"]),
        read_removals(content["removals"]),
        content["needed_from"],
        content["operators"],
    )


def read_checked(path: Path) -> dict[str, Any]:
    """Read what `write_checked` wrote. Raises `StorageFault` for a damaged file and for another format."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StorageFault(path.name, f"cannot be read: {error}", REBUILD) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise StorageFault(path.name, f"format {found}, this version reads {FORMAT}", REBUILD)
    mark = content.pop("checksum", None)
    if mark != _checksum(json.dumps(content, sort_keys=True)):
        raise StorageFault(path.name, "its checksum is wrong", REBUILD)
    return content


def write_checked(path: Path, content: dict[str, Any], sole: Sole = nullcontext) -> None:
    """Replace a file of JSON in one step. Raises `StorageFault`."""
    write_durably(path, seal_checked(content), sole)


def seal_checked(content: dict[str, Any]) -> bytes:
    """What a file of JSON holds that `read_checked` reads."""
    body = json.dumps(content | {"format": FORMAT}, sort_keys=True)
    return f'{body[:-1]}, "checksum": "{_checksum(body)}"}}'.encode()


def write_manifest(folder: Path, manifest: Manifest, sole: Sole = nullcontext) -> None:
    content: dict[str, Any] = {
        "number": manifest.number,
        "covers": manifest.covers,
        "segments": list(manifest.segments),
        "removals": write_removals(manifest.removals),
        "needed_from": manifest.needed_from,
        "operators": dict(manifest.operators),
    }
    reach("index.manifest-temporary")
    write_checked(folder / manifest.name, content, sole)
    reach("index.manifest-replaced")


def write_removals(removals: Removals) -> list[str]:
    return [write_numbers(numbers) for numbers in removals]


def read_removals(written: Sequence[str]) -> Removals:
    return Removals(*map(read_numbers, written))


def write_numbers(numbers: I64) -> str:
    """Compress ascending numbers as differences: 100,000 take 3 ms."""
    return b64encode(zlib.compress(np.diff(numbers, prepend=0).astype("<i8").tobytes(), 1)).decode()


def read_numbers(written: str) -> I64:
    return np.cumsum(np.frombuffer(zlib.decompress(b64decode(written)), "<i8"), dtype=np.int64)


def _checksum(body: str) -> str:
    return hashlib.blake2b(body.encode(), digest_size=16).hexdigest()


NARROW, PREDICATE, BROAD = 0, 1, 2
"""`compile.plan.Cost` as numbers."""


class _Kinds(NamedTuple):
    """The valid live subscriptions of one segment."""

    registration: I64
    cost: U8
    combined: NDArray[np.bool_]
    evaluated: NDArray[np.bool_]
    refused: int
    """Invalid live subscriptions, which are never evaluated."""


def take_census(snapshot: Snapshot) -> SubscriptionCounts:
    """Count the subscriptions that are live at the last position that the snapshot covers."""
    narrow = predicate = broad = combined = evaluated = refused = 0
    for kinds in _kinds_by_segment(snapshot):
        costs = np.bincount(kinds.cost, minlength=3).tolist()
        narrow, predicate, broad = narrow + costs[NARROW], predicate + costs[PREDICATE], broad + costs[BROAD]
        combined += int(kinds.combined.sum())
        evaluated += int(kinds.evaluated.sum())
        refused += kinds.refused
    joined = narrow + predicate + broad - combined - evaluated
    return SubscriptionCounts(narrow, predicate, broad, joined, combined, evaluated, refused)


def broad_registrations(snapshot: Snapshot) -> list[int]:
    """The live subscriptions that are candidates of every publication, ascending."""
    return sorted(
        id for kinds in _kinds_by_segment(snapshot) for id in kinds.registration[kinds.cost == BROAD].tolist()
    )


def _kinds_by_segment(snapshot: Snapshot) -> Iterator[_Kinds]:
    for segment in snapshot.segments:
        firsts = segment.firsts
        registration = segment.tables.registrations[firsts]
        live = ~np.isin(registration, snapshot.removals.registration)
        refused = np.isin(registration, np.array([each.registration for each in segment.refused], np.int64))
        valid = live & ~refused
        answer = segment.tables.index.answer_of[firsts][valid]
        combines = np.array([role is not None for role in (*segment.tables.roles, None)], bool)
        costs = _costs(segment, firsts)[valid]
        yield _Kinds(registration[valid], costs, combines[answer], answer < 0, int((live & refused).sum()))


def _costs(segment: Segment, firsts: NDArray[np.integer]) -> U8:
    """The cost of each subscription: that of its broadest conjunction, each as narrow as its narrowest key."""
    index = segment.tables.index
    structures = index.structures
    if not len(firsts) or len(structures) == 1:
        return np.zeros(len(firsts), np.uint8)
    constant = index.key_terms >= 0
    of_key = np.where(constant[:, 0] | constant[:, 2], NARROW, np.where(constant[:, 1], PREDICATE, BROAD))
    of_structure = np.minimum.reduceat(of_key[index.structure_keys], structures[:-1, STRUCTURE_KEYS]).astype(np.uint8)
    cost = np.zeros(segment.members, np.uint8)
    filed = (
        (index.plain, structures[:, STRUCTURE_PLAIN]),
        (index.entries, index.groups[structures[:, STRUCTURE_GROUPS], 1]),
    )
    for members, offsets in filed:
        costs = np.repeat(of_structure, np.diff(offsets))
        costly = costs > NARROW
        np.maximum.at(cost, members[costly], costs[costly])
    return np.maximum.reduceat(cost, firsts)
