"""``python -m benchmarks.peers.clips_engine SECONDS FOLDER``: CLIPS as an engine, a rule for each subscription.

A publication's pairs are asserted as facts in one command, the rules run, the facts are retracted. A rule has its
rarest pair first, and no subject is joined on, which W's one subject allows: both help CLIPS. Rules are built for
SECONDS at most.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import clips

from benchmarks.peers.protocol import Greeting, give_up, resident_bytes, serve
from benchmarks.peers.workload import order_by_rarity, read_given


class Clips:
    def __init__(self, seconds: float, folder: Path) -> None:
        """Raises TimeoutError, which says how many rules there are then."""
        given = read_given(folder)
        rows = [sorted({(name, value) for name, value in row}) for row in given.publications.tolist()]
        self._facts = [" ".join(f"(p{name} o{value})" for name, value in row) for row in rows]
        self._rules = clips.Environment()
        self._fired: list[int] = []
        self._rules.define_function(self._fired.append, name="report")
        before, start = resident_bytes(os.getpid()), time.perf_counter()
        for number, star in enumerate(order_by_rarity(given.subscriptions).tolist()):
            patterns = " ".join(f"(p{name} o{value})" for name, value in star)
            self._rules.build(f"(defrule s{number} {patterns} => (report {number}))")
            if time.perf_counter() - start > seconds:
                raise TimeoutError(f"{number + 1:,} of {len(given.subscriptions):,} rules built after {seconds:.0f} s")
        seconds = time.perf_counter() - start
        told = f"CLIPS by clipspy {version('clipspy')}"
        self.greeting = Greeting(told, len(given.subscriptions), seconds, resident_bytes(os.getpid()) - before)

    def prepare(self, first: int, count: int) -> None:
        """Nothing: facts are asserted as text."""

    def match(self, first: int, count: int, way: str) -> tuple[list[int], list[int]]:
        publications: list[int] = []
        subscriptions: list[int] = []
        for publication in range(first, first + count):
            self._rules.eval(f"(assert {self._facts[publication]})")
            self._rules.run()
            self._rules.eval("(retract *)")
            publications += [publication] * len(self._fired)
            subscriptions += self._fired
            self._fired.clear()
        return publications, subscriptions


if __name__ == "__main__":
    try:
        engine = Clips(float(sys.argv[1]), Path(sys.argv[2]))
    except TimeoutError as reason:
        give_up(str(reason))
    else:
        serve(engine)
