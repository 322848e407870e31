"""Segment files: what is written is read, and any damage is told."""

from __future__ import annotations

import errno
import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from tests.unit.match.match_samples import random_case, registrations
from triplecast.errors import StorageFault
from triplecast.index import Segment, build_segment
from triplecast.index import file as file_module
from triplecast.index.registrations import RegistrationNumbers

QUERIES = (
    "SELECT ?x { ?x e:p ?y FILTER(?y > 3 && ?y < 9) }",
    "SELECT ?x { ?x e:p ?y FILTER(?y > 'm') }",
    "SELECT ?x { ?x e:p ?y FILTER(LANG(?y) = 'en') } ORDER BY ?x",
    "SELECT ?é { ?é e:p ?y } LIMIT 0",
    "SELECT ?é { { ?é e:p ?y } UNION { ?é e:q ?y } FILTER NOT EXISTS { ?é e:r ?y } }",
)


def _write(folder: Path) -> Path:
    path = folder / "one.tcx"
    build_segment(registrations(*QUERIES)).write(path)
    return path


def _arrays(segment: Segment, name: str) -> tuple[np.ndarray, ...]:
    found = getattr(segment.tables, name)
    if isinstance(found, RegistrationNumbers):
        found = found.distances
    return (found,) if isinstance(found, np.ndarray) else tuple(found)


def test_written_is_read(tmp_path: Path, seed: int) -> None:
    made = build_segment([*registrations(*QUERIES), *random_case(seed)[0][5:]])
    made.write(tmp_path / "one.tcx")
    read = Segment.open(tmp_path / "one.tcx")
    assert read.refused == made.refused
    assert [each.registration for each in read.refused] == [4]
    assert read.tables.roles == made.tables.roles
    assert read.combines
    assert read.tables.registrations.base == made.tables.registrations.base == 1
    for field in fields(made.tables):
        if field.name == "roles":
            continue
        for left, right in zip(_arrays(made, field.name), _arrays(read, field.name), strict=True):
            assert left.dtype == right.dtype
            assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
            assert right.flags.aligned
            assert right.flags.c_contiguous
            assert right.flags.writeable
    assert read.texts.all() == made.texts.all()


def test_equal_registrations_make_equal_bytes(tmp_path: Path, seed: int) -> None:
    queries = random_case(seed)[0]
    for name, order in (("a", queries), ("b", queries), ("c", queries[::-1])):
        build_segment(order).write(tmp_path / name)
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    path = _write(tmp_path)
    content = path.read_bytes()
    places = {*range(48), *range(48, len(content), 37), len(content) - 1}
    for place in sorted(places):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        with pytest.raises(StorageFault) as fault:
            Segment.open(path)
        assert "one.tcx" in str(fault.value)
        assert "journal" in fault.value.hint


@pytest.mark.parametrize("kept", [0, 1, 31, 32, 100, -1, -64])
def test_a_torn_file_is_found(tmp_path: Path, kept: int) -> None:
    path = _write(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(StorageFault):
        Segment.open(path)


def test_a_longer_file_and_another_format_are_found(tmp_path: Path) -> None:
    path = _write(tmp_path)
    path.write_bytes(path.read_bytes() + bytes(64))
    with pytest.raises(StorageFault, match="bytes long"):
        Segment.open(path)
    file_module.write_arrays(path, file_module.ArrayFile({}, {}), form=file_module.LARGE_FORMAT)
    with pytest.raises(StorageFault, match="format 1001"):
        Segment.open(path)
    with pytest.raises(StorageFault, match="cannot be read"):
        Segment.open(tmp_path / "missing.tcx")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path)
    before = path.read_bytes()

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageFault, match="No space left"):
        build_segment(registrations("ASK { ?x e:p 1 }")).write(path)
    assert path.read_bytes() == before
