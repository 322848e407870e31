"""Operators that could not be asked, until they can be: whose worker did not start, or does not have them, and those
that are not declared here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from triplecast.model.operators import Operator

REST = 20
"""Times as long as it took to find a worker's operators absent, that worker is not started again: so at most a
twentieth of the time goes into it."""
SHORTEST_REST = 1.0
"""Seconds before a worker that did not start is started again."""


class WorkerName(NamedTuple):
    """Operators of one module with equal limits share a child; others cannot harm them."""

    source: str
    seconds: float
    memory: int


class Unasked(Exception):
    """The worker of an operator did not start, or does not have it."""

    def __init__(self, reason: str, whole: bool) -> None:
        """`whole`: this holds of all operators of its worker."""
        super().__init__(reason)
        self.reason = reason
        self.whole = whole


class Absent(NamedTuple):
    """An operator that could not be asked."""

    declared: Operator
    reason: str
    until: float
    """No worker is started for it before, by the performer's clock."""


class Absences:
    """What one performer could not ask. What is there again is told once (`take_back`), however that was found."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._absent: dict[tuple[WorkerName, str], Absent] = {}
        """By worker and IRI; without IRI of all its operators."""
        self._undeclared: dict[str, str] = {}
        """By IRI, why nobody could be asked."""
        self._back = False

    def reasons(self) -> set[str]:
        return {*self._undeclared.values(), *(each.reason for each in self._absent.values())}

    def reason(self, declared: Operator) -> str | None:
        """Why it cannot be asked for now."""
        for key in _keys(declared):
            absent = self._absent.get(key)
            if absent is not None and self._clock() < absent.until:
                return _reason_of(declared, absent)
        return None

    def note_undeclared(self, iri: str, reason: str) -> None:
        self._undeclared[iri] = reason

    def note_absent(self, declared: Operator, unasked: Unasked, began: float) -> None:
        """`began`: when it was tried."""
        now = self._clock()
        until = now + max(SHORTEST_REST, REST * (now - began))
        whole, own = _keys(declared)
        self._absent.pop(own, None)
        if not unasked.whole and self._absent.pop(whole, None) is not None:
            self._back = True  # others of its worker
        self._absent[whole if unasked.whole else own] = Absent(declared, unasked.reason, until)

    def note_there(self, declared: Operator) -> None:
        """Its worker has it."""
        for key in _keys(declared):
            if self._absent.pop(key, None) is not None:
                self._back = True

    def look(self, find: Callable[[str], Operator | None]) -> list[Operator]:
        """Those that are to be tried now, as they are declared now; what was absent as it was declared before is taken
        as back."""
        for iri in [iri for iri in self._undeclared if find(iri) is not None]:
            del self._undeclared[iri]
            self._back = True
        due: list[Operator] = []
        for key, absent in list(self._absent.items()):
            declared = find(absent.declared.iri)
            if declared is None or key not in _keys(declared):
                del self._absent[key]
                self._back = True
            elif self.reason(declared) is None:
                due.append(declared)
        return due

    def take_back(self) -> bool:
        """Whether any came back since this was asked last."""
        back, self._back = self._back, False
        return back


def worker_of(declared: Operator) -> WorkerName:
    return WorkerName(declared.source, declared.seconds, declared.memory)


def _keys(declared: Operator) -> tuple[tuple[WorkerName, str], tuple[WorkerName, str]]:
    """Where it stands among the absent: with all operators of its worker, and alone."""
    worker = worker_of(declared)
    return (worker, ""), (worker, declared.iri)


def _reason_of(declared: Operator, absent: Absent) -> str:
    """Of another operator of the same worker, in its own name."""
    other = absent.declared
    return absent.reason.replace(
        f"operator <{other.iri}> version {other.version}", f"operator <{declared.iri}> version {declared.version}", 1
    )
