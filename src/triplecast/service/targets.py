"""Where a subscription's notifications are delivered to, over HTTP: for whoever has its ticket."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from triplecast.delivery.requests import TargetRequests, shown, shown_letter
from triplecast.delivery.target import LONGEST_DIGEST, SHORTEST_DIGEST, Destination, Target
from triplecast.engine import Subscribed
from triplecast.outbox import Cursor
from triplecast.registry.listing import LiveSubscription
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.state import ServiceState, State
from triplecast.service.subscriptions import Ticket, body_of, find_subscription, needed_ticket, read_body
from triplecast.service.tokens import CanSubscribe
