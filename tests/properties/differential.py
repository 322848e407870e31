"""The product against its oracles on generated pairs, any number of them, replayable from a seed.

    python -m tests.properties.differential --pairs 20000 --seed 1 --jobs 2

Rounds are independent: round r of seed s is the same whatever ran before it, so a failure replays with ``--round r``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.properties.constructs import CONSTRUCTS, constructs_of, keys_of
from tests.properties.generate import Asked, Published, Round, make_round
from tests.properties.literals import KIND_OF, KINDS
from tests.properties.oracle import Expected, Oracle, Question
from tests.properties.oxigraph import Row
from tests.properties.product import Answer, Product, Timeline

PUBLICATIONS, SUBSCRIPTIONS = 24, 48
"""Of one round."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A pair on which the product and its oracle, or the oracles among themselves, differ."""

    seed: int
    round: int
    published: Published
    asked: Asked
    expected: Expected
    got: Answer
    valid: bool
    """Whether the subscription stood in the journal when the publication came."""


@dataclass
class Tally:
    """What has been compared; one row per construct and literal class: pairs that match, pairs that do not."""

    pairs: int = 0
    matched: int = 0
    uncounted: int = 0
    """Compared too, but without a key in common."""
    open: int = 0
    """Left open by the specification, so not compared."""
    outside: int = 0
    """Compared: the subscription came after the publication or had gone before it."""
    voices: dict[str, int] = field(default_factory=dict)
    constructs: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0] for name in CONSTRUCTS})
    asked: dict[str, list[int]] = field(default_factory=lambda: {kind: [0, 0] for kind in KINDS})
    published: dict[str, list[int]] = field(default_factory=lambda: {kind: [0, 0] for kind in KINDS})

    def add(self, other: Tally) -> None:
        for name in ("pairs", "matched", "uncounted", "open", "outside"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for voice, count in other.voices.items():
            self.voices[voice] = self.voices.get(voice, 0) + count
        for mine, theirs in zip(self._tables(), other._tables(), strict=True):
            for row, (yes, no) in theirs.items():
                mine[row][0] += yes
                mine[row][1] += no

    def _tables(self) -> tuple[dict[str, list[int]], ...]:
        return self.constructs, self.asked, self.published

    def gaps(self) -> list[str]:
        """Rows of the census that miss a side."""
        named = zip(("construct", "asked about", "published"), self._tables(), strict=True)
        return [
            f"{table} {row}: {'no match' if not yes else 'no failure'}"
            for table, rows in named
            for row, (yes, no) in rows.items()
            if not yes or not no
        ]

    def __str__(self) -> str:
        lines = [
            f"{self.pairs} pairs that share a key, {self.matched} match ({100 * self.matched / max(self.pairs, 1):.1f} %)",
            f"also compared: {self.uncounted} without a common key, {self.outside} outside the subscription's time; "
            f"{self.open} left open by the specification",
            "oracles: " + ", ".join(f"{voice} {count}" for voice, count in sorted(self.voices.items())),
        ]
        for title, rows in (("construct", self.constructs), ("literal class asked about", self.asked)):
            lines += [f"{title:<30} {'matching':>10} {'failing':>10}"]
            lines += [f"  {row:<28} {yes:>10} {no:>10}" for row, (yes, no) in rows.items()]
        lines += [f"{'literal class published':<30} {'matching':>10} {'failing':>10}"]
        lines += [f"  {row:<28} {yes:>10} {no:>10}" for row, (yes, no) in self.published.items()]
        return "\n".join(lines)


def run(
    seed: int, pairs: int, product: Product, first: int = 0, step: int = 1, watch: Callable[[Tally], None] | None = None
) -> tuple[Tally, list[Fault]]:
    """Rounds `first`, `first + step`, … until `pairs` pairs have counted or a round has failed."""
    tally, number = Tally(), first
    while tally.pairs < pairs:
        faults = run_round(make_round(seed, number, PUBLICATIONS, SUBSCRIPTIONS), seed, product, tally)
        if faults:
            return tally, faults
        number += step
        if watch:
            watch(tally)
    return tally, []


def run_round(made: Round, seed: int, product: Product, tally: Tally) -> list[Fault]:
    """Compares every pair of the round; adds to `tally`."""
    questions = [Question(asked) for asked in made.subscriptions]
    timeline = make_timeline(made, seed)
    answers = product.answers(made.publications, [question.text for question in questions], timeline)
    census = [_Census(question) for question in questions]
    faults: list[Fault] = []
    for i, published in enumerate(made.publications):
        oracle = Oracle(published)
        kinds = [KIND_OF[term] for term in oracle.terms if term in KIND_OF]
        for j, question in enumerate(questions):
            got, valid = answers.get((i, j), []), timeline.valid(i, j)
            if not valid:
                expected = Expected([], ("validity",))
                tally.outside += 1
            else:
                expected = oracle.expect(question)
                _count(tally, census[j], kinds, expected, bool(census[j].keys & oracle.terms))
            if expected.quarrel is not None or (expected.rows is not None and expected.rows != got):
                faults.append(Fault(seed, made.number, published, question.asked, expected, got, valid))
    return faults


class _Census:
    """The rows of the census table that one subscription belongs to."""

    def __init__(self, question: Question) -> None:
        self.constructs = sorted(constructs_of(question.asked.query))
        self.kinds = sorted({KIND_OF[term] for term in question.constants if term in KIND_OF})
        self.keys = keys_of(question.asked.query)


def _count(tally: Tally, census: _Census, kinds: list[str], expected: Expected, shares_key: bool) -> None:
    if expected.rows is None:
        tally.open += 1
        return
    if not shares_key:
        tally.uncounted += 1
        return
    side = 0 if expected.rows else 1
    tally.pairs += 1
    tally.matched += 1 - side
    voice = " and ".join(expected.voices)
    tally.voices[voice] = tally.voices.get(voice, 0) + 1
    for table, rows in ((tally.constructs, census.constructs), (tally.asked, census.kinds), (tally.published, set(kinds))):
        for row in rows:
            table[row][side] += 1


def make_timeline(made: Round, seed: int) -> Timeline:
    """Mostly all subscriptions first; in every fourth round mixed, some of them cancelled in between."""
    random = Random(f"{seed}/{made.number}/timeline")
    asked, published = len(made.subscriptions), len(made.publications)
    if made.number % 4:
        return Timeline(tuple(range(1, asked + 1)), (None,) * asked, tuple(range(asked + 1, asked + published + 1)))
    events = [("add", n) for n in range(asked)] + [("publish", n) for n in range(published)]
    random.shuffle(events)
    for subscription in random.sample(range(asked), asked // 4):
        after = events.index(("add", subscription)) + 1
        events.insert(random.randrange(after, len(events) + 1), ("remove", subscription))
    position = {event: number for number, event in enumerate(events, start=1)}
    return Timeline(
        tuple(position["add", n] for n in range(asked)),
        tuple(position.get(("remove", n)) for n in range(asked)),
        tuple(position["publish", n] for n in range(published)),
    )


def answer_alone(product: Product, published: Published, asked: Asked) -> Answer:
    """The product's answer to one pair."""
    return product.answers([published], [asked.text], Timeline((1,), (None,), (2,))).get((0, 0), [])


def differs(product: Product, published: Published, asked: Asked) -> tuple[Expected, Answer] | None:
    """The two answers where they differ for the pair alone."""
    expected = Oracle(published).expect(Question(asked))
    got = answer_alone(product, published, asked)
    if expected.quarrel is not None or (expected.rows is not None and expected.rows != got):
        return expected, got
    return None


def show_rows(rows: list[Row] | str | None) -> str:
    if rows is None or isinstance(rows, str):
        return str(rows)
    return "\n".join("    " + "  ".join(f"?{name}={term}" for name, term in row) for row in rows) or "    (no match)"
