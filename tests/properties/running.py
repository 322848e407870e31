"""Rounds one after the other, in one process or several, and what is said of the pairs that differ."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path

from tests.properties.differential import SUBSCRIPTIONS, Fault, Tally, differs, is_undecided, run_round, show_rows
from tests.properties.generate import Published, make_round
from tests.properties.product import ByEvaluator, ByIndex, Product
from tests.properties.progress import Block, Run, append_to_log, commit, read_log
from tests.properties.shrink import shrink
from tests.reference.terms import write_quads
from triplecast.match import Matcher

ROUNDS_OF_A_BLOCK = 20

PRODUCTS = {"index": lambda: ByIndex(Matcher()), "evaluator": ByEvaluator}


def run_block(task: tuple[Run, range]) -> tuple[Block, list[Fault]]:
    """Some rounds of a run through a product of its own; ends after the first round with faults."""
    run, numbers = task
    product, tally, started = _product(run.product), Tally(), time.monotonic()
    faults: list[Fault] = []
    for number in numbers:
        faults = run_round(make_round(run.seed, number, run.publications, SUBSCRIPTIONS), run.seed, product, tally)
        if faults:
            break
    return Block(run, numbers.start, numbers.stop, time.monotonic() - started, commit(), tally), faults


@cache
def _product(name: str) -> Product:
    """One for the life of a process: its kernels and its sandbox start once."""
    return PRODUCTS[name]()


def run_rounds(
    run: Run, pairs: int, jobs: int = 1, numbers: range | None = None, log: Path | None = None
) -> tuple[list[Block], list[Fault]]:
    """Rounds in blocks until `pairs` pairs have counted, `numbers` is at its end, or a block has faults.

    The pairs are the same for any `jobs`. Blocks that stand in `log` count and are not run again; the others are added.
    """
    blocks = [block for block in read_log(log) if block.run == run] if log else []
    done, counted = {block.start for block in blocks}, sum(block.tally.pairs for block in blocks)
    if counted >= pairs:
        return blocks, []
    for block, faults in _blocks(run, jobs, numbers, done):
        blocks.append(block)
        counted += block.tally.pairs
        if log and not faults:
            append_to_log(log, block)
        if sys.stderr.isatty():
            print(f"\r{counted:,} pairs, round {block.stop}", end="", file=sys.stderr)
        if faults or counted >= pairs:
            return blocks, faults
    return blocks, []


def _blocks(run: Run, jobs: int, numbers: range | None, done: set[int]) -> Iterator[tuple[Block, list[Fault]]]:
    starts = count(0, ROUNDS_OF_A_BLOCK) if numbers is None else numbers[::ROUNDS_OF_A_BLOCK]
    end = numbers.stop if numbers else sys.maxsize
    tasks = ((run, range(start, min(start + ROUNDS_OF_A_BLOCK, end))) for start in starts if start not in done)
    if jobs == 1:
        yield from map(run_block, tasks)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        while wave := list(islice(tasks, jobs * 2)):
            yield from pool.map(run_block, wave)


def describe(fault: Fault, run: Run) -> str:
    """The fault as small as it gets, with both answers and the command that shows it again."""
    published, asked, product = fault.published, fault.asked, _product(run.product)
    answers = differs(product, published, asked)
    note = ""
    if answers is None:
        answers = (fault.expected, fault.got)
        note = "Alone the pair agrees: the fault needs the rest of its round.\n"
    else:
        published, asked = shrink(published, asked, lambda p, a: differs(product, p, a) is not None)
        answers = differs(product, published, asked) or answers
    expected, got = answers
    quarrel = "" if expected.quarrel is None else f"pyoxigraph says otherwise:\n{show_rows(expected.quarrel)}\n"
    outside = "" if fault.valid else "The subscription did not stand in the journal at that position.\n"
    return (
        f"{note}{outside}{_taxonomy(published)}publication:\n{published.quads.decode()}"
        f"subscription:\n{asked.text}\n"
        f"expected ({', '.join(expected.voices)}):\n{show_rows(expected.rows)}\n{quarrel}got:\n{show_rows(got)}\n"
        f"replay: python -m tests.properties {run.options} --from-round {fault.round} --rounds 1"
    )


def _taxonomy(published: Published) -> str:
    known = published.known
    lines = write_quads(((None, known.triples),)).decode()
    return f"taxonomy{' with skos:broader' if known.broader else ''}:\n{lines}" if lines else ""


def show(faults: list[Fault], run: Run, most: int = 3) -> str:
    """The first `most` faults of different subscriptions, each made small; the others are counted."""
    distinct = list({fault.asked: fault for fault in faults}.values())
    shown = [describe(fault, run) for fault in distinct[:most]]
    undecided = sum(is_undecided(fault.got) for fault in faults)
    counted = f"{len(faults)} pairs differ, {undecided} of them undecided, of {len(distinct)} subscriptions"
    return "\n\n".join([counted, *shown])
