"""Requests that leave this machine, to addresses that other people named: the only way out for webhooks and sources."""

from triplecast.egress.addresses import is_refused
from triplecast.egress.egress import Egress, EgressRules, HttpAnswer, Send
from triplecast.egress.url import RequestTarget, read_url

__all__ = ["Egress", "EgressRules", "HttpAnswer", "RequestTarget", "Send", "is_refused", "read_url"]
