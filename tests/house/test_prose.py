"""How the documents are written: short lines, a sentence each, links that lead somewhere, a bounded whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.pages import BESIDE, PAGES, ROOT, blocks_of, prose_of

WORDS = 43_260
WIDTH = 120
NAMES = [page.relative_to(ROOT).as_posix() for page in (*PAGES, *BESIDE)]
_LINK = re.compile(r"\]\(([^()\s]+(?:\([^()]*\))?[^()\s]*)\)")
_LABEL = re.compile(r"^\s*(?:#+ )?(?:- |\d+\. )?(?:\*\*[^*]+\*\* )?")
"""What stands before a line's sentence: the mark of a list or heading, a bold word that names a part."""
_SENTENCES = re.compile(r"[a-z0-9`)\]*\"…]{2}[.!?][)*\"_]* +[*_(\[`\"]*[A-Z?]")


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_long_but_in_tables(name: str) -> None:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    assert [n for n, line in enumerate(lines, 1) if len(line) > WIDTH and not line.lstrip().startswith("|")] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_line_holds_one_sentence(name: str) -> None:
    lines = ((number, _LABEL.sub("", line)) for number, line in prose_of((ROOT / name).read_text("utf-8")))
    assert [(number, line) for number, line in lines if _SENTENCES.search(line)] == []


def test_the_documents_are_short() -> None:
    words = {page.relative_to(ROOT): len(page.read_text("utf-8").split()) for page in PAGES}
    assert sum(words.values()) <= WORDS, sorted(words.items(), key=lambda each: -each[1])


def anchors_of(page: Path) -> set[str]:
    """What `#…` may name in a page: its headings, as they are written in addresses."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_resolves(name: str) -> None:
    page = ROOT / name
    broken = []
    for target in _LINK.findall(page.read_text("utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (
            anchor and place.relative_to(ROOT).as_posix() in NAMES and anchor not in anchors_of(place)
        ):
            broken.append(target)
    assert broken == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_fence_names_its_language(name: str) -> None:
    assert [block for block in blocks_of((ROOT / name).read_text("utf-8")) if not block.language] == []
