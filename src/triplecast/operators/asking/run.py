"""A schedule's run over one publication, and the calls that its conditions wait for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplecast.model.answers import GroundCall
from triplecast.operators.schedules import Run
from triplecast.residual import Condition, PublicationConditions


class ConditionRun:
    """Conditions are named by their places in the run."""

    def __init__(
        self, run: Run, conditions: PublicationConditions, numbers: Sequence[int], templates: Sequence[int]
    ) -> None:
        """`numbers`: by place, the condition's number in the publication; `templates`: its template's."""
        self.run = run
        self.templates = templates
        self._conditions = conditions
        self._numbers = numbers
        self._calls: dict[int, dict[GroundCall, None]] = {}
        """What conditions that are no bare calls have waited for until now."""
        self._settled = bytearray(len(numbers))
        self._by_call: dict[GroundCall, list[int]] = {}
        for place, number in enumerate(numbers):
            self._by_call.setdefault(conditions.calls[conditions.needs[number]], []).append(place)

    def condition(self, place: int) -> Condition:
        return self._conditions.conditions[self._numbers[place]]

    def calls(self, place: int) -> Iterable[GroundCall]:
        """What a condition has waited for until now."""
        return self._calls.get(place) or (self._conditions.calls[self._conditions.needs[self._numbers[place]]],)

    def woken_by(self, call: GroundCall) -> list[int]:
        """The conditions that wait for this call, ascending; they wait no more."""
        return sorted(set(self._by_call.pop(call, ())))

    def settled(self, place: int) -> bool:
        return bool(self._settled[place])

    def settle(self, place: int, holds: bool | None) -> None:
        self._settled[place] = True
        self.run.learnt(place, holds)

    def wait(self, place: int, call: GroundCall) -> None:
        self._by_call.setdefault(call, []).append(place)
        if not isinstance(self.condition(place).waiting, GroundCall):
            self._calls.setdefault(place, dict.fromkeys(self.calls(place)))[call] = None

    def judge(self, place: int) -> bool | None:
        """Whether a condition holds; None where that cannot be known. Raises `Unknown` with the calls that it waits
        for."""
        return self._conditions.judge(self._numbers[place])
