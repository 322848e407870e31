"""Promises about the repository itself: what the documents name exists, imports stay light, no address leaks."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.pages import blocks_of
from triplecast import errors

ROOT = Path(__file__).resolve().parents[2]


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout
    if not listed:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def test_importing_triplecast_loads_neither_numba_nor_pyspark() -> None:
    code = "import sys, triplecast; print([m for m in ('numba', 'pyspark', 'numpy') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_the_command_line_starts_without_numba_and_pyspark() -> None:
    code = "import sys, triplecast.cli; print([m for m in ('numba', 'pyspark') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_that_a_document_names_exists(document: str) -> None:
    named = re.findall(
        r"`((?:src|docs|tests|examples|benchmarks|scripts)/[\w./-]+)`", (ROOT / document).read_text("utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_command_and_option_is_documented() -> None:
    from triplecast.cli import build_parser

    (commands,) = (each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction))
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    known = {f"triplecast {name}" for name in commands.choices}
    known |= {option for each in commands.choices.values() for option in each._option_string_actions}
    known -= {"-h", "--help"}
    assert len(known) > 20
    assert sorted(name for name in known if not re.search(rf"(?<![\w-]){name}(?![\w-])", pages)) == []


def test_the_table_of_layers_is_that_of_the_import_contract() -> None:
    """Every layer has a row, the lowest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = reversed(next(contract["layers"] for contract in contracts if contract["type"] == "layers"))
    rows = [line for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines() if line.startswith("|")]
    paths = [path for row in rows for path in re.findall(r"`src/triplecast/([a-z_/]+)(?:\.py)?`", row)]
    named = [path.replace("/", ".") for path in paths]
    height: dict[str, int] = {}
    for number, layer in enumerate(layers):
        for name in re.split(r"[|:]", layer):
            module = name.strip(" ()").removeprefix("triplecast.")
            height[module if module in named else module.partition(".")[0]] = number
    assert set(height) <= set(named)
    heights = [height[name] for name in named if name in height]
    assert heights == sorted(heights)


def test_every_file_that_docs_name_exists() -> None:
    """Also by a path below ``src/triplecast`` or beside the page, or, without a folder, by the name alone."""
    names = {path.name for path in tracked_files()}
    missing = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text("utf-8")
        own = {block.file for block in blocks_of(text)}
        for name in re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md))`|\]\(([^)#:]+)\)", text):
            named = name[0] or name[1]
            places = (ROOT, ROOT / "src" / "triplecast", page.parent)
            if not any((place / named).exists() for place in places) and named not in names | own:
                missing.append(f"{page.relative_to(ROOT)}: {named}")
    assert missing == []


def test_every_clause_of_the_semantics_that_is_cited_exists() -> None:
    clauses, section = set(), ""
    for line in (ROOT / "docs" / "semantics.md").read_text("utf-8").splitlines():
        if heading := re.match(r"## (\d+) ", line):
            section = heading[1]
            clauses.add(section)
        elif clause := re.match(r"(\d+)\. ", line):
            clauses.add(f"{section}.{clause[1]}")
    cited = {
        (str(path.relative_to(ROOT)), number)
        for path in tracked_files()
        if path.suffix in {".py", ".md"}
        for number in re.findall(r"semantics(?:\.md`)? (\d+(?:\.\d+)?)", path.read_text("utf-8"))
    }
    assert len(cited) > 30
    assert sorted(citation for citation in cited if citation[1] not in clauses) == []


def test_every_make_target_has_a_comment() -> None:
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    targets = [i for i, line in enumerate(lines) if re.match(r"^[a-z]+:", line)]
    assert targets
    assert [lines[i] for i in targets if not lines[i - 1].startswith("# ")] == []


def test_no_registry_address_and_no_path_of_a_machine_stands_in_a_tracked_file() -> None:
    forbidden = re.compile(
        "|".join(
            [
                "pypi" + r"\.org",
                "files.python" + "hosted",
                "--(extra-)?index" + "-url",
                "/work" + "/main",
                "/root" + "/",
            ]
        )
    )
    offenders = []
    for path in tracked_files():
        if path.suffix in {".png", ".ico"}:
            continue
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            if forbidden.search(line) and "no-emit-index" not in line:
                offenders.append(f"{path.relative_to(ROOT)}:{number}")
    assert offenders == []


def test_every_error_class_is_documented() -> None:
    classes = [name for name, found in vars(errors).items() if isinstance(found, type) and name != "TriplecastError"]
    classes = [name for name in classes if issubclass(vars(errors)[name], errors.TriplecastError)]
    documents = "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    assert "StorageFull" in classes
    assert [name for name in classes if not re.search(rf"\b{name}\b", documents)] == []


def test_the_samples_are_what_their_generator_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("generate", ROOT / "examples" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    kept = generate.INBOX
    monkeypatch.setattr(generate, "INBOX", tmp_path)
    generate.main()
    written = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    committed = {path.relative_to(kept): path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    assert written == committed


def test_each_format_of_a_database_has_its_own_number() -> None:
    numbers = [
        found
        for path in sorted((ROOT / "src").rglob("*.py"))
        for found in re.findall(r"Format\(\s*(?:application=)?(0x[0-9A-Fa-f]{8})", path.read_text("utf-8"))
    ]
    assert len(numbers) >= 5
    assert len({*numbers}) == len(numbers), numbers
