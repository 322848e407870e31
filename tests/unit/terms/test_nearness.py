"""Which names may have been meant for which."""

from __future__ import annotations

import pytest

from triplecast.terms.nearness import likeness_of, nearest_names, split_name


@pytest.mark.parametrize(
    ("wanted", "names", "expected"),
    [
        ("tilte", ["size", "title", "type"], ["title"]),
        ("urn:a:title", ["urn:b:title", "urn:a:titel", "urn:a:size"], ["urn:b:title", "urn:a:titel"]),
        ("urn:a:title", ["urn:a:title"], []),
        ("http://e/Title", ["http://e/title", "http://f#title"], ["http://e/title", "http://f#title"]),
        ("a", ["b", "abcdefgh"], []),
        ("", ["", "a"], []),
    ],
)
def test_nearest_names(wanted: str, names: list[str], expected: list[str]) -> None:
    assert nearest_names(wanted, names) == expected


def test_likeness_is_bounded_for_long_names() -> None:
    assert likeness_of("x" * 1_000_000, "x" * 1_000_000) == 1.0
    assert likeness_of("x" * 1_000_000, "x") == 0.0
    assert split_name("/" * 1_000_000 + "a")[1] == "a"
