"""The engine asked of the papers' graphs, and its answers as what every algorithm must find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from experiments.engine import BATCH, Engine
from experiments.gtopss.model import Answers, Subscription
from experiments.gtopss.rdf import to_answers, to_asked


def make_engine(subscriptions: Sequence[Subscription], before: Engine | None = None) -> Engine:
    """`before` as of `Engine`: an engine over the subscriptions before these."""
    held = before.size if before else 0
    return Engine([to_asked(each, f"s{held + n}") for n, each in enumerate(subscriptions)], before=before)


@dataclass(frozen=True, slots=True)
class Expected:
    """The engine's answers by publication: figures of different answers compare nothing."""

    answers: Sequence[Answers]

    def checking(self, name: str) -> Callable[[int, object], None]:
        """For a `Run`: raises ValueError where the algorithm of that name found another answer."""

        def check(number: int, given: object) -> None:
            found, wanted = cast(Answers, given), self.answers[number]
            if found != wanted:
                wrong = sorted(one for one in found.keys() | wanted.keys() if found.get(one) != wanted.get(one))
                raise ValueError(f"{name} and the engine differ on publication {number} in subscriptions {wrong[:5]}")

        return check


def expect_answers(engine: Engine, contents: Sequence[bytes]) -> Expected:
    return Expected([to_answers(found) for found in engine.match(engine.take(contents))])


def tell_publications(alone: int, batches: bool = True) -> str:
    batched = f"; batches: {BATCH} different ones, these among them" if batches else ""
    return f"{alone} publications, each alone{batched}."
