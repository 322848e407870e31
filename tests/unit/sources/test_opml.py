"""OPML in and out: folders inside folders, a source in two of them, and files that are none."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from xml.etree import ElementTree

import pytest

from triplecast import InputError
from triplecast.sources import NewSource, SourceList, read_opml, write_opml
from triplecast.sources.opml import MOST_FOLDERS

OPML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<opml version="2.0"><head/><body>
 <outline text="News"><outline text="Caf\u00e9 &amp; Co" title="no"><outline type="rss" text="A" XMLURL="https://a.example/x"/></outline>
  <outline type="rss" title="B" xmlUrl="https://b.example/feed#part"/></outline>
 <outline text="Other"><outline text="A again" xmlUrl="https://a.example/x"/><outline text="empty"/></outline>
 <outline xmlUrl="ftp://c.example/"/><outline xmlUrl="https://user:secret@d.example/"/>
 <outline text="top" xmlUrl="http://e.example/"><outline text="inside" xmlUrl="http://f.example/"/></outline>
</body></opml>"""


def test_folders_and_repeated_entries_are_kept() -> None:
    found = read_opml(OPML.encode("latin-1"))
    assert found.sources == (
        NewSource("https://a.example/x", "A", (("News", "Caf\u00e9 & Co"), ("Other",))),
        NewSource("https://b.example/feed", "B", (("News",),)),
        NewSource("http://e.example/", "top"),
        NewSource("http://f.example/", "inside"),
    )
    assert found.repeated == 1
    assert len(found.faults) == 2
    assert "secret" not in found.faults[0]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    sources = SourceList(tmp_path)
    given = read_opml(OPML.encode("latin-1")).sources
    assert sources.add(given, 0) == [(each.url, True) for each in given]
    assert sources.add(given, 0) == [(each.url, False) for each in given]
    written = write_opml(sources.sources())
    again = {each.url: each for each in read_opml(written).sources}
    assert again == {each.url: each for each in given}
    assert ElementTree.fromstring(written).get("version") == "2.0"


def test_adding_again_adds_folders_and_what_is_wrong_adds_nothing(tmp_path: Path) -> None:
    sources = SourceList(tmp_path)
    sources.add([NewSource("https://a.example/", folders=(("x",),))], 0)
    sources.add([NewSource("https://a.example/", "Title", (("y", "z"),))], 0)
    (source,) = sources.sources()
    assert (source.title, source.folders) == ("Title", (("x",), ("y", "z")))
    with pytest.raises(InputError):
        sources.add([NewSource("https://b.example/"), NewSource("file:///etc/passwd")], 0)
    with pytest.raises(InputError):
        sources.add([NewSource("https://b.example/", identity="colour")], 0)
    assert len(sources.sources()) == 1
    with pytest.raises(InputError):
        sources.remove("https://b.example/")
    sources.remove("https://a.example/")
    assert sources.sources() == []


@pytest.mark.parametrize(
    "data", [b"", b"<opml/>", b"<rss/>", b"{}", b"<!DOCTYPE o [<!ENTITY a 'b'>]><opml><body/></opml>", b"<opml><body>"]
)
def test_what_is_no_opml_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read_opml(data)


def test_what_an_outline_says_costs_no_more_than_it_is_long() -> None:
    folders, entries, name = 400, 5000, "a" * 900
    deep = f'<outline text="{name}">' * folders + "".join(f'<outline xmlUrl="http://h/{n}"/>' for n in range(entries))
    quotes = '<outline a="' + 'text="x ' * 20_000 + ' y xmlUrl="http://h/"><'
    began = process_time()
    (first, *_) = read_opml(f"<opml><body>{deep}{'</outline>' * folders}</body></opml>".encode()).sources
    assert first.folders == ((name,) * MOST_FOLDERS,)
    assert len(read_opml(f"<opml><body>{quotes}</body></opml>".encode()).sources) == 1
    assert process_time() - began < 10  # 100 s before names and texts were bounded


def test_the_outlines_of_a_real_collection_are_read_whole(shared_data: Path) -> None:
    files = sorted((shared_data / "feeds" / "opml").rglob("*.opml"))
    found = [read_opml(path.read_bytes()) for path in files]
    written = [path.read_bytes().count(b"xmlUrl=") for path in files]
    refused = [sum("asked" in fault for fault in each.faults) for each in found]
    assert [len(each.sources) + each.repeated + wrong for each, wrong in zip(found, refused, strict=True)] == written
    assert sum(refused) == 2
    assert sum("not well-formed" in fault for each in found for fault in each.faults) == 22
