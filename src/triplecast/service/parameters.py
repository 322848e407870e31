"""Parameters that a route does not have are refused by name: a misspelt one would change what is asked. So are those
that are read once and sent twice: of whoever checks a request and whoever answers it, each may take another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection

from triplecast.service.problems import Problem
from triplecast.service.state import CALLBACKS
from triplecast.terms.nearness import nearest_names

_OPEN = ("/sparql", "/documents/stream", "/subscriptions/{id:path}/stream", f"{CALLBACKS}{{token}}", "/subscribe")
"""Routes where others may add what they like: clients of SPARQL send `format` and `output`, hubs what their version of
WebSub has, and a Durable Stream is read with any."""


async def check_parameters(connection: HTTPConnection) -> None:
    """A dependency of every route: what OpenAPI says of it is what it takes. Raises `Problem` 422."""
    route = connection.scope["route"]
    if connection.query_params and route.path not in _OPEN:
        described = connection.app.openapi()["paths"][route.path_format][connection.scope["method"].lower()]
        takes = [each for each in described.get("parameters", ()) if each["in"] == "query"]
        refuse_unknown(connection, {each["name"]: _is_list(each) for each in takes})


def _is_list(parameter: Mapping[str, Any]) -> bool:
    schema = parameter["schema"]
    return any(each.get("type") == "array" for each in (schema, *schema.get("anyOf", ())))


def refuse_unknown(connection: HTTPConnection, known: Mapping[str, bool]) -> None:
    """Raises `Problem` 422 for a parameter that is none of these, and for one sent again that is no list; `known`: the
    names, and which are lists."""
    names = [name for name, _ in connection.query_params.multi_items()]
    for name in names:
        if known.get(name) is False and names.count(name) > 1:
            raise Problem(422, "the request is not as described", f"the parameter {name} is sent twice", "send it once")
        if name not in known:
            meant = nearest_names(name, sorted(known), 1)
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            shown = name[:100].encode("utf-8", "backslashreplace").decode()
            mend = f"did you mean {meant[0]}?" if meant else f"leave it out; {takes}"
            raise Problem(422, "the request is not as described", f"the parameter {shown} is unknown here", mend)
