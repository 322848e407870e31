"""Targets of a subscription as requests and answers of the service."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from triplecast.delivery.requests import TargetRequests, shown
from triplecast.delivery.target import LONGEST_DIGEST, SHORTEST_DIGEST, Destination, Target
from triplecast.egress.url import LONGEST
from triplecast.service.bodies import Strict
from triplecast.service.problems import Problem


class NewTarget(Strict):
    """Where notifications are delivered to: one of both."""

    webhook: str | None = Field(None, max_length=LONGEST, description="a public URL, as Standard Webhooks")
    secret: str | None = Field(None, max_length=100, description="of a webhook: whsec_ and base64; else one is made")
    email: str | None = Field(None, max_length=254)
    every: float | None = Field(None, ge=SHORTEST_DIGEST, le=LONGEST_DIGEST, description="of mail: least seconds")


class TargetRow(BaseModel):
    target: str
    subscription: str
    kind: str
    to: str | list[str]
    delivered: int
    delivered_upto: int
    attempts: int
    disabled: str | None
    last_error: str | None
    created_at: str
    next_at: str | None
    last_at: str | None
    failing_since: str | None
    expires: str | None
    secret: str | None = None
    """Shown once."""


def needed_targets(requests: TargetRequests | None) -> TargetRequests:
    """Raises `Problem` 409 where the service delivers nothing."""
    if requests is None:
        raise Problem(409, "this service delivers nothing", "its engine is in memory", "serve a folder")
    return requests


def destination_of(requests: TargetRequests, wanted: NewTarget) -> Destination:
    """Raises `InputError`. A command is for the command line alone: it runs as the service's user."""
    return requests.read(wanted.model_dump(exclude_none=True), administrator=False)


def row_of(target: Target, with_secret: bool = False) -> TargetRow:
    row: dict[str, Any] = shown(target)
    return TargetRow.model_validate(row | ({"secret": target.secret or None} if with_secret else {}))
