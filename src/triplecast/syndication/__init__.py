"""Notifications in the formats that others read: values to text, without a server."""

from triplecast.syndication.cloud_events import cloud_event
from triplecast.syndication.feed import FeedHead, atom_feed, json_feed
from triplecast.syndication.results_table import results_table
from triplecast.syndication.rows import notification_row
from triplecast.syndication.server_sent_events import event_frame
from triplecast.syndication.turtle import notifications_turtle

__all__ = [
    "FeedHead",
    "atom_feed",
    "cloud_event",
    "event_frame",
    "json_feed",
    "notification_row",
    "notifications_turtle",
    "results_table",
]
