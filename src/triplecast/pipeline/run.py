"""The run: an inbox and subscription files in, an outbox out, Spark between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from triplecast.errors import InputError
from triplecast.ingest.subscription_files import SubscriptionFault
from triplecast.model.publication import Reject
from triplecast.pipeline.report import Progress, Summary

Notice = Reject | SubscriptionFault | str


def run(
    subscriptions: Sequence[Path],
    inbox: Path,
    output: Path,
    once: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_notice: Callable[[Notice], None] = lambda notice: None,
    stop: threading.Event | None = None,
    dataset: bool = False,
    cores: int = 2,
) -> Summary:
    """Matches what arrives in `inbox` against `subscriptions` until `stop` is set, or, with `once`, until all is done.

    `output` holds journal, index, outbox and Spark's log. `on_progress` is called a few times a second and `on_notice` for
    each reject and each subscription that is refused, both on the calling thread. Raises InputError, FolderLocked,
    StorageFault or PipelineFailed.
    """
    raise InputError("the pipeline is being built", "wait")
