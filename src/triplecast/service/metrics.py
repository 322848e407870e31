"""The figures that an operator watches: how far behind, how much, how many refused."""

from __future__ import annotations

from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from triplecast.delivery.deliveries import Deliveries
from triplecast.engine import Engine, Receipt

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_CLASSES = ("narrow", "predicate", "broad", "repository", "refused")


class Metrics:
    """Of one service. `look` reads what the engine knows, which Prometheus asks for now and then."""

    def __init__(self, engine: Engine, deliveries: Deliveries | None) -> None:
        self._engine = engine
        self._deliveries = deliveries
        self.registry = registry = CollectorRegistry()
        names = ("method", "route", "status")
        self.requests = Counter("triplecast_requests", "requests answered", names, registry=registry)
        self.seconds = Histogram(
            "triplecast_request_seconds", "until the answer began", ("route",), buckets=_SECONDS, registry=registry
        )
        self.refused = Counter("triplecast_refused", "requests told to come again", registry=registry)
        self.matched = Counter("triplecast_matches", "matches recorded by requests", registry=registry)
        self.rejected = Counter("triplecast_rejects", "documents rejected", registry=registry)
        self._position = Gauge("triplecast_position", "of the journal's last record", registry=registry)
        self._lag = Gauge("triplecast_lag_positions", "positions that are not settled", registry=registry)
        self._lag_seconds = Gauge("triplecast_lag_seconds", "age of the oldest unsettled position", registry=registry)
        self._sequence = Gauge("triplecast_sequence", "of the last notification", registry=registry)
        self._undecided = Gauge("triplecast_undecided", "pairs decided by nobody since the start", registry=registry)
        self._undelivered = Gauge(
            "triplecast_delivery_lag_notifications", "that the slowest enabled target has yet to get", registry=registry
        )
        self._undelivered_seconds = Gauge(
            "triplecast_delivery_lag_seconds", "age of the oldest one that is being delivered", registry=registry
        )
        self._targets = Gauge("triplecast_targets", "of deliveries", ("state",), registry=registry)
        self._live = Gauge("triplecast_subscriptions", "live ones by class", ("kind",), registry=registry)

    def note(self, receipt: Receipt) -> None:
        """Count what a document brought."""
        self.matched.inc(len(receipt.matches))
        self.rejected.inc(len(receipt.rejects))

    def look(self) -> None:
        """Raises what `Engine.statistics` raises."""
        progress, found = self._engine.serving.progress(), self._engine.statistics()
        self._position.set(progress.position)
        self._lag.set(0 if progress.waiting is None else progress.position - progress.waiting + 1)
        self._lag_seconds.set(_age(progress.since))
        self._sequence.set(progress.sequence)
        self._undecided.set(found.work.undecided)
        for kind in _CLASSES:
            self._live.labels(kind).set(getattr(found.live, kind))
        if self._deliveries is not None:
            lag = self._deliveries.lag()
            self._undelivered.set(lag.notifications)
            self._undelivered_seconds.set(_age(lag.since))
            self._targets.labels("enabled").set(lag.enabled)
            self._targets.labels("disabled").set(lag.targets - lag.enabled)


def _age(since: str | None) -> float:
    return 0 if since is None else max((datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds(), 0)
