"""Plants each fault in a copy of the sources and runs the 20,000 pairs of `make test` over it, and as many of the next
seeds where these do not catch it, or the tests that the fault names: all must be caught.

python -m tests.mutants [--only NAME …]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import DEFAULT_SEED
from tests.mutants.catalogue import MUTANTS, Mutant
from tests.properties.test_differential import PAIRS

PROJECT = Path(__file__).resolve().parents[2]
DIFFER = re.compile(r"^([0-9]+) pairs differ, ([0-9]+) of them undecided", re.MULTILINE)
"""What the differential run says when it found a difference."""
SEEDS = 3
"""Tried before a mutant has survived; a rare fault may need more than one."""
CAUGHT, SURVIVED, BROKEN = "caught", "survived", "broken"
"""`BROKEN`: the mutant failed to compile, crashed, or only left pairs undecided, so nothing is known of the test."""


def plant(mutant: Mutant, sources: Path) -> None:
    """Changes a copy of src/triplecast in place."""
    path = sources / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: its text occurs {text.count(mutant.old)} times in {mutant.file}")
    path.write_text(text.replace(mutant.old, mutant.new))


def run_pairs(folder: Path, seed: int) -> subprocess.CompletedProcess[str]:
    """The differential run over the sources in `folder`/src, with a kernel cache that only these runs share."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(PROJECT)]),
        "TRIPLECAST_CACHE": str(folder.parent / "cache"),
    }
    command = [sys.executable, "-m", "tests.properties", "--pairs", str(PAIRS), "--seed", str(seed)]
    return subprocess.run(
        [*command, "--show", "0"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )


def run_tests(folder: Path, tests: Sequence[str]) -> str:
    """Whether some of the unit tests fail over the sources in `folder`/src."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(PROJECT)])}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    result = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=1_200, check=False
    )
    outcomes = {0: SURVIVED, 1: CAUGHT}
    return outcomes.get(result.returncode, f"{BROKEN}: exit code {result.returncode}")


def judge(result: subprocess.CompletedProcess[str]) -> str:
    """`CAUGHT` only where the product gave an answer, and the oracles another one."""
    if result.returncode == 0:
        return SURVIVED
    differ = DIFFER.search(result.stdout)
    if differ and int(differ[1]) > int(differ[2]):
        return CAUGHT
    if differ:
        return f"{BROKEN}: {differ[0]}"
    said = (result.stderr.strip() or result.stdout.strip() or "not a word").splitlines()[-1][:100]
    return f"{BROKEN}: exit code {result.returncode}, {said}"


def try_mutant(mutant: Mutant | None, scratch: Path) -> str:
    """What the differential run makes of the mutant; None is the unchanged source.

    Every tree stands at the same path with the same file times, so that unchanged kernels are compiled once.
    """
    folder = scratch / "tree"
    shutil.copytree(
        PROJECT / "src" / "triplecast", folder / "src" / "triplecast", ignore=shutil.ignore_patterns("__pycache__")
    )
    if mutant:
        plant(mutant, folder / "src" / "triplecast")
        if mutant.tests:
            outcome = run_tests(folder, mutant.tests)
            shutil.rmtree(folder)
            return outcome
    for seed in range(DEFAULT_SEED, DEFAULT_SEED + (SEEDS if mutant else 1)):
        result = run_pairs(folder, seed)
        if result.returncode:
            break
    shutil.rmtree(folder)
    if not mutant and result.returncode:
        print(result.stdout[-2_000:], result.stderr[-4_000:], sep="\n")
    return judge(result)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these mutants")
    options = parser.parse_args()
    names = [mutant.name for mutant in MUTANTS]
    if unknown := set(options.only or ()) - set(names):
        raise SystemExit(f"no mutant {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    chosen = [mutant for mutant in MUTANTS if mutant.name in (options.only or names)]
    with tempfile.TemporaryDirectory(prefix="triplecast-mutants-") as scratch:
        if try_mutant(None, Path(scratch)) != SURVIVED:
            raise SystemExit("the unchanged sources do not pass; fix that first")
        outcomes = []
        for mutant in chosen:
            started = time.monotonic()
            outcomes.append(try_mutant(mutant, Path(scratch)))
            print(f"{mutant.name:<42} {outcomes[-1]:<12} {time.monotonic() - started:4.0f} s", flush=True)
    caught, survived = outcomes.count(CAUGHT), outcomes.count(SURVIVED)
    print(f"{caught} of {len(chosen)} mutants caught, {survived} survived, {len(chosen) - caught - survived} broken")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
