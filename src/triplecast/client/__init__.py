"""A service's client: the methods of `Engine` over HTTP. It loads neither numba nor Spark; it needs ``httpx``."""

from triplecast.client.answers import RemoteNotification, RemoteReceipt, RemoteSubscription
from triplecast.client.async_client import AsyncClient
from triplecast.client.client import Client

__all__ = ["AsyncClient", "Client", "RemoteNotification", "RemoteReceipt", "RemoteSubscription"]
