"""Any number of generated pairs, replayable from a seed:

python -m tests.properties --pairs 20000 --seed 1 --jobs 2
python -m tests.properties --seed 1 --round 17
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
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
from tests.properties.product import ByEvaluator, ByIndex, Product
from tests.properties.shrink import shrink
from triplecast.match import Matcher

ROUNDS_OF_A_BLOCK = 20

_PRODUCTS = {"index": lambda: ByIndex(Matcher()), "evaluator": ByEvaluator}


def run_block(task: tuple[int, str, range]) -> tuple[Tally, list[Fault]]:
    """Some rounds of a seed through a product of its own; ends after the first round with faults."""
    seed, product_name, numbers = task
    product, tally = _product(product_name), Tally()
    for number in numbers:
        faults = run_round(make_round(seed, number, PUBLICATIONS, SUBSCRIPTIONS), seed, product, tally)
        if faults:
            return tally, faults
    return tally, []


_kept: dict[str, Product] = {}
"""One product for the life of a process: its kernels and its sandbox start once."""


def _product(name: str) -> Product:
    if name not in _kept:
        _kept[name] = _PRODUCTS[name]()
    return _kept[name]


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
    with get_context("spawn").Pool(jobs) as pool:
        while True:
            wave = [next(tasks) for _ in range(jobs * 4)]
            yield from pool.imap(run_block, wave)


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
    return "\n\n".join([f"{len(faults)} pairs differ, of {len(distinct)} subscriptions", *shown])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs that share a key")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--round", type=int, help="only this round of the seed")
    parser.add_argument("--product", choices=sorted(_PRODUCTS), default="index")
    parser.add_argument("--show", type=int, default=3, help="failing pairs that are made small and printed")
    options = parser.parse_args()
    started = time.monotonic()
    if options.round is not None:
        tally, faults = run_block((options.seed, options.product, range(options.round, options.round + 1)))
    else:
        tally, faults = run(options.seed, options.pairs, options.product, options.jobs)
    print(f"seed {options.seed}, {time.monotonic() - started:.0f} s")
    print(tally)
    if faults:
        print(show(faults, options.product, options.show))
        return 1
    gaps = tally.gaps() if options.round is None else []
    print("\n".join(["The census misses:", *gaps] if gaps else ["no difference"]))
    return 1 if gaps else 0


if __name__ == "__main__":
    sys.exit(main())
