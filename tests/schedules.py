"""Every schedule against each subscription alone, over histories of subscriptions and publications.

``python -m tests.schedules N`` compares N random pairs of a subscription and a publication: subscriptions come, go and
change, a publication gives each standing one some rows of ground predicates, some operators fail, some answers are
known beforehand, batches are of any size, costs are random, and what is asked is learnt. Under each schedule the
outcome of every row must be what its own predicates say, no predicate may be asked twice, and each that is asked must
stand in a row that is open (but for naive, which looks at each row alone); at least a quarter of the pairs must match.
``--seed`` replays.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from typing import NamedTuple

from tests.unit.operators.asking.schedule_samples import make_conjunctions
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.runs import FAILED, HOLDS, OPEN, REFUTED, Conjunctions, Run
from triplecast.operators.asking.schedules import SCHEDULES, Schedule, make_schedule
from triplecast.operators.asking.sub_order import SubOrder

TEMPLATES = 24
PUBLICATIONS = 12
"""Of a history."""
LEAST_MATCHING = 0.25
"""Of all pairs, in a run of `ENOUGH` or more."""
ENOUGH = 5_000


class Publication(NamedTuple):
    rows: list[tuple[int, list[int]]]
    templates: list[int]
    truths: list[bool | None]
    costs: list[float]
    """Seconds that each takes when it is evaluated."""

    def outcome(self, members: list[int]) -> int:
        """Of a row, read from its own predicates."""
        found = [self.truths[member] for member in members]
        return REFUTED if False in found else FAILED if None in found else HOLDS


def check_history(chance: random.Random) -> Counter[str]:
    """Counts of ``pairs``, ``matching`` and ``undecided`` ones, and of predicates asked by schedule. Raises
    `AssertionError` with what went wrong."""
    counts: Counter[str] = Counter()
    holds = [chance.choice((0.2, 0.7, 0.9, 0.97)) for _ in range(TEMPLATES)]
    experiences = {name: Experience() for name in SCHEDULES}
    schedules = {name: make_schedule(name, experiences[name]) for name in SCHEDULES}
    standing: dict[int, list[int]] = {}
    for _ in range(PUBLICATIONS):
        _change(chance, standing, [each for each in schedules.values() if isinstance(each, SubOrder)])
        publication = _publish(chance, standing, holds)
        expected = [publication.outcome(members) for _, members in publication.rows]
        for name, schedule in schedules.items():
            counts[name] += _check_run(chance, name, schedule, experiences[name], publication, expected)
        matching = {of for (of, _), outcome in zip(publication.rows, expected, strict=True) if outcome == HOLDS}
        failing = {of for (of, _), outcome in zip(publication.rows, expected, strict=True) if outcome == FAILED}
        counts.update(pairs=len(standing), matching=len(matching), undecided=len(failing - matching))
    return counts


def _change(chance: random.Random, standing: dict[int, list[int]], schedules: list[SubOrder]) -> None:
    """Some go, some come, some get other predicates."""
    for subscription in chance.sample(sorted(standing), len(standing) // 5):
        del standing[subscription]
        for schedule in schedules:
            schedule.remove(subscription)
    for _ in range(chance.randint(1, 15)):
        subscription = chance.randrange(60)
        standing[subscription] = chance.sample(range(TEMPLATES), chance.choice((1, 1, 2, 2, 3, 4)))
        for schedule in schedules:
            schedule.insert(subscription, standing[subscription])
    if chance.random() < 0.2:
        for schedule in schedules:
            schedule.reorder()


def _publish(chance: random.Random, standing: dict[int, list[int]], holds: list[float]) -> Publication:
    """A ground predicate is a template with arguments: of each template there are up to three."""
    instances = {template: chance.randint(1, 3) for template in range(TEMPLATES)}
    ground = [template for template in range(TEMPLATES) for _ in range(instances[template])]
    first = {template: ground.index(template) for template in range(TEMPLATES)}
    rows = [
        (subscription, [first[template] + chance.randrange(instances[template]) for template in templates])
        for subscription, templates in standing.items()
        for _ in range(chance.choice((1, 1, 2)))
    ]
    chance.shuffle(rows)
    truths = [None if chance.random() < 0.02 else chance.random() < holds[template] for template in ground]
    return Publication(rows, ground, truths, [10 ** chance.uniform(-4, 0) for _ in ground])


def _check_run(
    chance: random.Random,
    name: str,
    schedule: Schedule,
    experience: Experience,
    publication: Publication,
    expected: list[int],
) -> int:
    templates = make_conjunctions((), publication.templates, *[[1.0] * len(publication.templates)] * 2).templates
    rows: Conjunctions = make_conjunctions(
        publication.rows,
        publication.templates,
        experience.costs(templates).tolist(),
        experience.holds(templates).tolist(),
    )
    run = schedule.start(rows)
    known: set[int] = set()
    if chance.random() < 0.3:
        known.update(chance.sample(range(len(publication.truths)), chance.randint(0, 10)))
        for predicate in sorted(known):
            run.learn(predicate, publication.truths[predicate])
    asked = 0
    while wanted := list(run.wanted(chance.choice((1, 1, 3, 20)))):
        for predicate in wanted:
            assert predicate not in known, f"{name} asks {predicate} twice"
            assert name == "naive" or _is_open(run, publication, predicate), f"{name} asks {predicate} for no open row"
            known.add(predicate)
            run.learn(predicate, publication.truths[predicate])
            cost = publication.costs[predicate]
            experience.learn(publication.templates[predicate], publication.truths[predicate], cost)
            asked += 1
    assert run.outcomes().tolist() == expected, f"{name}: {run.outcomes().tolist()} for {expected}"
    return asked


def _is_open(run: Run, publication: Publication, predicate: int) -> bool:
    """Whether a row that has the predicate is not decided."""
    outcomes = run.outcomes()
    return any(outcomes[row] == OPEN for row, (_, members) in enumerate(publication.rows) if predicate in members)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.schedules", description=__doc__)
    parser.add_argument("pairs", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    number = 0
    while counts["pairs"] < given.pairs:
        try:
            counts += check_history(random.Random(f"{given.seed} {number}"))
        except AssertionError as error:
            print(f"WRONG in history {number} of seed {given.seed}: {error}")
            return 1
        number += 1
    share = 100 * counts["matching"] / counts["pairs"]
    if counts["pairs"] >= ENOUGH and share < 100 * LEAST_MATCHING:
        print(f"TOO FEW MATCH: {share:.1f} % of {counts['pairs']:,} pairs of seed {given.seed}")
        return 1
    print(
        f"{counts['pairs']:,} pairs under {len(SCHEDULES)} schedules: {counts['matching']:,} match ({share:.0f} %), "
        f"{counts['undecided']:,} undecided, 0 differences; predicates asked: "
        + ", ".join(f"{name} {counts[name]:,}" for name in SCHEDULES)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
