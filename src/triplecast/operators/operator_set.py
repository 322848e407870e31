"""The operators of an engine: an immutable value that parsing, matching and asking are given."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from functools import cache, lru_cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import entry_points
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeAlias

from triplecast.errors import InputError, TriplecastError
from triplecast.operators.declaration import Operator, declarations, declarations_of
from triplecast.terms.nearness import nearest_names

GROUP = "triplecast.operators"
"""The entry points whose modules declare operators."""
IMPORT_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError),
    *(SyntaxError, TriplecastError, TypeError, ValueError),
)
"""What importing somebody's module may raise; one broken package does not stop queries that do not need it."""


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

    def nearest(self, iri: str) -> list[str]:
        """Return the IRIs of operators that may have been meant, the likeliest first."""
        return nearest_names(iri, list(self._by_iri))

    def with_recorded(self, operators: Iterable[Operator]) -> OperatorSet:
        """Return this set with recorded operators added; a later record of an IRI replaces the one before."""
        return OperatorSet(self.operators, (*self.recorded, *operators), self.faults)

    def to_json(self) -> str:
        return _to_json(self)

    @staticmethod
    def from_json(written: str) -> OperatorSet:
        """Read what `to_json` wrote. Raises ValueError for other text."""
        return _from_json(written)


NO_OPERATORS = OperatorSet()

Declared: TypeAlias = Operator | Callable[..., Any]
"""An operator, or a function below `@operator`."""


def operator_set(given: Iterable[Declared] | None) -> OperatorSet:
    """Make a set of operators and decorated functions; of None, the default. Raises `InputError` for a function that
    declares no operator."""
    if given is None or isinstance(given, OperatorSet):
        return declared_operators() if given is None else given
    return OperatorSet(tuple(chain.from_iterable(map(_declared_by, given))))


def _declared_by(given: Declared) -> tuple[Operator, ...]:
    if isinstance(given, Operator):
        return (given,)
    found = declarations_of(given)
    if not found:
        raise InputError(f"{given!r} is no operator", "give functions declared with @operator")
    return found


def declared_operators() -> OperatorSet:
    """Return the operators that imported modules and entry points declare: the default of every engine.

    Raises `InputError` where two of them have one IRI.
    """
    faults = read_entry_points()
    return _default(declarations(), faults)


@lru_cache(maxsize=8)
def _default(operators: tuple[Operator, ...], faults: tuple[str, ...]) -> OperatorSet:
    return OperatorSet(operators, faults=faults)


@cache
def read_entry_points() -> tuple[str, ...]:
    """Import the modules of entry points, once; return those that could not be imported, with the reason."""
    faults: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            import_module(point.module)
        except IMPORT_FAULTS as error:
            faults.append(f"{point.name} ({point.module}): {describe_import(error)}")
    return tuple(faults)


def import_operators(modules: Iterable[str]) -> None:
    """Import modules that declare operators. Raises `InputError` where one cannot be imported."""
    for module in modules:
        try:
            import_module(module)
        except IMPORT_FAULTS as error:
            hint = "install what it needs, or fix the name" if isinstance(error, ImportError) else "fix the module"
            told = f"the operators of {module} cannot be imported: {describe_import(error)}"
            raise InputError(told, hint) from error


def describe_import(error: BaseException) -> str:
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"


@lru_cache(maxsize=64)
def _to_json(operators: OperatorSet) -> str:
    columns = [[astuple(each) for each in part] for part in (operators.operators, operators.recorded)]
    return json.dumps(columns, separators=(",", ":"))


@lru_cache(maxsize=64)
def _from_json(written: str) -> OperatorSet:
    operators, recorded = (tuple(map(read_fields, part)) for part in json.loads(written))
    return OperatorSet(operators, recorded)


def read_fields(fields: Iterable[Any]) -> Operator:
    """Return the operator of fields read from JSON."""
    read: list[Any] = [tuple(each) if isinstance(each, list) else each for each in fields]
    return Operator(*read)
