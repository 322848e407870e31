"""What to do about operators that fail or are unavailable, and which libraries those in the box need: all are in the
extra ``operators``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from triplecast.model.extras import how_to_install
from triplecast.model.operators import Operator
from triplecast.sandbox import RequestFailure

LIBRARIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"geography": ("shapely", "pyproj", "scipy"), "pictures": ("PIL", "scipy"), "texts": ()}
)
"""By module of the box that declares operators. One of which a library is missing declares none."""
CLASSES: Mapping[str, tuple[str, ...]] = MappingProxyType({"lookup": ("sqlalchemy",), "rules": ("clingo",)})
"""By module of the box with which operators of one's own are declared."""
INSTALL = how_to_install("operators")
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
"""How the worker reports a result that the declaration does not allow."""
_GIVE = "give what its arguments declare, and change its version"
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_EXTRA = frozenset(chain.from_iterable((*LIBRARIES.values(), *CLASSES.values())))


def failure_hint(failure: RequestFailure) -> str:
    """What to do about a call that failed in its worker."""
    if failure.kind == "error":
        library = missing_library(failure.detail)
        if library is not None:
            return install(library)
        if failure.detail.startswith(_WRONG):
            return _GIVE
    return _BY_KIND[failure.kind]


def import_hint(source: str, reason: str) -> str:
    """What to do about a worker that could not import `source`, the module or script that declares its operators."""
    library = missing_library(reason)
    if library is not None and library != source.partition(".")[0]:
        return install(library)
    return f"its module {source} has to be importable where it is called: {find_module(source)}"


def find_module(source: str) -> str:
    """How to make a module, or a script, known to those who call its operators."""
    name = Path(source).stem if source.endswith(".py") else source
    return (
        f"name it with --operators {name}, from its folder or with that in PYTHONPATH; in Python, `import {name}` "
        "before the engine is opened; or install its package"
    )


def missing_library(reason: str) -> str | None:
    """Return the top package of the first module that is missing by `reason`."""
    found = _NO_MODULE.search(reason)
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
        f"{module} cannot be found, which declares {', '.join(iris)}: {find_module(module)}; pending pairs are "
        "decided once it is there"
        for module, iris in sorted(lost.items())
    )


def _is_there(declared: Operator) -> bool:
    if declared.path is not None:
        return Path(declared.path).exists()
    try:
        return declared.module in sys.modules or find_spec(declared.module) is not None
    except (ImportError, ValueError):
        return False


def missing_libraries(module: str) -> tuple[str, ...]:
    """Return the libraries that a module of the box needs and that are not installed, without importing any."""
    return tuple(each for each in libraries_of(module) if find_spec(each) is None)


def libraries_of(module: str) -> tuple[str, ...]:
    return LIBRARIES[module] if module in LIBRARIES else CLASSES[module]


def describe_missing() -> str:
    """Say why operators of the box are not known here, and how to fix it; empty where all are."""
    lacking = {module: missing_libraries(module) for module in LIBRARIES}
    lines = [f"{module} of the box needs {', '.join(names)}" for module, names in lacking.items() if names]
    return f"{'; '.join(lines)}, not installed here: {INSTALL}" if lines else ""
