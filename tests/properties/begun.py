"""Imported where servers are forked: they begin with the modules and kernels loaded that each would load again."""

from __future__ import annotations

import triplecast.cli.serve
import triplecast.service.server  # noqa: F401
from triplecast import Engine

with Engine() as engine:
    engine.subscribe("SELECT ?o { <a:s> <a:p> ?o }", "all", notify="every")
    assert engine.publish(b"<a:s> <a:p> 1 .", "text/turtle", "a:g").matches
