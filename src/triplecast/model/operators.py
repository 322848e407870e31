"""Operators as values: what each declares, the immutable set of an engine, and the names of schedules."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from triplecast.errors import InputError

BOUND, FREE = "bound", "free"


@dataclass(frozen=True, slots=True)
class Operator:
    """A declared operator. Its code is `name` at the top level of `module`, which workers import."""

    iri: str
    version: str
    """Changed whenever results change: what is stored is stored for a version."""
    arguments: tuple[str, ...]
    """``bound`` (given to the function) or ``free`` (given back by it), in the order of the call."""
    cost: float
    """Seconds that a call is expected to take; learned better as calls are made."""
    batch: bool
    """Whether the function takes lists: of events, and of each bound argument; it gives a list of results."""
    pure: bool
    """Whether it gives the same result for the same arguments and the same that it looked at of the event."""
    seconds: float
    memory: int
    module: str
    name: str
    path: str | None = None
    """Of the file, where the module is the script that was started (``__main__``)."""
    about: str = ""
    """The first line of its docstring."""
    check: str = ""
    """The function beside it that checks constant arguments when a query is subscribed; empty without one."""

    @property
    def bound(self) -> int:
        """How many arguments its function takes beside the event."""
        return self.arguments.count(BOUND)

    @property
    def free(self) -> int:
        """How many terms each of its results has; without any it filters."""
        return self.arguments.count(FREE)

    @property
    def signature(self) -> str:
        """As people read it: ``<iri>(bound, free)``."""
        return f"<{self.iri}>({', '.join(self.arguments)})"

    @property
    def place(self) -> str:
        """Where its code is, for people: ``module.name``."""
        return f"{self.module}.{self.name}"

    def __hash__(self) -> int:
        return hash((self.iri, self.version))

    @property
    def source(self) -> str:
        """What a worker imports before its limits hold: the module's name, or the path of the script."""
        return self.path or self.module


@dataclass(frozen=True, slots=True)
class OperatorSet:
    """Operators by IRI. Equal by content, hashed in constant time.

    Raises `InputError` where two functions have one IRI.
    """

    operators: tuple[Operator, ...] = ()
    """Those declared here, by IRI."""
    recorded: tuple[Operator, ...] = ()
    """Those that a journal has and nobody declares here, by IRI."""
    faults: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Entry points that could not be imported, with the reason."""
    grammar: str = field(init=False, compare=False, repr=False)
    """A digest of all IRIs and argument forms: texts parse alike under sets of one grammar."""
    _by_iri: Mapping[str, Operator] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        declared: dict[str, Operator] = {}
        for each in self.operators:
            known = declared.setdefault(each.iri, each)
            if known != each:
                raise InputError(
                    f"<{each.iri}> is declared as {known.place} and as {each.place}",
                    "give one of them another IRI, or give each engine its own: Engine(operators=[…])",
                )
        recorded = {each.iri: each for each in self.recorded if each.iri not in declared}
        by_iri = dict(sorted((declared | recorded).items()))
        forms = "\n".join(each.signature for each in by_iri.values())
        for name, value in (
            ("operators", tuple(declared[iri] for iri in sorted(declared))),
            ("recorded", tuple(recorded[iri] for iri in sorted(recorded))),
            ("grammar", sys.intern(blake2b(forms.encode("utf-8", "replace"), digest_size=16).hexdigest())),
            ("_by_iri", MappingProxyType(by_iri)),
        ):
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash(self.grammar)

    def __reduce__(self) -> tuple[Callable[..., OperatorSet], tuple[object, ...]]:
        return OperatorSet, (self.operators, self.recorded, self.faults)

    def __len__(self) -> int:
        return len(self._by_iri)

    def __iter__(self) -> Iterator[Operator]:
        """Iterate over declared and recorded operators by IRI."""
        return iter(self._by_iri.values())

    def find(self, iri: str) -> Operator | None:
        """Return the declared or recorded operator of this IRI."""
        return self._by_iri.get(iri)

    def find_declared(self, iri: str) -> Operator | None:
        """Return the operator of this IRI that is declared here."""
        found = self._by_iri.get(iri)
        return None if found is None or found in self.recorded else found

    def with_recorded(self, operators: Iterable[Operator]) -> OperatorSet:
        """Return this set with recorded operators added; a later record of an IRI replaces the one before."""
        added = (*operators,)
        return self if not added else OperatorSet(self.operators, (*self.recorded, *added), self.faults)


NO_OPERATORS = OperatorSet()


@lru_cache(maxsize=64)
def write_operators(operators: OperatorSet) -> str:
    """Return a set as JSON."""
    columns = [[astuple(each) for each in part] for part in (operators.operators, operators.recorded)]
    return json.dumps(columns, separators=(",", ":"))


@lru_cache(maxsize=64)
def read_operators(written: str) -> OperatorSet:
    """Read what `write_operators` wrote. Raises ValueError for other text."""
    operators, recorded = (tuple(map(read_fields, part)) for part in json.loads(written))
    return OperatorSet(operators, recorded)


def read_fields(fields: Iterable[Any]) -> Operator:
    """Return the operator of fields read from JSON."""
    read: list[Any] = [tuple(each) if isinstance(each, list) else each for each in fields]
    return Operator(*read)


SCHEDULE = "adaptive"
"""Unless another is named."""
SCHEDULES = ("adaptive", "sub-order", "stopping", "sequential", "naive")


def check_schedule(name: str) -> str:
    """The same name. Raises `InputError` for one that is none."""
    if name not in SCHEDULES:
        raise InputError(f"no schedule is called {name!r}", f"name one of {', '.join(SCHEDULES)}, or none")
    return name
