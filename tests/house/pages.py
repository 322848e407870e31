"""The Markdown that people read: its prose, its fenced blocks, and a shell that replays its commands.

A block whose first line is ``# name.ext`` is a file of that name. A console block holds commands (``$ …``), each
followed by what it prints; ``…`` stands for any text, alone on a line for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((*ROOT.glob("[ARC]*.md"), *(ROOT / "docs").rglob("*.md")))
"""What is counted together."""
BESIDE = sorted(
    (ROOT / "examples" / "README.md", *ROOT.glob("benchmarks/*.md"), *ROOT.glob("experiments/**/README.md"))
)
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.M | re.S)


class Block(NamedTuple):
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The name in its first line."""
        named = re.match(r"# ([\w./-]+\.\w+)\n", self.text)
        return named[1] if named else None


def read_page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def blocks_of(text: str) -> list[Block]:
    return [Block(*found) for found in _FENCE.findall(text)]


def prose_of(text: str) -> list[tuple[int, str]]:
    """The lines outside fences, tables and indented code, with their numbers from 1."""
    blank = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    return [
        (number, line)
        for number, line in enumerate(blank.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("|") and not line.startswith("    ")
    ]


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command in `folder` that finds this project, both streams as one text."""
    path = os.pathsep.join((str(folder), *(each for each in sys.path if each)))
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PYTHONPATH": path, "PATH": programs, **variables}
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=folder, env=environment
    )


def replay(name: str, folder: Path) -> int:
    """Writes the page's files into `folder` and runs its commands there; how many, all with their output."""
    commands = 0
    for block in blocks_of(read_page(name)):
        if block.file is not None:
            place = folder / block.file
            place.parent.mkdir(parents=True, exist_ok=True)
            text = block.text.partition("\n")[2] if block.file.endswith(".jsonl") else block.text
            place.write_text(text, "utf-8")
        elif block.language == "console":
            for step in re.split(r"^\$ ", block.text.replace("\\\n", ""), flags=re.M)[1:]:
                command, _, shown = step.partition("\n")
                ran = run(folder, "bash", "-c", command, CLONE=str(ROOT))
                assert matches(shown, ran.stdout), f"{name}: $ {command}\n{ran.stdout}"
                commands += 1
    return commands


def matches(shown: str, printed: str) -> bool:
    """Whether `shown`, in which ``…`` stands for anything, is what was printed."""
    lines = [
        r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown.splitlines()
    ]
    return re.fullmatch("".join(lines), printed) is not None
