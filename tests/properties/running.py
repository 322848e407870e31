"""Rounds one after the other, in one process or several, and what is said of the pairs that differ."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import count
from multiprocessing import get_context

from tests.properties.differential import (
    PUBLICATIONS,
    SUBSCRIPTIONS,
    Fault,
    Tally,
    differs,
    run_round,
    show_rows,
)
from tests.properties.generate import make_round
from tests.properties.product import UNDECIDED, ByEvaluator, ByIndex, Product
from tests.properties.shrink import shrink
from triplecast.match import Matcher

ROUNDS_OF_A_BLOCK = 20

PRODUCTS = {"index": lambda: ByIndex(Matcher()), "evaluator": ByEvaluator}


def run_block(task: tuple[int, str, range]) -> tuple[Tally, list[Fault]]:
    """Some rounds of a seed through a product of its own; ends after the first round with faults."""
    seed, product_name, numbers = task
    product, tally = _product(product_name), Tally()
    for number in numbers:
        faults = run_round(make_round(seed, number, PUBLICATIONS, SUBSCRIPTIONS), seed, product, tally)
        if faults:
            return tally, faults
    return tally, []


@cache
def _product(name: str) -> Product:
    """One for the life of a process: its kernels and its sandbox start once."""
    return PRODUCTS[name]()


def run(seed: int, pairs: int, product: str = "index", jobs: int = 1) -> tuple[Tally, list[Fault]]:
    """Rounds 0, 1, … in blocks until `pairs` pairs have counted or a block has faults. The same for any `jobs`."""
    tally = Tally()
    for part, faults in _blocks(seed, product, jobs):
        tally.add(part)
        if sys.stderr.isatty():
            print(f"\r{tally.pairs:,} pairs, {tally.matched:,} match", end="", file=sys.stderr)
        if faults or tally.pairs >= pairs:
            return tally, faults
    raise AssertionError("blocks never end")


def _blocks(seed: int, product: str, jobs: int) -> Iterator[tuple[Tally, list[Fault]]]:
    tasks = ((seed, product, range(start, start + ROUNDS_OF_A_BLOCK)) for start in count(0, ROUNDS_OF_A_BLOCK))
    if jobs == 1:
        yield from map(run_block, tasks)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        while True:
            wave = [next(tasks) for _ in range(jobs * 2)]
            yield from pool.map(run_block, wave)


def report(fault: Fault, product: Product, product_name: str) -> str:
    """The fault as small as it gets, with both answers and the command that shows it again."""
    published, asked = fault.published, fault.asked
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
        f"{note}{outside}publication:\n{published.quads.decode()}subscription:\n{asked.text}\n"
        f"expected ({', '.join(expected.voices)}):\n{show_rows(expected.rows)}\n{quarrel}got:\n{show_rows(got)}\n"
        f"replay: python -m tests.properties --seed {fault.seed} --round {fault.round} --product {product_name}"
    )


def show(faults: list[Fault], product_name: str, most: int = 3) -> str:
    """The first `most` faults of different subscriptions, each made small; the others are counted."""
    distinct = list({fault.asked: fault for fault in faults}.values())
    shown = [report(fault, _product(product_name), product_name) for fault in distinct[:most]]
    undecided = sum(isinstance(fault.got, str) and fault.got.startswith(UNDECIDED) for fault in faults)
    counted = f"{len(faults)} pairs differ, {undecided} of them undecided, of {len(distinct)} subscriptions"
    return "\n\n".join([counted, *shown])
