"""Kernels are compiled once, ahead and in parallel, however many processes need them and however these end."""

from __future__ import annotations

import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import triplecast
from triplecast.cli import doctor
from triplecast.kernels import compiling

CALL = (
    "import numpy, sys; from triplecast.kernels.checksum import checksum;"
    "print(checksum(numpy.zeros(20, numpy.uint8)), 'numba' in sys.modules)"
)
PACKAGE = Path(triplecast.__file__).parent
SLEEPS = (sys.executable, "-c", "import time; time.sleep(600)")
FAILS = (sys.executable, "-c", "raise SystemExit(1)")
MARKS = (
    *(sys.executable, "-c"),
    "import os, pathlib, sys\n"
    "for unit in sys.argv[1:]: pathlib.Path(os.environ['TRIPLECAST_CACHE'], 'kernels', unit + '.compiled').touch()",
)

KERNEL = """
import sys
from numba.core import event
from triplecast.kernels import njit

class Listener(event.Listener):
    def on_start(self, _):
        print("compiles", flush=True)
    def on_end(self, _):
        pass

event.register("numba:compile", Listener())

@njit
def add(left, right):
    return left + right

print(add(1, 2))
"""


def in_folder(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TRIPLECAST_CACHE": str(folder), **more}


def run(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    monkeypatch.setattr(compiling, "CACHE_FOLDER", folder)
    monkeypatch.setattr(compiling, "_failed", False)
    return folder


def test_every_module_with_kernels_for_python_is_a_unit() -> None:
    sources = {path.stem: path.read_text("utf-8") for path in (PACKAGE / "kernels").glob("*.py")}
    units = {name for name, text in sources.items() if re.search(r"^def warm_up\(", text, re.MULTILINE)}
    assert units == {*compiling.FIRST, *compiling.LATER}
    assert len(units) == len(compiling.FIRST) + len(compiling.LATER)


def test_a_compile_is_reported_once_and_never_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_COMMAND", MARKS)
    lines: list[str] = []
    assert [finding.state for finding in doctor.check_kernels()] == ["limited"]
    for _ in range(2):
        compiling.compile_kernels(lines.append, units=("join", "scan"))
    assert [line.split(" ")[0] for line in lines] == ["compiling", "kernels"]
    assert sorted(path.name for path in cache.iterdir()) == ["join.compiled", "scan.compiled"]
    compiling.compile_kernels(lines.append, units=(*compiling.FIRST, *compiling.LATER))
    assert [finding.state for finding in doctor.check_kernels()] == ["ok"]


@pytest.mark.usefixtures("cache")
def test_who_is_stopped_leaves_at_once_with_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_COMMAND", SLEEPS)
    began = time.monotonic()
    compiling.compile_kernels(lambda line: None, lambda: time.monotonic() - began > 0.2)
    assert time.monotonic() - began < 60
    assert [each for each in compiling._compilers if each.poll() is None] == []
    assert not compiling.is_compiled(("join",))


@pytest.mark.usefixtures("cache")
def test_processes_that_fail_are_reported_and_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_COMMAND", FAILS)
    lines: list[str] = []
    for _ in range(2):
        compiling.compile_kernels(lines.append)
    assert len(lines) == 2
    assert "cannot be kept" in lines[1]


def test_a_first_call_reports_its_compile_and_other_copies_of_the_package_share_it(tmp_path: Path) -> None:
    """On stderr, also from Python; the copy has another path and other times."""
    units = "from triplecast.kernels import compiling; compiling.LATER = ('checksum',);"
    first = run(units + CALL, in_folder(tmp_path / "cache"))
    assert first.stderr.startswith("compiling kernels")
    copied = tmp_path / "copy" / "triplecast"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "samples"))
    for path in copied.rglob("*.py"):
        os.utime(path, (1, 1))
    copy = f"import sys; sys.path.insert(0, {str(copied.parent)!r}); import triplecast; print(triplecast.__file__);"
    second = run(copy + CALL, in_folder(tmp_path / "cache"))
    assert second.stderr == ""
    assert second.stdout.splitlines() == [str(copied / "__init__.py"), *first.stdout.splitlines()]


def test_a_terminal_sees_a_bar(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = "from triplecast.kernels.compiling import compile_kernels; compile_kernels(units=('checksum',))"
    with subprocess.Popen([sys.executable, "-c", command], env=in_folder(tmp_path), stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                seen += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    assert process.returncode == 0
    assert re.search(rb"\[#* +\] \d+ of \d+", seen)
    assert seen.rstrip().endswith(b" s")


def test_processes_that_start_at_once_compile_a_kernel_once(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text(KERNEL)
    environment = in_folder(tmp_path / "cache", PYTHONPATH=str(tmp_path))
    command = [sys.executable, "-c", "import adding"]
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [each.communicate(timeout=300)[0].split() for each in started]
    assert sum(lines.count("compiles") for lines in printed) == 1
    assert [lines[-1] for lines in printed] == ["3", "3", "3"]


def test_a_compile_that_is_killed_holds_nobody_up(tmp_path: Path) -> None:
    sleeps = KERNEL.replace('print("compiles", flush=True)', "import time; time.sleep(600)")
    (tmp_path / "adding.py").write_text(sleeps)
    environment = in_folder(tmp_path / "cache", PYTHONPATH=str(tmp_path))
    held = [sys.executable, "-c", "import adding"]
    with subprocess.Popen(held, env=environment) as process:
        while not [*(tmp_path / "cache").rglob("*.lock")] and process.poll() is None:
            time.sleep(0.02)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    (tmp_path / "adding.py").write_text(KERNEL)
    began = time.monotonic()
    assert run("import adding", environment).stdout.split() == ["compiles", "3"]
    assert time.monotonic() - began < 60


def test_damaged_machine_code_is_compiled_anew(tmp_path: Path) -> None:
    (tmp_path / "adding.py").write_text(KERNEL)
    environment = in_folder(tmp_path / "cache", PYTHONPATH=str(tmp_path))
    assert run("import adding", environment).stdout.split() == ["compiles", "3"]
    for path in (tmp_path / "cache").rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:100])
    assert run("import adding", environment).stdout.split() == ["compiles", "3"]
    assert run("import adding", environment).stdout.split() == ["3"]


def test_a_full_folder_makes_a_slow_start_and_no_error(tmp_path: Path) -> None:
    def write_little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    answer = subprocess.run(
        [sys.executable, "-c", CALL],
        env=in_folder(tmp_path),
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=write_little,
    )
    assert answer.stdout == run(CALL, dict(os.environ)).stdout
    assert "cannot be kept" in answer.stderr
    assert [*tmp_path.rglob("*.nbc")] == []
