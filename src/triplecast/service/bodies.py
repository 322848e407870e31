"""Bodies in JSON that routes read themselves: as they are described, and as models."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError

from triplecast.service.faults import describe_faults
from triplecast.service.problems import Problem

_Model = TypeVar("_Model", bound=BaseModel)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def body_of(model: type[BaseModel], *texts: str) -> dict[str, Any]:
    """The description of a body that a route reads itself."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    content = {"application/json": {"schema": schema}, **{each: {"schema": {"type": "string"}} for each in texts}}
    return {"requestBody": {"required": True, "content": content}}


def read_body(model: type[_Model], request: Request, data: bytes, texts: tuple[str, ...]) -> _Model:
    """The body as a model; of one of the media types `texts`, its one field ``text``. Raises `Problem`."""
    media_type = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    try:
        if media_type in texts:
            return model.model_validate({"text": data.decode()})
        if media_type != "application/json":
            mend = f"send one of {', '.join(('application/json', *texts))}"
            raise Problem(415, "this Content-Type is not read", media_type[:200], mend)
        return model.model_validate_json(data)
    except UnicodeDecodeError as error:
        raise Problem(400, "the body is not UTF-8", str(error), "send UTF-8") from None
    except ValidationError as error:
        raise Problem(422, "the body is not as described", *describe_faults(error.errors())) from None
