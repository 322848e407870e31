"""The operators paper's five example subscriptions, on pictures that this program draws (needs the extra `operators`).

python examples/operators/city.py            # what is seen where, who is told what, how often operators were asked
python examples/operators/city.py FOLDER     # also leaves the pictures, and an inbox for `triplecast match` and `run`
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import NamedTuple

import cameras
from drawing import CAR, COAST_GUARD, POLICE, ROAD, SQUARE, TOUR_BOAT, VAN, WATER, Snapshot, crowd, jam, walkers

import triplecast

HERE = Path(__file__).parent
CITY = "https://city.example.org/"
PREDICATES = 2 + 2 + 3 + 4 + 3
"""What the subscriptions ask of operators: each alone could take so many calls a snapshot."""
TOLD = ("taken", "people", "pedestrians", "police", "metres", "tour", "guard")


class View(NamedTuple):
    """A snapshot: where the camera was, and what it saw."""

    place: str
    longitude: float
    latitude: float
    seen: str
    snapshot: Snapshot

    def turtle(self, number: int) -> str:
        return f"""@prefix cam: <{cameras.CAM}> . @prefix geo: <http://www.w3.org/2003/01/geo/wgs84_pos#> .
            @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
            <{CITY}snapshot/{number}> a cam:Snapshot ; cam:picture <{CITY}snapshot/{number}.png> ;
                geo:lat {self.latitude} ; geo:long {self.longitude} ; cam:altitude {100 + 10 * number} ;
                cam:taken "2026-11-21T18:{number:02}:00Z"^^xsd:dateTime ."""


def draw_city() -> list[View]:
    pursuit = ((120, POLICE), (170, CAR))
    crash = [*jam(CAR, VAN, CAR, CAR, VAN), (40 + 30 * 4 + 24, CAR)]
    fleet = [(60, 60), (150, 110), (240, 60), (330, 110), (420, 60)]
    guard = [(100, 200), (300, 200), (400, 220)]
    harbour = Snapshot(WATER).boats(TOUR_BOAT, *fleet)
    return [
        View("the Bronx", -73.8900, 40.8500, "a police car close behind a car", Snapshot(ROAD).cars(1, *pursuit)),
        View("Harlem", -73.9450, 40.8116, "a police car close behind a car", Snapshot(ROAD).cars(1, *pursuit)),
        View("the Bronx", -73.8700, 40.8600, "60 people in a crowd", Snapshot(SQUARE).people(crowd(60))),
        View(
            "the Bronx", -73.8700, 40.8610, "two crowds of 30", Snapshot(SQUARE).people(crowd(30) + crowd(30, 300, 200))
        ),
        View(
            "Times Square",
            -73.9855,
            40.7580,
            "a traffic jam, 260 pedestrians",
            Snapshot(ROAD).cars(0, *jam(CAR, VAN, CAR, CAR, CAR, VAN)).people(walkers(260)),
        ),
        View(
            "Times Square",
            -73.9850,
            40.7575,
            "a traffic jam, 250 pedestrians",
            Snapshot(ROAD).cars(0, *jam(CAR, VAN, CAR, CAR, CAR, VAN)).people(walkers(250)),
        ),
        View(
            "the Bronx",
            -73.9100,
            40.8300,
            "an accident in a jam, 1 police car",
            Snapshot(ROAD).cars(2, *crash).cars(0, (400, POLICE)),
        ),
        View(
            "the Bronx",
            -73.9100,
            40.8310,
            "an accident in a jam, 2 police cars",
            Snapshot(ROAD).cars(2, *crash).cars(0, (400, POLICE), (200, POLICE)),
        ),
        View("the harbour", -74.0420, 40.6850, "5 tour boats, 2 of the guard", harbour.boats(COAST_GUARD, *guard[:2])),
        View(
            "the harbour",
            -74.0430,
            40.6860,
            "5 tour boats, 3 of the guard",
            Snapshot(WATER).boats(TOUR_BOAT, *fleet).boats(COAST_GUARD, *guard),
        ),
        View("the East River", -73.9700, 40.7400, "5 tour boats", Snapshot(WATER).boats(TOUR_BOAT, *fleet)),
        View("Brooklyn", -73.9500, 40.6500, "nobody", Snapshot(SQUARE)),
    ]


def write_inbox(views: list[View], folder: Path) -> None:
    """The pictures, and one line a snapshot with its picture inside."""
    (folder / "inbox").mkdir(parents=True, exist_ok=True)
    with (folder / "inbox" / "snapshots.jsonl").open("w", encoding="utf-8") as lines:
        for number, view in enumerate(views, 1):
            picture = view.snapshot.png()
            (folder / f"{number}.png").write_bytes(picture)
            attached = {f"{CITY}snapshot/{number}.png": base64.b64encode(picture).decode()}
            row = {"id": f"{CITY}snapshot/{number}", "media_type": "text/turtle", "data": view.turtle(number)}
            lines.write(json.dumps({**row, "attachments": attached}) + "\n")
    print(f"\nwritten; now try, in {HERE}:")
    print("    PYTHONPATH=. triplecast match --operators cameras --subscriptions subscriptions \\")
    print(f"        --publications {folder.absolute() / 'inbox'}")


def publish(engine: triplecast.Engine, number: int, view: View) -> str:
    """Who is told of a snapshot, and what."""
    iri = f"{CITY}snapshot/{number}"
    receipt = engine.publish(view.turtle(number), "text/turtle", iri, attachments={f"{iri}.png": view.snapshot.png()})
    told = []
    for match in receipt.matches:
        for row in match.bindings:
            values = {name: row[name].value for name in TOLD if name in row}
            found = (
                f"{name} {float(value):.0f}" if name == "metres" else f"{name} {value}"
                for name, value in values.items()
            )
            told.append(f"{match.subscription}: {', '.join(found)}")
    return "; ".join(told) or "-"


def main() -> None:
    views = draw_city()
    with triplecast.Engine() as engine:
        for path in sorted((HERE / "subscriptions").glob("*.rq")):
            asked, _, query = path.read_text("utf-8").partition("\n")
            engine.subscribe(query, id=path.stem)
            print(asked.removeprefix("# "))
        print(f"\n{'place':15} {'what was drawn':36} who is told")
        for number, view in enumerate(views, 1):
            print(f"{view.place:15} {view.seen:36} {publish(engine, number, view)}")
        calls = engine.statistics().work.operator_calls
    alone = PREDICATES * len(views)
    print(
        f"\n{calls} calls of operators for {len(views)} snapshots; subscriptions asked one by one could take {alone}."
    )
    if len(sys.argv) > 1:
        write_inbox(views, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
