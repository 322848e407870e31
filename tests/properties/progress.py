"""A long run in parts: each block of rounds leaves a line in a file, and what stands there is not run again.

A line is a JSON object: which rounds of which seed, the seconds they took, the commit, the tally. Blocks with faults
leave none, so the next run meets them again.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tests.properties.differential import PUBLICATIONS, Tally

PROJECT = Path(__file__).resolve().parents[2]
ENOUGH_FOR_A_CENSUS = 20_000
"""Pairs; fewer need not have every construct and literal class on both sides."""


@dataclass(frozen=True, slots=True)
class Run:
    """What makes rounds replay: two runs that are equal give the same pairs."""

    seed: int
    product: str = "index"
    publications: int = PUBLICATIONS
    """Of one round."""

    @property
    def options(self) -> str:
        """Of ``python -m tests.properties``."""
        return f"--seed {self.seed} --product {self.product} --publications {self.publications}"


@dataclass(frozen=True, slots=True)
class Block:
    """Rounds `start` to `stop` (exclusive) without a fault."""

    run: Run
    start: int
    stop: int
    seconds: float
    commit: str
    tally: Tally


def read_log(path: Path) -> list[Block]:
    """The blocks in the order written, none when there is no file. Raises ValueError with the line that is none."""
    blocks = []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), start=1):
        try:
            made = json.loads(line)
            made |= {"run": Run(**made["run"]), "tally": Tally(**made["tally"])}
            blocks.append(Block(**made))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: expected a block of rounds ({error}); delete the line") from error
    return blocks


def append_to_log(path: Path, block: Block) -> None:
    with path.open("a") as file:
        file.write(json.dumps(asdict(block)) + "\n")


def total(blocks: Iterable[Block]) -> Tally:
    tally = Tally()
    for block in blocks:
        tally.add(block.tally)
    return tally


def gaps_of(tally: Tally) -> list[str]:
    """What a complete census would have."""
    return tally.gaps() if tally.pairs >= ENOUGH_FOR_A_CENSUS else []


def report(blocks: Sequence[Block], differences: int = 0) -> str:
    """One table of all blocks, above it the runs with their rounds, time and commits, below it the verdict."""
    lines, by_run = [], {}
    for block in blocks:
        by_run.setdefault(block.run, []).append(block)
    for run, parts in by_run.items():
        rounds, seconds = sum(part.stop - part.start for part in parts), sum(part.seconds for part in parts)
        commits = ", ".join(dict.fromkeys(part.commit for part in parts))
        pairs = total(parts).pairs
        lines.append(f"{run.options}: {rounds} rounds, {pairs} pairs, {seconds:.0f} s of one process, commit {commits}")
    tally = total(blocks)
    gaps = [f"the census misses {gap}" for gap in gaps_of(tally)]
    verdict = f"{differences} pairs differ" if differences else "no difference"
    return "\n".join([*lines, str(tally), *gaps, verdict])


@cache
def commit() -> str:
    """The commit of the sources, with a plus when they have been changed since; ``unknown`` outside a repository."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=False)

    head = git("rev-parse", "--short", "HEAD")
    if head.returncode:
        return "unknown"
    return head.stdout.strip() + ("+" if git("status", "--porcelain", "--", "src", "tests").stdout else "")
