"""Requests that leave this machine, to addresses that other people named: the only way out for webhooks and sources."""

from triplecast.egress.addresses import is_refused
from triplecast.egress.egress import Answer, Egress, EgressRules, Send
from triplecast.egress.url import Target, read_url

__all__ = ["Answer", "Egress", "EgressRules", "Send", "Target", "is_refused", "read_url"]
