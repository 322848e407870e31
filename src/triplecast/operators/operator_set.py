"""Sets of operators: of what somebody gives, and by default of all that is declared in the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from itertools import chain
from typing import Any, TypeAlias

from triplecast.errors import InputError, TriplecastError
from triplecast.model.operators import Operator, OperatorSet
from triplecast.operators.declaration import declarations, declarations_of

GROUP = "triplecast.operators"
"""The entry points whose modules declare operators."""
IMPORT_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError),
    *(SyntaxError, TriplecastError, TypeError, ValueError),
)
"""What importing somebody's module may raise; one broken package does not stop queries that do not need it."""


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
    faults, operators = read_entry_points(), declarations()
    if not _default or _default[-1][0] is not operators:
        known = next((known for found, known in _default if found == operators), None)
        _default[:] = [(operators, OperatorSet(operators, faults=faults) if known is None else known)]
    return _default[-1][1]


_default: list[tuple[tuple[Operator, ...], OperatorSet]] = []
"""What was declared last, and its set: to hash operators takes longer than a small match."""


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
