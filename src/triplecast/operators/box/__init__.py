"""Operators in the box (docs/operators-in-the-box.md): they answer where the extra ``triplecast[operators]`` is
installed. Every process that reads queries imports this package, so its modules import their libraries when they are
called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType

LIBRARIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"geography": ("shapely", "pyproj", "scipy"), "pictures": ("PIL", "scipy"), "texts": ()}
)
"""What each module that declares operators needs. Those of which a library is missing declare none."""

for _module, _needed in LIBRARIES.items():
    if all(find_spec(library) is not None for library in _needed):
        import_module(f"{__name__}.{_module}")
