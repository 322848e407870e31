"""What to do about operators that fail or cannot be asked, by what is told of them."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from types import MappingProxyType

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


def mend_failure(failure: RequestFailure) -> str:
    """Of a call that failed in its worker."""
    if failure.kind == "error":
        library = missing_library(failure.detail)
        if library is not None:
            return install(library)
        if failure.detail.startswith(_WRONG):
            return _GIVE
    return _BY_KIND[failure.kind]


def mend_import(source: str, told: str) -> str:
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
