"""The shape of the source: bounds on what has to be read, no circles, one name for one thing (`tests.house.bounds`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.house.bounds import FILE_LINES, FILES, IN_CIRCLES, LINES, LONGER, NAMED_TWICE, RIDDLES, RIDDLES_LEFT
from tests.house.reading import WALKS, Walk, importers, read_operators, read_walk
from tests.house.source import Place, Program, imported_modules


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.read()


def test_what_has_to_be_read_stays_within_its_bounds(program: Program) -> None:
    reached = {walk.title: read_walk(program, walk) for walk in WALKS}
    operators = read_operators(program)
    lines = {title: each.lines for title, each in reached.items()}
    lines["for operators alone, but box"] = operators.lines
    lines["src"] = program.lines
    files = {title: len(each.files) for title, each in reached.items()}
    files["for operators alone, but box"] = len(operators.main_files())
    files["outside operators/, importing from it"] = len(importers(program, "operators"))
    assert {name: lines[name] for name, bound in LINES.items() if lines[name] > bound.now} == {}
    assert {name: files[name] for name, bound in FILES.items() if files[name] > bound.now} == {}


def test_every_walk_starts_at_a_function(program: Program) -> None:
    assert [start for walk in WALKS for start in walk.starts if program.function(start) is None] == []


def test_every_bound_has_a_goal_at_most_as_high() -> None:
    assert [bound for bound in (*LINES.values(), *FILES.values()) if bound.goal > bound.now] == []


def test_no_file_is_longer_than_a_reader_bears(program: Program) -> None:
    lines = {program.file_of(name): module.lines for name, module in program.modules.items()}
    assert {name: n for name, n in lines.items() if n > LONGER.get(name, FILE_LINES)} == {}


def test_no_class_name_occurs_twice(program: Program) -> None:
    names = Counter(place.name for place in program.places() if program.class_of(place) is not None)
    assert {name for name, n in names.items() if n > 1} - NAMED_TWICE == set()


def test_no_modules_import_each_other(program: Program) -> None:
    assert in_circles(imported_modules(program)) - IN_CIRCLES == set()


def test_no_file_is_named_by_a_riddle(program: Program) -> None:
    names = {program.file_of(name).removesuffix(".py") for name in program.modules}
    assert {name for name in names if name.split("/")[-1] in RIDDLES} - RIDDLES_LEFT == set()


def in_circles(imported: Mapping[str, set[str]]) -> set[str]:
    """The modules that import themselves through others."""

    def reach(module: str) -> set[str]:
        seen: set[str] = set()
        waiting = [*imported[module]]
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                waiting.extend(imported[each])
        return seen

    return {module for module in imported if module in reach(module)}


# ---- the measure itself ---------------------------------------------------------------------------------------------

SAMPLE = {
    "__init__.py": "",
    "errors.py": "class Wrong(Exception):\n    def __init__(self) -> None:\n        pass\n",
    "start.py": """from collections.abc import Iterator
from triplecast.errors import Wrong
from triplecast.parts import Door, Key, Named, Part, help_out, never


class Start:
    door: Door

    def __init__(self, parts: dict[str, Part]) -> None:
        self._parts = parts
        self._key = Key(1)

    def go(self, named: Named) -> None:
        if not self._parts:
            raise Wrong()
        for part in self._parts.values():
            part.work()
        with self.door as opened:
            map(help_out, opened.rooms())
        self._key.turned
        self._own()

    def _own(self) -> None:
        pass

    def _left(self) -> None:
        never()
""",
    "parts.py": """from __future__ import annotations


class Part:
    def work(self) -> None:
        from triplecast.far.place import go_far

        go_far()


class Key:
    teeth: int

    def __init__(self, teeth: int) -> None:
        self.teeth = teeth

    @property
    def turned(self) -> int:
        return self.teeth


class Named:
    def unread(self) -> None:
        pass


class Door:
    def __enter__(self) -> Door:
        return self

    def rooms(self) -> list[str]:
        return []


def help_out(text: str) -> str:
    return text


def never() -> None:
    pass
""",
    "far/__init__.py": "from triplecast.far.place import go_far\n",
    "far/place.py": "from triplecast.parts import Part\n\n\ndef go_far() -> None:\n    Part()\n",
}


@pytest.fixture
def sample(tmp_path: Path) -> Program:
    for name, text in SAMPLE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return Program.read(tmp_path)


def test_a_path_follows_names_annotations_attributes_and_constructors(sample: Program) -> None:
    walk = Walk("sample", (Place("start", "Start.go"),), ("start", "parts"))
    reached = read_walk(sample, walk)
    assert [place.name for place in reached.definitions] == [
        *("Start.go", "Part.work", "Door.__enter__", "help_out", "Door.rooms", "Key.turned", "Start._own")
    ]
    assert reached.files == {"start.py": 9 + 2, "parts.py": 4 + 2 + 2 + 2 + 3}


def test_a_path_enters_the_packages_that_it_is_about_only(sample: Program) -> None:
    walk = Walk("sample", (Place("start", "Start.go"),), ("start", "parts", "far"))
    assert Place("far.place", "go_far") in read_walk(sample, walk).definitions
    besides = Walk("sample", (Place("start", "Start.go"),), ("start", "parts"), besides=("parts",))
    assert {place.module for place in read_walk(sample, besides).definitions} == {"start"}


def test_circles_are_seen_through_functions_and_packages(sample: Program) -> None:
    assert in_circles(imported_modules(sample)) == {"parts", "far", "far.place"}


def test_imports_for_types_only_make_no_circle(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("", "utf-8")
    (tmp_path / "a.py").write_text("from triplecast import b\n", "utf-8")
    for_types = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from triplecast import a\n"
    (tmp_path / "b.py").write_text(for_types, "utf-8")
    assert in_circles(imported_modules(Program.read(tmp_path))) == set()
