"""What an operator says of itself, and the decorator that says it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pyoxigraph import NamedNode

from triplecast.errors import InputError
from triplecast.model.operators import BOUND, FREE, Operator

SECONDS = 10.0
"""Wall time of one call (of a batch: of all its calls), unless the declaration says otherwise."""
MEMORY = 1 << 30
"""Bytes above what the worker uses once the operator's module is imported, unless the declaration says otherwise."""
MOST_SECONDS = 86_400.0
MOST_MEMORY = 1 << 50
LONGEST_VERSION = 200
"""What a declaration may say: seconds of time limit and cost, bytes, characters."""

SCRIPT = "triplecast_script"
"""What a worker calls the script that was started (`sandbox.child`)."""

_F = TypeVar("_F", bound=Callable[..., Any])
_EXAMPLE = '@operator("https://example.org/op#objects", version="1", arguments=("bound", "free"))'


def operator(
    iri: str,
    version: str = "",
    arguments: Sequence[str] | None = None,
    cost: float = 0.001,
    batch: bool = False,
    pure: bool = True,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    check: Callable[..., object] | None = None,
) -> Callable[[_F], _F]:
    """Declare the function below as an operator; the function itself is unchanged.

    It is called with a `PublicationView` and the bound arguments, terms of pyoxigraph. Without free arguments it
    returns a bool; with one, a term, None for none, or an iterable of terms; with several, an iterable of tuples. A
    Python bool, int, float, Decimal or str becomes a literal. With `batch` it takes and returns lists.

    `check`, a function of the same module, is called with the bound arguments of a new query, None for each that is not
    a constant; a query for which it raises `Unanswerable` is refused. Raises `InputError` for an invalid declaration.
    """

    def declare(function: _F) -> _F:
        _check(iri, version, arguments, cost, seconds, memory)
        given = tuple(arguments or ())
        _check_function(iri, function, 1 + given.count(BOUND))
        if check is not None:
            _check_check(iri, check, function.__module__, given.count(BOUND))
        path = None
        if function.__module__ == "__main__":
            path = getattr(sys.modules["__main__"], "__file__", None)
            if path is None or not path.endswith(".py"):
                raise InputError(f"the operator <{iri}> is typed into a prompt", "put it in a file that workers import")
            path = str(Path(path).absolute())
        about = (inspect.getdoc(function) or "").partition("\n")[0]
        declared = Operator(
            iri,
            version,
            given,
            float(cost),
            batch,
            pure,
            float(seconds),
            memory,
            function.__module__,
            function.__qualname__,
            path,
            about,
            "" if check is None else check.__name__,
        )
        _note(declared)
        return function

    return declare


_NOTE = "__triplecast_operators__"
"""Where a module's namespace has its declarations, by IRI."""
_declaring: dict[str, None] = {}
"""The names of modules that have declared operators in this process, in the order of their first declaration."""


def _note(declared: Operator) -> None:
    """Note a declaration in its module. Raises `InputError` where another function of the module has the IRI."""
    _declaring[declared.module] = None
    noted: dict[str, Operator] = vars(sys.modules[declared.module]).setdefault(_NOTE, {})
    known = noted.get(declared.iri)
    if known is not None and known.name != declared.name:
        raise InputError(
            f"<{declared.iri}> is {known.place} already, so it cannot be {declared.place} too",
            "give one of them another IRI",
        )
    if known != declared:
        noted[declared.iri] = declared
        _found.clear()


_found: dict[tuple[ModuleType | None, ...], tuple[Operator, ...]] = {}
"""What the modules in `_declaring` have declared, as they were imported when it was last asked for."""


def declarations() -> tuple[Operator, ...]:
    """Return what the modules that are imported now have declared: the same tuple as long as it is the same."""
    modules = tuple(map(sys.modules.get, tuple(_declaring)))
    found = _found.get(modules)
    if found is None:
        _found.clear()
        found = _found[modules] = tuple(chain.from_iterable(map(declarations_in, tuple(_declaring))))
    return found


def declarations_in(module: str) -> tuple[Operator, ...]:
    """Return what an imported module has declared."""
    found = sys.modules.get(module)
    return () if found is None else tuple(vars(found).get(_NOTE, {}).values())


def find_declaration(module: str, iri: str) -> Operator | None:
    """Return what a module declares as `iri`, in a worker that has imported it."""
    return next((each for each in declarations_in(SCRIPT if module == "__main__" else module) if each.iri == iri), None)


def load(declared: Operator, name: str = "") -> Callable[..., Any]:
    """Return an operator's function, or another one beside it. Raises what importing its module raises."""
    module = import_module(SCRIPT if declared.module == "__main__" else declared.module)
    function: Callable[..., Any] = getattr(module, name or declared.name)
    return function


def declarations_of(function: Callable[..., Any]) -> tuple[Operator, ...]:
    """Return what a function below `@operator` was declared as; nothing for any other."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    return tuple(each for each in declarations_in(module) if each.name == name)


def _check(iri: object, version: object, arguments: object, cost: object, seconds: object, memory: object) -> None:
    try:
        NamedNode(iri)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        raise InputError(f"{iri!r} cannot name an operator: it is no absolute IRI", f"write {_EXAMPLE}") from error
    if not isinstance(version, str) or not version.isprintable() or not 0 < len(version) <= LONGEST_VERSION:
        raise InputError(
            f"the version of <{iri}> is {repr(version)[:80]}",
            f'give it as a line of text, {LONGEST_VERSION} characters at most: version="1"',
        )
    kinds = isinstance(arguments, Sequence) and not isinstance(arguments, str)
    if not kinds or not set(arguments) <= {BOUND, FREE}:  # type: ignore[call-overload]
        raise InputError(
            f"the arguments of <{iri}> are {arguments!r}",
            f'give "{BOUND}" or "{FREE}" for each, () for none: {_EXAMPLE}',
        )
    for name, number in (("cost", cost), ("seconds", seconds)):
        if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number <= MOST_SECONDS:
            told = f"give seconds above 0, {MOST_SECONDS:,.0f} at most"
            raise InputError(f"the {name} of <{iri}> is {_shown(number)}", told)
    if not isinstance(memory, int) or isinstance(memory, bool) or not 0 < memory <= MOST_MEMORY:
        told = f"give a whole number of bytes above 0, 2^{MOST_MEMORY.bit_length() - 1} at most"
        raise InputError(f"the memory of <{iri}> is {_shown(memory)}", told)


def _shown(number: object) -> str:
    return "too large" if isinstance(number, int) and number > MOST_MEMORY else repr(number)[:80]


def _check_function(iri: str, function: Callable[..., Any], wanted: int) -> None:
    _check_found(f"the operator <{iri}>", function)
    try:
        inspect.signature(function).bind(*range(wanted))
    except TypeError as error:
        raise InputError(
            f"the operator <{iri}> is declared with {wanted - 1} bound arguments, and its function {function.__name__} "
            f"does not take an event and {wanted - 1} more: {error}",
            "make both agree",
        ) from error


def _check_check(iri: str, check: Callable[..., Any], module: str, wanted: int) -> None:
    _check_found(f"the check of <{iri}>", check)
    if check.__module__ != module:
        raise InputError(f"the check of <{iri}> is of {check.__module__}", f"write one in {module}, which calls it")
    try:
        inspect.signature(check).bind(*range(wanted))
    except TypeError as error:
        raise InputError(
            f"the check of <{iri}> does not take {wanted} arguments: {error}", "give it each bound argument, no event"
        ) from error


def _check_found(what: str, function: Callable[..., Any]) -> None:
    if not inspect.isfunction(function) or "." in function.__qualname__ or function.__name__ == "<lambda>":
        raise InputError(
            f"{what} is no function at the top level of a module",
            "move it there: a worker finds it by its module and name",
        )
