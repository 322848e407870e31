"""Any number of generated pairs, replayable from a seed:

python -m tests.properties --pairs 20000 --seed 1 --jobs 2
python -m tests.properties --seed 1 --round 17
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.properties.running import PRODUCTS, run, run_block, show


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs that share a key")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--round", type=int, help="only this round of the seed")
    parser.add_argument("--product", choices=sorted(PRODUCTS), default="index")
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
