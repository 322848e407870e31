"""Which libraries the operators in the box need, all of them in the extra ``triplecast[operators]``; asked without
importing one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

LIBRARIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"geography": ("shapely", "pyproj", "scipy"), "pictures": ("PIL", "scipy"), "texts": ()}
)
"""By module of the box that declares operators. One of which a library is missing declares none."""
CLASSES: Mapping[str, tuple[str, ...]] = MappingProxyType({"lookup": ("sqlalchemy",), "rules": ("clingo",)})
"""By module of the box with which operators of one's own are declared."""
INSTALL = "pip install 'triplecast[operators]'"


def missing_libraries(module: str) -> tuple[str, ...]:
    """Those that a module of the box needs and that are not installed."""
    return tuple(each for each in libraries_of(module) if find_spec(each) is None)


def libraries_of(module: str) -> tuple[str, ...]:
    return LIBRARIES[module] if module in LIBRARIES else CLASSES[module]


def describe_missing() -> str:
    """Why operators of the box are not known here, and how to fix it; empty where all of them are."""
    lacking = {module: missing_libraries(module) for module in LIBRARIES}
    told = [f"{module} of the box needs {', '.join(names)}" for module, names in lacking.items() if names]
    return f"{'; '.join(told)}, not installed here: {INSTALL}" if told else ""
