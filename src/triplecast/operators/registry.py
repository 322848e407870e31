"""The operators that this process knows: those that were declared in modules it has imported, and those of the entry
point group `triplecast.operators`, which are imported when an operator is first looked for."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from triplecast.errors import InputError, TriplecastError
from triplecast.operators.declaration import Operator
from triplecast.operators.mending import find_module
from triplecast.terms.nearness import nearest_names

GROUP = "triplecast.operators"
IMPORT_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError),
    *(SyntaxError, TriplecastError, TypeError, ValueError),
)
"""What the code of somebody's module raises while it is imported; that is no reason for all other queries to fail."""


class Registry:
    """Operators by IRI. Used by any thread."""

    def __init__(self, entry_points: bool = True) -> None:
        self._operators: dict[str, Operator] = {}
        self._recorded: set[str] = set()
        """IRIs of those that are known as a journal has them, since no module has declared them here."""
        self._unread = entry_points
        self._lock = threading.RLock()
        self.generation = 0
        """Another number whenever another text may parse, or parse otherwise, than before."""
        self.faults: tuple[str, ...] = ()
        """Entry points that could not be imported, with the reason."""

    def add(self, declared: Operator) -> None:
        """Raises `InputError` where another function has the IRI; the same one may be declared anew (`reload`)."""
        with self._lock:
            known = self._operators.get(declared.iri)
            recorded = declared.iri in self._recorded
            self._recorded.discard(declared.iri)
            if known == declared:
                return
            if known is not None and not recorded and (known.module, known.name) != (declared.module, declared.name):
                raise InputError(
                    f"<{declared.iri}> is {known.module}.{known.name} already, so it cannot be "
                    f"{declared.module}.{declared.name} too",
                    "give one of them another IRI",
                )
            self._operators[declared.iri] = declared
            self.generation += 1

    def record(self, declared: Operator) -> None:
        """Knows one as it was declared last, somewhere, until it is declared here."""
        with self._lock:
            known = self.find(declared.iri)
            if known is not None and declared.iri not in self._recorded:
                return
            self._recorded.add(declared.iri)
            if known != declared:
                self._operators[declared.iri] = declared
                self.generation += 1

    def find_declared(self, iri: str) -> Operator | None:
        """One that was declared in this process."""
        with self._lock:
            found = self.find(iri)
            return None if iri in self._recorded else found

    def adopt(self, operators: Iterable[Operator]) -> None:
        """Knows these and no others: for a process that only has to read queries."""
        with self._lock:
            wanted = {declared.iri: declared for declared in operators}
            self._unread = False
            self._recorded.clear()
            if wanted != self._operators:
                self._operators = wanted
                self.generation += 1

    def ignore_entry_points(self) -> None:
        """For a process that is told what it has to know."""
        with self._lock:
            self._unread = False

    def find(self, iri: str) -> Operator | None:
        with self._lock:
            found = self._operators.get(iri)
            if found is None and self._unread:
                self._read_entry_points()
                found = self._operators.get(iri)
            return found

    def all(self) -> tuple[Operator, ...]:
        """By IRI."""
        with self._lock:
            if self._unread:
                self._read_entry_points()
            return tuple(self._operators[iri] for iri in sorted(self._operators))

    def nearest(self, iri: str) -> list[str]:
        """IRIs of operators that may have been meant, the likest first."""
        return nearest_names(iri, [declared.iri for declared in self.all()])

    def _read_entry_points(self) -> None:
        self._unread = False
        faults: list[str] = []
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            try:
                import_module(point.module)
            except IMPORT_FAULTS as error:
                faults.append(f"{point.name} ({point.module}): {_told(error)}")
        self.faults = tuple(faults)


@cache
def known_operators() -> Registry:
    """This process's own."""
    return Registry()


def find_operator(iri: str) -> Operator | None:
    return known_operators().find(iri)


def missing_modules(operators: Iterable[Operator]) -> tuple[str, ...]:
    """What is wrong with operators whose module, or script, no worker of this process would find, and how to fix it:
    a line for each module. Nothing is imported for that but the packages around a module."""
    lost: dict[str, list[str]] = {}
    for declared in operators:
        if not _is_there(declared):
            lost.setdefault(declared.source, []).append(f"<{declared.iri}>")
    return tuple(
        f"{module} cannot be found, which declares {', '.join(iris)}: {find_module(module)}; what waits is "
        "asked about once it is there"
        for module, iris in sorted(lost.items())
    )


def _is_there(declared: Operator) -> bool:
    if declared.path is not None:
        return Path(declared.path).exists()
    try:
        return declared.module in sys.modules or find_spec(declared.module) is not None
    except (ImportError, ValueError):
        return False


def import_operators(modules: Iterable[str]) -> None:
    """Imports modules that declare operators. Raises `InputError` where one cannot be."""
    for module in modules:
        try:
            import_module(module)
        except IMPORT_FAULTS as error:
            hint = "install what it needs, or fix the name" if isinstance(error, ImportError) else "fix the module"
            raise InputError(f"the operators of {module} cannot be imported: {_told(error)}", hint) from error


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
