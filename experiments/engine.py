"""The engine as one more line of a figure: the same subscriptions and publications, in the same run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from benchmarks.steps import match_ids
from experiments.figures import ENGINE, ENGINE_BATCH, Line, Point
from experiments.measuring import Run
from experiments.metered import count_work
from triplecast.index import Segment, Snapshot
from triplecast.index.merge import merge_segments
from triplecast.index.registrations import NO_REMOVALS
from triplecast.index.segment import build_segments
from triplecast.match import Matcher
from triplecast.match.entailed import ClosureCache
from triplecast.match.segment import Scratch, encode_batch
from triplecast.match.views import scan_views
from triplecast.model.match import MatchedBatch
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.taxonomy import NO_TAXONOMIES, NO_TAXONOMY, Taxonomies

Rows = tuple[tuple[tuple[str, str], ...], ...]
"""A match's bindings: sorted rows of (variable, N-Triples term), sorted by name."""

METERED = 5
"""Publications, the first, whose work is counted: the uncompiled kernels are slow."""
BATCH = 100
"""Publications of a batch, all different."""
_ACCEPTED = "2026-11-21T08:00:00.000000Z"


class Engine:
    """An index over some subscriptions, in memory, and a matcher of its own, which `close` or ``with`` ends. For one
    thread."""

    def __init__(
        self,
        subscriptions: Sequence[Subscription],
        taxonomies: Taxonomies = NO_TAXONOMIES,
        before: Engine | None = None,
    ) -> None:
        """`before`: an index over the first subscriptions, `subscriptions` being those that come after them; nothing of
        it is compiled again. Raises ValueError where one is refused: an experiment's are all within the language."""
        held = before.size if before else 0
        registrations = [Registration(RegistrationId(held + n), asked) for n, asked in enumerate(subscriptions, 1)]
        segments = [*(before.snapshot.segments if before else ()), *build_segments(registrations)]
        for segment in segments:
            for refused in segment.refused:
                raise ValueError(f"the engine refuses subscription {refused.registration}: {refused.reason}")
        self.size: int = held + len(subscriptions)
        self.snapshot: Snapshot = Snapshot(self.size, _merge_alike(segments), NO_REMOVALS)
        self._taxonomies = taxonomies
        self._matcher = Matcher()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._matcher.close()

    def take(self, contents: Sequence[bytes]) -> list[Publication]:
        """Publications, accepted after all subscriptions, of canonical N-Triples: sorted unique lines."""
        return [
            Publication(Position(self.size + n), f"urn:experiment:{n}", 1, _ACCEPTED, lines)
            for n, lines in enumerate(contents, 1)
        ]

    def match(self, publications: Sequence[Publication]) -> list[dict[int, Rows]]:
        """By publication: number of the subscription (from 0) → bindings. Raises ValueError for an undecided pair."""
        found: list[dict[int, Rows]] = [{} for _ in publications]
        for first, matched in self._match_decided(publications):
            for row in range(len(matched)):
                solutions = json.loads(matched.bindings_of(row))
                found[first + matched.publication[row]][int(matched.registration[row]) - 1] = tuple(
                    sorted(tuple(sorted(solution.items())) for solution in solutions)
                )
        return found

    def match_numbers(self, publications: Sequence[Publication]) -> list[list[int]]:
        """By publication: the numbers of the subscriptions that match, from 0, ascending. Raises as `match`."""
        found: list[list[int]] = []
        for _, matched in self._match_decided(publications):
            ends = np.searchsorted(matched.publication, range(matched.stats.publications + 1))
            found += (sorted((matched.registration[start:end] - 1).tolist()) for start, end in pairwise(ends))
        return found

    def _match_decided(self, publications: Sequence[Publication]) -> Iterator[tuple[int, MatchedBatch]]:
        """Pieces, each with the number of its first publication."""
        first = 0
        for of, matched in self._matcher.match_pieces(self.snapshot, publications, self._taxonomies):
            for pair in matched.undecided:
                raise ValueError(f"the engine left a pair undecided: {pair}")
            yield first, matched
            first += len(of)

    def alone(self, contents: Sequence[bytes]) -> Run[list[Publication]]:
        """Of `ENGINE`: N-Triples bytes of one publication a call in, matches with their bindings as JSON out."""
        return Run(self._match, [[publication] for publication in self.take(contents)])

    def batch(self, contents: Sequence[bytes]) -> Run[list[Publication]]:
        """Of `ENGINE_BATCH`: the same of all in one call; they are to be different."""
        return Run(self._match, [self.take(contents)], per=len(contents))

    def numbers_alone(self, contents: Sequence[bytes]) -> Run[list[Publication]]:
        """As `alone`, but no bindings are made: the numbers of those that match are all that is found."""
        return Run(self._find_numbers(), [[publication] for publication in self.take(contents)])

    def numbers(self, contents: Sequence[bytes]) -> Run[list[Publication]]:
        """As `batch`, but without bindings."""
        return Run(self._find_numbers(), [self.take(contents)], per=len(contents))

    def count_work(self, contents: Sequence[bytes], points: Mapping[str, Point]) -> dict[str, Point]:
        """The engine's points with the work of the first `METERED` of these publications."""
        counted = [count_work(self.snapshot.segments, [each]) for each in self.take(contents[:METERED])]
        work = {
            kind: sum(each.get(kind, 0.0) for each in counted) / len(counted)
            for kind in sorted({kind for each in counted for kind in each})
        }
        steps = tuple(sum(each.values()) for each in counted)
        return {
            name: replace(point, work=work, steps_each=steps) if name in (ENGINE, ENGINE_BATCH) else point
            for name, point in points.items()
        }

    def _find_numbers(self) -> Callable[[Sequence[Publication]], None]:
        scratches = [Scratch(segment) for segment in self.snapshot.segments]

        def match(publications: Sequence[Publication]) -> None:
            plain = scan_views(publications)
            entailed = ClosureCache().entail(self.snapshot.segments, NO_TAXONOMY, plain)
            encoded = encode_batch(self.snapshot.segments, plain, entailed)
            for read, scratch in zip(encoded, scratches, strict=True):
                match_ids(read.segment, read.views, read.encoded, scratch)

        return match

    def _match(self, publications: Sequence[Publication]) -> None:
        for _ in self._matcher.match_pieces(self.snapshot, publications, self._taxonomies):
            pass

    def file_size(self) -> int:
        """Bytes of the index as files: all that a matcher needs of the subscriptions."""
        with tempfile.TemporaryDirectory(prefix="triplecast-experiment-") as folder:
            for number, segment in enumerate(self.snapshot.segments):
                segment.write(Path(folder) / str(number))
            return sum(path.stat().st_size for path in Path(folder).iterdir())


def _merge_alike(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """One segment of each mode."""
    by_mode: dict[object, list[Segment]] = {}
    for segment in segments:
        by_mode.setdefault(segment.mode, []).append(segment)
    return tuple(alike[0] if len(alike) == 1 else merge_segments(alike) for alike in by_mode.values())


def engine_lines(alone: Sequence[Point], batches: Sequence[Point]) -> tuple[Line, ...]:
    """That of batches only where there are some."""
    lines = (Line(ENGINE, tuple(alone)), Line(ENGINE_BATCH, tuple(batches)))
    return lines if batches else lines[:1]
