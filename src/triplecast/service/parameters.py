"""Parameters that a route does not have are refused by name: a misspelt one would change what is asked. So are those
that are read once and sent twice: of whoever checks a request and whoever answers it, each may take another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection

from triplecast.service.problems import Problem
from triplecast.service.state import CALLBACKS
from triplecast.terms.nearness import nearest_names

_OPEN = ("/sparql", "/documents/stream", "/subscriptions/{id:path}/stream", f"{CALLBACKS}{{token}}")
"""Routes where others may add what they like: clients of SPARQL send `format` and `output`, hubs what their version of
WebSub has, and a Durable Stream is read with any."""


async def check_parameters(connection: HTTPConnection) -> None:
    """A dependency of every route: what OpenAPI says of it is what it takes. Raises `Problem`."""
    route, method = connection.scope["route"], connection.scope.get("method")
    if connection.query_params and method is not None:
        described = connection.app.openapi()["paths"][route.path_format][method.lower()].get("parameters", ())
        known = {each["name"]: _is_list(each["schema"]) for each in described if each["in"] == "query"}
        refuse_wrong(connection, known, route.path in _OPEN)


def _is_list(schema: Mapping[str, Any]) -> bool:
    return any(each.get("type") == "array" for each in (schema, *schema.get("anyOf", ())))


def refuse_wrong(connection: HTTPConnection, known: Mapping[str, bool], is_open: bool = False) -> None:
    """Raises `Problem` 422 for a parameter that is not known, unless others may be there, and 400 for one sent again
    that is no list; `known`: the names, and which are lists."""
    for name in connection.query_params:
        shown = name[:100].encode("utf-8", "backslashreplace").decode()
        if name not in known and not is_open:
            meant = nearest_names(name, sorted(known), 1)
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            mend = f"did you mean {meant[0]}?" if meant else f"leave it out; {takes}"
            raise Problem(422, "the request is not as described", f"the parameter {shown} is unknown here", mend)
        if known.get(name) is False and len(connection.query_params.getlist(name)) > 1:
            raise Problem(
                400, "the request is not as described", f"the parameter {shown} is sent twice", "send it once"
            )
