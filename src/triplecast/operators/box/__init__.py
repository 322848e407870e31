"""Operators in the box (docs/built-in-operators.md): they answer where the extra ``operators`` is
installed. Every process that reads queries imports this package, so its modules import their libraries when they are
called."""

from __future__ import annotations

from importlib import import_module

from triplecast.operators.failure_hints import LIBRARIES, missing_libraries

for _module in LIBRARIES:
    if not missing_libraries(_module):
        import_module(f"{__name__}.{_module}")
