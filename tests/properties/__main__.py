"""Any number of generated pairs, replayable from a seed, in parts:

python -m tests.properties --pairs 20000 --seed 1 --jobs 2
python -m tests.properties --pairs 10000000 --seed 1 --publications 56 --log run.jsonl
python -m tests.properties --seed 1 --from-round 17 --rounds 1
python -m tests.properties --report --log run.jsonl
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.properties.differential import PUBLICATIONS
from tests.properties.progress import Run, gaps_of, read_log, report, total
from tests.properties.running import PRODUCTS, ROUNDS_OF_A_BLOCK, run_rounds, show


def options_of_command() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.properties", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs that share a key")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--publications", type=int, default=PUBLICATIONS, help="of a round; more are faster")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--from-round", type=int, default=0, help="the first round")
    parser.add_argument("--rounds", type=int, help="as many rounds, whatever pairs they have")
    parser.add_argument("--product", choices=sorted(PRODUCTS), default="index")
    parser.add_argument("--log", type=Path, help="blocks done: read, not run again, added to")
    parser.add_argument("--report", action="store_true", help="only say what stands in the log")
    parser.add_argument("--show", type=int, default=3, help="failing pairs that are made small and printed")
    options = parser.parse_args()
    if options.report and not options.log:
        parser.error("--report needs --log FILE")
    if options.log and (options.from_round % ROUNDS_OF_A_BLOCK or (options.rounds or 0) % ROUNDS_OF_A_BLOCK):
        parser.error(f"a log holds blocks of {ROUNDS_OF_A_BLOCK} rounds: --from-round and --rounds must be multiples")
    return options


def main() -> int:
    options = options_of_command()
    if options.report:
        print(report(read_log(options.log)))
        return 0
    run, started = Run(options.seed, options.product, options.publications), time.monotonic()
    end = sys.maxsize if options.rounds is None else options.from_round + options.rounds
    pairs = options.pairs if options.rounds is None else sys.maxsize
    blocks, faults = run_rounds(run, pairs, options.jobs, range(options.from_round, end), options.log)
    if faults:
        print(show(faults, run, options.show))
    print(report(blocks, len(faults)))
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if faults or gaps_of(total(blocks)) else 0


if __name__ == "__main__":
    sys.exit(main())
