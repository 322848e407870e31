"""Plants each fault in a copy of the sources and runs the 20,000 pairs of `make test` over it: all must be caught.

python -m tests.mutants [--only NAME]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import DEFAULT_SEED
from tests.mutants.catalogue import MUTANTS, Mutant
from tests.properties.test_differential import PAIRS

PROJECT = Path(__file__).resolve().parents[2]
DIFFER = "pairs differ"
"""What the differential run says when it found a difference."""


def plant(mutant: Mutant, sources: Path) -> None:
    """Changes a copy of src/triplecast in place."""
    path = sources / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.name}: its text occurs {text.count(mutant.old)} times in {mutant.file}")
    path.write_text(text.replace(mutant.old, mutant.new))


def run_pairs(folder: Path) -> subprocess.CompletedProcess[str]:
    """The differential run over the sources in `folder`/src, with a kernel cache that only these runs share."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(PROJECT)]),
        "TRIPLECAST_CACHE": str(folder.parent / "cache"),
    }
    command = [sys.executable, "-m", "tests.properties", "--pairs", str(PAIRS), "--seed", str(DEFAULT_SEED)]
    return subprocess.run(
        [*command, "--show", "0"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )


def try_mutant(mutant: Mutant | None, scratch: Path) -> str:
    """``caught``, ``crashed`` or ``survived``; None is the unchanged source.

    Every tree stands at the same path with the same file times, so that unchanged kernels are compiled once.
    """
    folder = scratch / "tree"
    shutil.copytree(
        PROJECT / "src" / "triplecast", folder / "src" / "triplecast", ignore=shutil.ignore_patterns("__pycache__")
    )
    if mutant:
        plant(mutant, folder / "src" / "triplecast")
    result = run_pairs(folder)
    shutil.rmtree(folder)
    if result.returncode == 0:
        return "survived"
    if DIFFER in result.stdout:
        return "caught"
    if not mutant:
        print(result.stdout[-2_000:], result.stderr[-4_000:], sep="\n")
    return f"crashed: {(result.stderr.strip() or result.stdout.strip()).splitlines()[-1][:100]}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="the name of one mutant")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in (None, mutant.name)]
    if not chosen:
        raise SystemExit(f"no mutant {options.only!r}; there are {', '.join(mutant.name for mutant in MUTANTS)}")
    with tempfile.TemporaryDirectory(prefix="triplecast-mutants-") as scratch:
        if try_mutant(None, Path(scratch)) != "survived":
            raise SystemExit("the unchanged sources do not pass; mend that first")
        survivors = []
        for mutant in chosen:
            started = time.monotonic()
            outcome = try_mutant(mutant, Path(scratch))
            survivors += [mutant.name] if outcome == "survived" else []
            print(f"{mutant.name:<42} {outcome:<12} {time.monotonic() - started:4.0f} s", flush=True)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
