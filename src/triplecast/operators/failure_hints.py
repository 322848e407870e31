"""What to do about operators that fail or cannot be asked, by what is told of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from triplecast.model.operators import Operator
from triplecast.operators.extra import CLASSES, INSTALL, LIBRARIES
from triplecast.sandbox import RequestFailure

ANSWER_BYTES = 4 << 20
"""Of the answers of one request."""
_BY_KIND = MappingProxyType(
    {
        "timeout": "declare more `seconds`, or see what it waits for",
        "memory": "declare more `memory`, or see what it holds",
        "crash": "call the function by itself, with this publication, to see what ends its process",
        "size": f"the answers of one request have {ANSWER_BYTES:,} bytes at most",
        "error": "fix the function, or let it raise Unanswerable for what it cannot say, and change its version",
    }
)
_WRONG = "WrongResult: "
"""How the child tells a result that the declaration does not allow."""
_GIVE = "give what its arguments declare, and change its version"
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_EXTRA = frozenset(chain.from_iterable((*LIBRARIES.values(), *CLASSES.values())))


def failure_hint(failure: RequestFailure) -> str:
    """Of a call that failed in its worker."""
    if failure.kind == "error":
        library = missing_library(failure.detail)
        if library is not None:
            return install(library)
        if failure.detail.startswith(_WRONG):
            return _GIVE
    return _BY_KIND[failure.kind]


def import_hint(source: str, told: str) -> str:
    """Of a worker that could not import `source`, the module or script that declares its operators."""
    library = missing_library(told)
    if library is not None and library != source.partition(".")[0]:
        return install(library)
    return f"its module {source} has to be importable where it is asked: {find_module(source)}"


def find_module(source: str) -> str:
    """How a module, or a script, is made known to those who ask its operators."""
    name = Path(source).stem if source.endswith(".py") else source
    return (
        f"name it with --operators {name}, from its folder or with that in PYTHONPATH; in Python, `import {name}` "
        "before the engine is opened; or install its package"
    )


def missing_library(told: str) -> str | None:
    """The top package of the first module that is told to be missing."""
    found = _NO_MODULE.search(told)
    return found.group(1).partition(".")[0] if found else None


def install(library: str) -> str:
    return INSTALL if library in _EXTRA else f"install {library} where operators are evaluated"


def missing_modules(operators: Iterable[Operator]) -> tuple[str, ...]:
    """Return what is wrong with operators whose module, or script, no worker of this process would find, and how to fix
    it: a line for each module. Nothing is imported for that but the packages around a module."""
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
