"""Operators that are not called for now: quarantined after failures in a row, or unavailable here, because their worker
does not start or does not have them, or because nobody declares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.model.answers import Answer, Failed
from triplecast.model.operators import Operator

QUARANTINE = 100
"""Failures in a row after which an operator's version is quarantined; one that cost a worker counts as `COSTLY`."""
COSTLY = 20
"""What a call counts that overran its time or memory, or ended its worker."""
PROBATION = 64
"""Every so many calls of a quarantined operator, one is made all the same: a result ends the quarantine."""
REST = 20
"""Back-off, in multiples of what the last failed call, or failed start of a worker, took: at most a twentieth of the
time goes into either."""
SHORTEST_REST = 1.0
"""Seconds before a worker that did not start is started again."""


@dataclass(slots=True)
class OperatorHealth:
    """How an operator's version has done in this process."""

    calls: int = 0
    """Made, failed ones included; a call that was repeated in a part of its batch counts each time."""
    failed: int = 0
    """Single calls that failed; batches as a whole and unanswerable calls do not count."""
    in_a_row: int = 0
    """Failures since the last result, costly ones counted as so many, unanswerable calls not at all."""
    skipped: int = 0
    last_failure: str = ""
    """Of those in `failed`."""
    rests_until: float = 0.0
    """By the performer's clock."""

    @property
    def quarantined(self) -> bool:
        return self.in_a_row >= QUARANTINE

    def may_try(self, now: float) -> bool:
        """Whether to make the next call; one that is not made counts as skipped."""
        if not self.quarantined:
            return True
        self.skipped += 1
        return self.skipped % PROBATION == 0 and now >= self.rests_until

    def note(self, answer: Answer, weight: int, seconds: float, now: float, calls: int = 1) -> None:
        """Count a call, or a batch of `calls` as a whole, that took `seconds` until `now`. A failure without weight is
        not the operator's, or is counted already."""
        self.calls += calls
        if not isinstance(answer, Failed):
            self.in_a_row = 0
            return
        self.rests_until = now + REST * seconds
        self.in_a_row += weight
        if calls == 1 and weight > 0:
            self.failed += 1
            self.last_failure = answer.reason


class WorkerKey(NamedTuple):
    """Operators of one module with equal limits share a worker; others cannot harm them."""

    source: str
    seconds: float
    memory: int

    @classmethod
    def of(cls, declared: Operator) -> WorkerKey:
        return cls(declared.source, declared.seconds, declared.memory)


class OperatorUnavailable(Exception):
    """The worker of an operator did not start, or does not have it."""

    def __init__(self, reason: str, whole: bool) -> None:
        """`whole`: this holds for all operators of its worker."""
        super().__init__(reason)
        self.reason = reason
        self.whole = whole


class Unavailable(NamedTuple):
    declared: Operator
    reason: str
    until: float
    """No worker is started for it before, by the performer's clock."""


class UnavailableOperators:
    """The unavailable operators of one performer. What is available again is reported once (`take_recovered`)."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._by_worker: dict[tuple[WorkerKey, str], Unavailable] = {}
        """By worker and IRI; without IRI, all operators of the worker."""
        self._undeclared: dict[str, str] = {}
        """Reasons by IRI."""
        self._recovered = False

    def reasons(self) -> set[str]:
        return {*self._undeclared.values(), *(each.reason for each in self._by_worker.values())}

    def reason(self, declared: Operator) -> str | None:
        """Return why it cannot be called for now."""
        for key in _keys(declared):
            found = self._by_worker.get(key)
            if found is not None and self._clock() < found.until:
                return _reason_of(declared, found)
        return None

    def note_undeclared(self, iri: str, reason: str) -> None:
        self._undeclared[iri] = reason

    def note_unavailable(self, declared: Operator, error: OperatorUnavailable, began: float) -> None:
        """`began`: when the worker was tried."""
        now = self._clock()
        until = now + max(SHORTEST_REST, REST * (now - began))
        whole, own = _keys(declared)
        self._by_worker.pop(own, None)
        if not error.whole and self._by_worker.pop(whole, None) is not None:
            self._recovered = True  # the others of its worker
        self._by_worker[whole if error.whole else own] = Unavailable(declared, error.reason, until)

    def note_available(self, declared: Operator) -> None:
        """Note that its worker has it."""
        for key in _keys(declared):
            if self._by_worker.pop(key, None) is not None:
                self._recovered = True

    def due(self, find: Callable[[str], Operator | None]) -> list[Operator]:
        """Return those to try now, as they are declared now; one that is declared otherwise counts as recovered."""
        for iri in [iri for iri in self._undeclared if find(iri) is not None]:
            del self._undeclared[iri]
            self._recovered = True
        due: list[Operator] = []
        for key, unavailable in list(self._by_worker.items()):
            declared = find(unavailable.declared.iri)
            if declared is None or key not in _keys(declared):
                del self._by_worker[key]
                self._recovered = True
            elif self.reason(declared) is None:
                due.append(declared)
        return due

    def take_recovered(self) -> bool:
        """Whether any recovered since the last call."""
        recovered, self._recovered = self._recovered, False
        return recovered


def _keys(declared: Operator) -> tuple[tuple[WorkerKey, str], tuple[WorkerKey, str]]:
    """Its keys among the unavailable: with all operators of its worker, and alone."""
    worker = WorkerKey.of(declared)
    return (worker, ""), (worker, declared.iri)


def _reason_of(declared: Operator, unavailable: Unavailable) -> str:
    """The reason of another operator of the same worker, in its own name."""
    other = unavailable.declared
    return unavailable.reason.replace(
        f"operator <{other.iri}> version {other.version}", f"operator <{declared.iri}> version {declared.version}", 1
    )
