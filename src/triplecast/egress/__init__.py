"""Requests that leave this machine, to addresses that other people named: the only way out for webhooks and sources."""

from triplecast.egress.addresses import is_refused
from triplecast.egress.dates import read_date, read_retry_after
from triplecast.egress.egress import AGENT, Egress, EgressRules, HttpAnswer, Send
from triplecast.egress.url import RequestTarget, read_url

__all__ = [
    "AGENT",
    "Egress",
    "EgressRules",
    "HttpAnswer",
    "RequestTarget",
    "Send",
    "is_refused",
    "read_date",
    "read_retry_after",
    "read_url",
]
