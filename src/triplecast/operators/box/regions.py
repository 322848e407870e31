"""Regions that have names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from triplecast.errors import InputError
from triplecast.operators import Unanswerable
from triplecast.terms.nearness import nearest_names

if TYPE_CHECKING:
    from triplecast.operators.box.geometries import Geometry


class Regions:
    """Regions of a GeoJSON file (a FeatureCollection), each called by its ``id`` and by its property ``name``. The file
    is read when it is first needed, by the process that needs it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def version(self) -> str:
        """Of the file's content: another content is another version of the operators that use it."""
        from hashlib import sha256

        return sha256(self._bytes).hexdigest()[:12]

    def find(self, name: str) -> Geometry:
        """Raises `Unanswerable` for a name that no region has, with the nearest, and `InputError` for a file that
        cannot be used."""
        found = self._regions.get(name)
        if found is None:
            near = nearest_names(name, self._regions) or list(self._regions)[:5]
            raise Unanswerable(f"no region is called {name!r}; {self._path.name} has {', '.join(map(repr, near))}")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._regions

    @cached_property
    def _bytes(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise InputError(f"{self._path} cannot be read: {error.strerror}", "name a file of regions") from error

    @cached_property
    def _regions(self) -> Mapping[str, Geometry]:
        from triplecast.operators.box.geometries import GEOJSON, read_geometry

        regions: dict[str, Geometry] = {}
        for number, feature in enumerate(self._features(), 1):
            where = f"{self._path}: feature {number}"
            called = (feature.get("id"), (feature.get("properties") or {}).get("name"))
            names = {name for name in called if isinstance(name, str) and name}
            if not names:
                raise InputError(f"{where} has no name", 'give it an "id" or a property "name", as text')
            try:
                region = read_geometry(Literal(json.dumps(feature.get("geometry")), datatype=NamedNode(GEOJSON)))
            except Unanswerable as refused:
                raise InputError(f"{where}: {refused}", "give its geometry as GeoJSON does") from refused
            for name in sorted(names):
                if name in regions:
                    raise InputError(f"{where} is called {name!r}, and so is one before it", "give it another name")
                regions[name] = region
        return regions

    def _features(self) -> list[dict[str, Any]]:
        try:
            read = json.loads(self._bytes)
        except ValueError as error:
            raise InputError(f"{self._path} is no JSON: {error}", "give a GeoJSON FeatureCollection") from error
        features = read.get("features") if isinstance(read, dict) else None
        if not isinstance(features, list) or not all(isinstance(feature, dict) for feature in features):
            raise InputError(f"{self._path} has no list of features", "give a GeoJSON FeatureCollection")
        return features
