"""The product against its oracles on the pairs of one generated round: who differs, and what has been compared.

Rounds are independent: round r of seed s is the same whatever ran before it, so a failure replays from (s, r).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.properties.constructs import CONSTRUCTS, decided_among, keys_of
from tests.properties.generate import Asked, Published, Round
from tests.properties.literals import KINDS, kind_of
from tests.properties.oracle import Expected, Oracle, Question
from tests.properties.oxigraph import Row
from tests.properties.product import UNDECIDED, Answer, Product, Timeline

PUBLICATIONS, SUBSCRIPTIONS = 14, 24
"""Of one round."""
BEYOND = ("more than 10,000 solutions of its patterns, or 200,000 join steps", "budget: more than 500000 steps")
"""What the product says of a pair beyond the bounds that `docs/matching.md` states."""
SELDOM = 1_000
"""At most one pair in so many may be beyond them."""


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
    undecided: int = 0
    """Left undecided by the product; a difference unless the specification leaves the pair open."""
    beyond: int = 0
    """Of those, beyond the stated bounds (`BEYOND`): not compared."""
    outside: int = 0
    """Compared: the subscription came after the publication or had gone before it."""
    voices: dict[str, int] = field(default_factory=dict)
    constructs: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0] for name in CONSTRUCTS})
    asked: dict[str, list[int]] = field(default_factory=lambda: {kind: [0, 0] for kind in KINDS})
    published: dict[str, list[int]] = field(default_factory=lambda: {kind: [0, 0] for kind in KINDS})

    def add(self, other: Tally) -> None:
        for name in ("pairs", "matched", "uncounted", "open", "undecided", "beyond", "outside"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for voice, count in other.voices.items():
            self.voices[voice] = self.voices.get(voice, 0) + count
        for mine, theirs in zip(self._tables(), other._tables(), strict=True):
            for row, (yes, no) in theirs.items():
                sides = mine.setdefault(row, [0, 0])
                sides[0] += yes
                sides[1] += no

    def _tables(self) -> tuple[dict[str, list[int]], ...]:
        return self.constructs, self.asked, self.published

    def gaps(self) -> list[str]:
        """Rows of the census that miss a side, and too many pairs that are beyond the bounds."""
        named = zip(("construct", "asked about", "published"), self._tables(), strict=True)
        often = [f"{self.beyond} pairs beyond the bounds"] if self.beyond * SELDOM > self.pairs else []
        return often + [
            f"{table} {row}: {'no match' if not yes else 'no failure'}"
            for table, rows in named
            for row, (yes, no) in rows.items()
            if not yes or not no
        ]

    def __str__(self) -> str:
        lines = [
            f"{self.pairs} pairs share a key, {self.matched} match ({100 * self.matched / max(self.pairs, 1):.1f} %)",
            f"also compared: {self.uncounted} without a common key, {self.outside} outside the subscription's time; "
            f"{self.open} left open by the specification, {self.undecided} undecided ({self.beyond} beyond the bounds)",
            "oracles: " + ", ".join(f"{voice} {count}" for voice, count in sorted(self.voices.items())),
        ]
        for title, rows in (("construct", self.constructs), ("literal class asked about", self.asked)):
            lines += [f"{title:<30} {'matching':>10} {'failing':>10}"]
            lines += [f"  {row:<28} {yes:>10} {no:>10}" for row, (yes, no) in rows.items()]
        lines += [f"{'literal class published':<30} {'matching':>10} {'failing':>10}"]
        lines += [f"  {row:<28} {yes:>10} {no:>10}" for row, (yes, no) in self.published.items()]
        return "\n".join(lines)


def run_round(made: Round, seed: int, product: Product, tally: Tally) -> list[Fault]:
    """Compares every pair of the round; adds to `tally`."""
    questions = [Question(asked) for asked in made.subscriptions]
    timeline = make_timeline(made, seed)
    answers = product.answers(made.publications, [question.text for question in questions], timeline)
    census = [_Census(question) for question in questions]
    faults: list[Fault] = []
    entailments = dict.fromkeys((None, *(question.entailment for question in questions)))
    for i, published in enumerate(made.publications):
        oracles = {entailment: Oracle(published, entailment) for entailment in entailments}
        kinds = sorted({kind for term in oracles[None].terms if (kind := kind_of(term)) is not None})
        for j, question in enumerate(questions):
            oracle = oracles[question.entailment]
            got, valid = answers.get((i, j), []), timeline.valid(i, j)
            tally.undecided += is_undecided(got)
            if not valid:
                expected = Expected([], ("validity",))
                tally.outside += 1
            else:
                expected = oracle.expect(question)
                if is_undecided(got) and any(bound in got for bound in BEYOND):
                    tally.beyond += 1
                    continue
                scope = ["dataset with graphs"] if published.named is not None else []
                _count(tally, census[j], (kinds, scope), expected, bool(census[j].keys & oracle.terms))
            if not agrees(question.asked, expected, got):
                faults.append(Fault(seed, made.number, published, question.asked, expected, got, valid))
    return faults


class _Census:
    """The rows of the census table that one subscription belongs to."""

    def __init__(self, question: Question) -> None:
        decided = decided_among(question.constructs, question.text, question.entailment is not None)
        self.constructs = sorted(question.constructs | decided)
        self.kinds = sorted({kind for term in question.constants if (kind := kind_of(term)) is not None})
        self.keys = keys_of(question.asked.query)


def _count(
    tally: Tally, census: _Census, of_publication: tuple[list[str], list[str]], expected: Expected, shares_key: bool
) -> None:
    """`of_publication`: its literal classes, and its scope as a construct."""
    if expected.rows is None:
        tally.open += 1
        return
    if not shares_key:
        tally.uncounted += 1
        return
    kinds, scope = of_publication
    side = 0 if expected.rows else 1
    tally.pairs += 1
    tally.matched += 1 - side
    voice = " and ".join(expected.voices)
    tally.voices[voice] = tally.voices.get(voice, 0) + 1
    constructs = [*census.constructs, *scope]
    for table, rows in ((tally.constructs, constructs), (tally.asked, census.kinds), (tally.published, kinds)):
        for row in rows:
            table[row][side] += 1


def make_timeline(made: Round, seed: int) -> Timeline:
    """Mostly all subscriptions first; in every fourth round mixed, some of them cancelled in between."""
    random = Random(f"{seed}/{made.number}/timeline")
    asked, published = len(made.subscriptions), len(made.publications)
    if made.number % 4:
        return Timeline(tuple(range(1, asked + 1)), (None,) * asked, tuple(range(asked + 1, asked + published + 1)))
    events = [("add", n) for n in range(asked)] + [("publish", -1)] * published
    random.shuffle(events)
    order = iter(range(published))
    events = [(what, next(order)) if what == "publish" else (what, n) for what, n in events]
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
    expected = Oracle(published, asked.entailment).expect(Question(asked))
    got = answer_alone(product, published, asked)
    return None if agrees(asked, expected, got) else (expected, got)


def is_undecided(answer: Answer) -> bool:
    return isinstance(answer, str) and answer.startswith(UNDECIDED)


def agrees(asked: Asked, expected: Expected, got: Answer) -> bool:
    """Whether the product gave the expected multiset, in canonical order unless the query has an order of its own."""
    if expected.quarrel is not None:
        return False
    if expected.rows is None:
        return True
    if isinstance(got, str) or sorted(got) != expected.rows:
        return False
    return bool(asked.query.select.order) or _in_canonical_order(got)


def _in_canonical_order(rows: list[Row]) -> bool:
    names = sorted({name for row in rows for name, _ in row})
    keys = [tuple(dict(row).get(name, "") for name in names) for row in rows]
    return keys == sorted(keys)


def show_rows(rows: list[Row] | str | None) -> str:
    if rows is None or isinstance(rows, str):
        return str(rows)
    return "\n".join("    " + "  ".join(f"?{name}={term}" for name, term in row) for row in rows) or "    (no match)"
