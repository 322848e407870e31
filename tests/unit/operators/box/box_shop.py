"""Operators as a user of the box declares them: regions, a look-up and rules of one's own."""

from __future__ import annotations

import os
from pathlib import Path

from pyoxigraph import Literal, NamedNode

from triplecast.operators import PublicationView, operator
from triplecast.operators.box.geography import Regions, is_within
from triplecast.operators.box.lookup import Database
from triplecast.operators.box.rules import Rules

SHOP = "https://example.org/shop#"
FOLDER = Path(os.environ.get("BOX_SHOP_FOLDER", "."))
PARKS = Regions(Path(__file__).with_name("box_parks.geojson"))
WARES = Database(f"sqlite:///{FOLDER}/wares.db")
KIN = Rules("""
    #const part = "https://example.org/shop#part".
    whole(X, Y) :- triple(Y, part, X).
    whole(X, Z) :- whole(X, Y), triple(Z, part, Y).
""")


@operator(SHOP + "in", version=PARKS.version, arguments=("bound", "bound"))
def in_park(event: PublicationView, place: object, park: object) -> bool:
    """Whether a place lies in a park."""
    return is_within(event, place, park, PARKS)


@operator(SHOP + "price", version="1", arguments=("bound", "free"), pure=False)
def price(event: PublicationView, sku: Literal) -> list[object]:
    """What wares cost."""
    return WARES.rows("SELECT price FROM wares WHERE sku = :sku", sku=sku)


@operator(SHOP + "whole", version=KIN.version, arguments=("bound", "free"))
def whole(event: PublicationView, thing: NamedNode) -> list[object]:
    """What a thing is a part of, directly or not."""
    return KIN.rows(event, "whole", thing)


@operator(SHOP + "entails", version=KIN.version, arguments=("bound", "free", "free"))
def entails(event: PublicationView, thing: NamedNode) -> list[tuple[object, object]]:
    """Predicates and objects of a thing, stated or derived."""
    return list(KIN.entails(event, thing))
