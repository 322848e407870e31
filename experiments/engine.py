"""The engine as one more line of a figure: the same subscriptions and publications, in the same run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.figures import ENGINE, ENGINE_BATCH, Line, Point
from experiments.measuring import time_each
from experiments.metered import count_work
from triplecast.index import Segment, Snapshot
from triplecast.index.merge import merge_segments
from triplecast.index.removals import NO_REMOVALS
from triplecast.index.segment import build_segments
from triplecast.match import Matcher
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies

Rows = tuple[tuple[tuple[str, str], ...], ...]
"""A match's bindings: sorted rows of (variable, N-Triples term), sorted by name."""

METERED = 5
"""Publications whose work is counted: the uncompiled kernels are slow, and counts vary little."""
_BATCH = 100
_ACCEPTED = "2026-11-21T08:00:00.000000Z"


class Engine:
    """An index over some subscriptions, in memory, and a matcher of its own, which `close` ends. For one thread."""

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

    def close(self) -> None:
        self._matcher.close()

    def take(self, contents: Sequence[bytes]) -> list[Publication]:
        """Publications, accepted after all subscriptions, of canonical N-Triples: sorted unique lines."""
        return [
            Publication(self.size + n, f"urn:experiment:{n}", 1, _ACCEPTED, lines)
            for n, lines in enumerate(contents, 1)
        ]

    def match(self, publications: Sequence[Publication]) -> list[dict[int, Rows]]:
        """By publication: number of the subscription (from 0) → bindings. Raises ValueError for an undecided pair."""
        matched = self._matcher.match(self.snapshot, publications, self._taxonomies)
        for pair in matched.undecided:
            raise ValueError(f"the engine left a pair undecided: {pair}")
        found: list[dict[int, Rows]] = [{} for _ in publications]
        for row in range(len(matched)):
            solutions = json.loads(matched.bindings_of(row))
            found[matched.publication[row]][int(matched.registration[row]) - 1] = tuple(
                sorted(tuple(sorted(solution.items())) for solution in solutions)
            )
        return found

    def points(self, contents: Sequence[bytes], x: float) -> tuple[Point, Point]:
        """Of `ENGINE` and of `ENGINE_BATCH`: N-Triples bytes in, matches with their bindings as JSON out.

        For batches the publications are given several times over, so that a batch is one worth the name.
        """
        publications = self.take(contents)
        work = count_work(self.snapshot.segments, publications[:METERED])

        def match(batch: Sequence[Publication]) -> None:
            self._matcher.match(self.snapshot, batch, self._taxonomies)

        alone = time_each(match, [[publication] for publication in publications], x)
        batch = publications * (_BATCH // len(publications) + 1)
        together = time_each(match, [batch] * 3, x)
        low, high = (None if end is None else end / len(batch) for end in (together.low, together.high))
        return replace(alone, work=work), Point(x, together.value / len(batch), low, high, work)

    def file_size(self) -> int:
        """Bytes of the index as files: all that a matcher needs of the subscriptions."""
        with tempfile.TemporaryDirectory(prefix="triplecast-experiment-") as folder:
            for number, segment in enumerate(self.snapshot.segments):
                segment.write(Path(folder) / str(number))
            return sum(path.stat().st_size for path in Path(folder).iterdir())


def _merge_alike(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """One segment of each reading."""
    by_reading: dict[object, list[Segment]] = {}
    for segment in segments:
        by_reading.setdefault(segment.reading, []).append(segment)
    return tuple(alike[0] if len(alike) == 1 else merge_segments(alike, set()) for alike in by_reading.values())


def engine_lines(points: Sequence[tuple[Point, Point]]) -> tuple[Line, Line]:
    return Line(ENGINE, tuple(alone for alone, _ in points)), Line(ENGINE_BATCH, tuple(batch for _, batch in points))
