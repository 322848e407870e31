"""What the scores say against the targets, and whether Lucene ran as fast as on the page that W comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.figures import Figure, Target, at_least
from benchmarks.peers.contest import Contest, Score
from benchmarks.peers.triplecast_door import SINGLY

TRIPLECAST, TRIPLECAST_BYTES = "Triplecast, ids in", "Triplecast, N-Triples bytes in"
TRIPLECAST_SINGLY = "Triplecast, N-Triples bytes in, one at a time"
ELASTICSEARCH = "Elasticsearch's percolator, JSON over HTTP"
OXIGRAPH = "pyoxigraph, an ASK a subscription"
MOKACCINO, MONITOR_BYTES = "mokaccino, JSON bytes in", "Lucene Monitor, text bytes in"
DOOR_MEMORY, DOOR_DURABLE = (
    "Triplecast, Engine in memory, Turtle bytes in",
    "Triplecast, durable Engine, Turtle bytes in",
)
CLIPS = "CLIPS, a rule a subscription"
COVERING, RAREST = "Lucene, covering query", "Lucene, rarest term and verify"
THREE = "Lucene, told that each has three tokens"
LUCENE = {
    "covering": COVERING,
    "three": THREE,
    "rarest": RAREST,
    "monitor": "Lucene Monitor, told how rare tokens are",
}
"""Way of `java/Peer.java` → name."""
_DOOR_MUSTS = {True: {100_000: 1.0, 1_000_000: 5.0}, False: {100_000: 2.0, 1_000_000: 15.0}}
"""Times of the others by subscriptions, for one by one (True) and in bulk."""
_TARGET = (1_000_000, 50_000.0, 50.0)
"""Subscriptions; publications/s; multiples of the fastest Lucene that takes subscriptions of any size."""
_PAGE = {100_000: 880.0, 1_000_000: 617.0}
"""Publications/s of the faster of covering query and rarest term, warm, on the page's machine."""
_PAGE_ASK = 53.7e-6
"""Seconds of one ASK there, by the same version of pyoxigraph: what the machines are compared by."""


def to_figures(contest: Contest) -> Iterator[Figure]:
    for score in contest.scores:
        yield _to_figure(score)
    lucene = [score for score in contest.scores if score.name in LUCENE.values()]
    general = [score for score in lucene if score.name != THREE]
    best = max(general, key=lambda score: score.rate, default=None)
    for ours in contest.scores:
        if ours.name in (TRIPLECAST, TRIPLECAST_BYTES) and best:
            yield _compare(ours, best, _multiple(ours))
            yield from (_compare(ours, score, None) for score in lucene if score.name == THREE)
    yield from _judge_lucene(contest.scores)


def to_door_figures(contest: Contest) -> Iterator[Figure]:
    """Each engine through its own front door, and ours in memory over the others."""
    yield from map(_to_figure, contest.scores)
    for ours in contest.scores:
        for other in contest.scores:
            if ours.name.startswith(DOOR_MEMORY) and other.name in (MOKACCINO, MONITOR_BYTES):
                bound = _DOOR_MUSTS[ours.name.endswith(SINGLY)].get(ours.subscriptions)
                yield _compare(ours, other, at_least(bound))


def _to_figure(score: Score) -> Figure:
    work = {
        "per core second": score.core_rate,
        "matches": score.matches,
        "publications a turn": float(score.publications),
        "index, bytes/subscription": score.index / score.asked,
        "resident, MB": score.resident / 1e6,
        "build, s": score.build,
    }
    name = score.name if score.asked == score.subscriptions else f"{score.name}: {score.asked:,} of them asked"
    rates = min(score.rates), max(score.rates)
    target = _target(score) if score.name == TRIPLECAST else None
    return Figure(name, "W", score.subscriptions, score.rate, "publications/s", *rates, work, target)


def _target(score: Score) -> Target | None:
    return at_least(_TARGET[1]) if score.subscriptions == _TARGET[0] else None


def _multiple(score: Score) -> Target | None:
    return at_least(_TARGET[2]) if score.subscriptions == _TARGET[0] and score.name == TRIPLECAST else None


def _compare(ours: Score, best: Score, target: Target | None) -> Figure:
    turns = [mine / theirs for mine, theirs in zip(ours.rates, best.rates, strict=True)]
    return Figure(
        f"{ours.name}, over {best.name}",
        "W",
        ours.subscriptions,
        ours.rate / best.rate,
        "times",
        min(turns),
        max(turns),
        {"in core time": ours.core_rate / best.core_rate},
        target,
    )


def _judge_lucene(scores: Sequence[Score]) -> Iterator[Figure]:
    """The faster of the page's two ways over the page's figure, scaled by what an ASK takes here and there."""
    ran = [score for score in scores if score.name in (COVERING, RAREST)]
    asked = next((score for score in scores if score.name == OXIGRAPH), None)
    if not ran or asked is None or asked.subscriptions not in _PAGE:
        return
    best = max(ran, key=lambda score: score.core_rate)
    seconds = 1 / (asked.core_rate * asked.subscriptions)
    expected = _PAGE[asked.subscriptions] * _PAGE_ASK / seconds
    work = {"the page": _PAGE[asked.subscriptions], "scaled to this machine": expected, "µs an ASK": seconds * 1e6}
    yield Figure(
        f"{best.name}, over the page's figure scaled to this machine, core time",
        "W",
        asked.subscriptions,
        best.core_rate / expected,
        "times",
        work=work,
        target=at_least(1.0),
    )
