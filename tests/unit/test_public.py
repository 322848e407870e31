"""What every public function promises: paths as text, a version, hints that work."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

import pytest

import triplecast

SOURCE = Path(triplecast.__file__).parent


def test_it_says_its_version() -> None:
    assert triplecast.__version__ == version("triplecast")
    assert "__version__" in dir(triplecast)


def public() -> Iterator[Callable[..., Any]]:
    """Every class and method of `triplecast`, and the entry of the pipeline."""
    pytest.importorskip("pyarrow", reason="the pipeline needs the extra [spark]")
    from triplecast.pipeline import run

    for each in (*(getattr(triplecast, name) for name in triplecast.__all__), run.Sources):
        if inspect.isclass(each):
            yield each.__init__
            yield from (method for name, method in inspect.getmembers(each, callable) if not name.startswith("_"))
    yield run.run


def parts(hint: object) -> Iterator[object]:
    """The types that a hint names, at any depth."""
    yield hint
    for part in get_args(hint):
        yield from parts(part)


def test_whatever_takes_a_path_takes_it_as_text_too() -> None:
    """Drawn from the signatures. `Sources("subs", "inbox")` was an AttributeError, and no test saw it: the tests are
    type-checked like the source, so none passed a str where Path was declared; one that reads the declarations sees
    it."""
    seen = set()
    for function in public():
        if not hasattr(function, "__annotations__"):
            continue
        try:
            hints = get_type_hints(function)
        except NameError:  # of names that only the type checker imports
            hints = {
                name: eval(text, {"Path": Path}) for name, text in function.__annotations__.items() if "Path" in text
            }
        for name, hint in hints.items():
            unions = [each for each in parts(hint) if isinstance(each, UnionType) and Path in get_args(each)]
            if name != "return" and Path in parts(hint):
                seen.add((function.__qualname__, name))
                assert all(str in get_args(union) for union in unions), (function, name)
                assert unions, (function, name)
    assert {("Engine.open", "folder"), ("Sources.__init__", "inbox"), ("run", "output")} <= seen


def test_sources_are_paths_however_they_are_given(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the pipeline needs the extra [spark]")
    from triplecast.pipeline.run import Sources

    given = Sources("subs", "inbox", taxonomy=["a.ttl", Path("b.ttl")])
    assert given == Sources([Path("subs")], Path("inbox"), False, (Path("a.ttl"), Path("b.ttl")))
    assert given.subscriptions == (Path("subs"),)


def test_no_hint_says_to_install_from_an_index() -> None:
    """Triplecast is on none. No test saw the hint, since tests run where everything is installed; one that reads every
    source for such a command does."""
    sources = (*SOURCE.rglob("*.py"), SOURCE.parents[1] / "README.md", *SOURCE.parents[1].glob("docs/**/*.md"))
    assert len(sources) > 200
    found = [path.name for path in sources if re.search(r"pip install '?triplecast", path.read_text("utf-8"))]
    assert found == []
