"""OPML 2.0 (http://opml.org/spec2.opml): the feeds of an outline with the folders that they stand in, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, SubElement, indent, tostring

from defusedxml.ElementTree import fromstring

from triplecast.errors import DocumentRejected, InputError
from triplecast.ingest.gate import GATE, refuse_size
from triplecast.ingest.xml_gate import pass_xml
from triplecast.sources.source import Folders, KnownSource, NewSource, check_source

MOST_FOLDERS = 32
"""Folders in each other; what stands deeper is in the last of them."""
_BARE = re.compile(rb"&(?!#?\w{1,10};)")
"""An ampersand that is not escaped, as many write addresses."""
_ENTRY = re.compile(r"<outline\s((?:(?!<outline\s).)*?)\sxmlUrl=\"([^\"<>]*)\"", re.S)
_TEXT = re.compile(r"\btext=\"(.{0,1000}?)\"\s{1,100}\w{1,100}=", re.S)


class Outline(NamedTuple):
    """What an OPML file lists."""

    sources: tuple[NewSource, ...]
    """In order; one that stands in several folders is there once, with all of them."""
    faults: tuple[str, ...]
    """Why entries were left out."""
    repeated: int
    """Entries whose address was there before."""


def read_opml(data: bytes) -> Outline:
    """Raises `InputError` for what is no OPML. Of one that is not well-formed XML, as readers write it who do not
    escape a description, the addresses are taken and the folders are not."""
    faults: list[str] = []
    try:
        refuse_size(data, GATE)
        xml = pass_xml(data, None, GATE)
        try:
            root = fromstring(xml.data if xml.fault is None else _BARE.sub(b"&amp;", xml.data), forbid_dtd=True)
        except ParseError as error:
            root = _salvaged(xml.data)
            faults.append(f"it is not well-formed XML ({error}): its addresses are read, its folders are not")
    except (DocumentRejected, ValueError) as error:
        raise InputError(f"the OPML cannot be read: {error}", "export it again from the feed reader") from error
    body = root.find("body")
    if root.tag != "opml" or body is None:
        raise InputError("it is no OPML: there is no <opml> with a <body>", "export it from the feed reader as OPML")
    found: dict[str, NewSource] = {}
    repeated = 0
    waiting: list[tuple[Element, tuple[str, ...]]] = [(each, ()) for each in reversed(body.findall("outline"))]
    while waiting:
        outline, folder = waiting.pop()
        name = _attribute(outline, "text") or _attribute(outline, "title")
        url = _attribute(outline, "xmlUrl")
        inner = outline.findall("outline")
        if url:
            try:
                source = check_source(NewSource(url, "" if name == url else name, (folder,) if folder else ()))
            except InputError as fault:
                faults.append(str(fault))
            else:
                repeated += source.url in found
                found[source.url] = _joined(found.get(source.url), source)
        is_folder = name and not url and len(folder) < MOST_FOLDERS
        waiting += [(each, (*folder, name) if is_folder else folder) for each in reversed(inner)]
    return Outline(tuple(found.values()), tuple(faults), repeated)


def write_opml(sources: Iterable[KnownSource | NewSource]) -> bytes:
    """Each source stands in all its folders, or at the top; in the order given."""
    root = Element("opml", version="2.0")
    SubElement(SubElement(root, "head"), "title").text = "Triplecast sources"
    body = SubElement(root, "body")
    outlines: dict[tuple[str, ...], Element] = {(): body}
    for source in sources:
        for folder in source.folders or ((),):
            for depth in range(1, len(folder) + 1):
                if folder[:depth] not in outlines:
                    above = outlines[folder[: depth - 1]]
                    outlines[folder[:depth]] = SubElement(above, "outline", text=folder[depth - 1])
            SubElement(outlines[folder], "outline", text=source.title or source.url, type="rss", xmlUrl=source.url)
    indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root) + b"\n"


def _salvaged(data: bytes) -> Element:
    """What an outline without folders has of the entries in text that is almost OPML."""
    root = Element("opml")
    text = data.decode("utf-8", "replace")
    if "<opml" in text and (entries := _ENTRY.findall(text)):
        body = SubElement(root, "body")
        for attributes, url in entries:
            name = _TEXT.search(f"{attributes} x=")
            SubElement(body, "outline", text=unescape(name[1]) if name else "", xmlUrl=unescape(url))
    return root


def _attribute(outline: Element, wanted: str) -> str:
    """Files in the wild differ in the case of names."""
    return next((value.strip() for name, value in outline.items() if name.lower() == wanted.lower()), "")


def _joined(there: NewSource | None, more: NewSource) -> NewSource:
    if there is None:
        return more
    folders: Folders = tuple(dict.fromkeys((*there.folders, *more.folders)))
    return NewSource(there.url, there.title or more.title, folders)
