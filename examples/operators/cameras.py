"""What this city asks of its pictures beyond counting: operators of one's own, on the pixels that the box reads.

On photographs a model would answer here (docs/operators.md, "A model of one's own"); on drawn pictures a rule does.
"""

from __future__ import annotations

from itertools import pairwise

import drawing
from pyoxigraph import NamedNode

from triplecast.operators import PublicationView, operator
from triplecast.operators.box.pictures import count_objects, measure_objects, read_colour, read_pixels, select_colour

CAM = "https://city.example.org/camera#"
KINDS = {
    "policeCar": (drawing.POLICE,),
    "anyCar": (drawing.POLICE, drawing.CAR, drawing.VAN),
}
SAME_LANE = 10
CLOSE = 3 * drawing.CAR_LENGTH
"""Pixels from the middle of one car to that of the next in its lane, in a chase."""
JAM = 5
"""Cars in one lane, less than a car's length between each and the next."""
ELBOW = 7
"""Pixels between people of one crowd."""


@operator(CAM + "chasePattern", version="1", arguments=("bound", "bound", "bound"), cost=0.05)
def chase_pattern(event: PublicationView, picture: NamedNode, pursuer: NamedNode, pursued: NamedNode) -> bool:
    """Whether a car of one kind is close behind one of another."""
    behind, ahead = (find_cars(event, picture, kind.value.removeprefix(CAM)) for kind in (pursuer, pursued))
    return any(
        abs(one[1] - other[1]) < SAME_LANE and 0 < other[0] - one[0] < CLOSE for one in behind for other in ahead
    )


@operator(CAM + "trafficPattern", version="1", arguments=("bound", "bound"), cost=0.05)
def traffic_pattern(event: PublicationView, picture: NamedNode, pattern: NamedNode) -> bool:
    """Whether a picture shows cam:congestion or cam:accident."""
    if pattern.value == CAM + "congestion":
        cars = sorted(find_cars(event, picture, "anyCar"), key=lambda car: (round(car[1] / SAME_LANE), car[0]))
        run = longest = 1
        for one, other in pairwise(cars):
            near = abs(one[1] - other[1]) < SAME_LANE and other[0] - one[0] < 2 * drawing.CAR_LENGTH
            run = run + 1 if near else 1
            longest = max(longest, run)
        return longest >= JAM
    if pattern.value == CAM + "accident":
        pixels = read_pixels(event, picture)
        masks = [select_colour(pixels, read_colour(colour)) for colour in KINDS["anyCar"]]
        return count_objects(masks[0] | masks[1] | masks[2]) < sum(map(count_objects, masks))
    raise ValueError(f"{pattern} is no pattern of traffic; ask for cam:congestion or cam:accident")


@operator(CAM + "mobPattern", version="1", arguments=("bound", "free"), cost=0.05)
def mob_pattern(event: PublicationView, picture: NamedNode) -> int | None:
    """How many people the largest crowd has, of people who stand elbow to elbow; none where nobody does."""
    people = find(event, picture, (drawing.PERSON,))
    waiting = set(people)
    largest = 1
    while waiting:
        edge = [waiting.pop()]
        size = 0
        while edge:
            x, y = edge.pop()
            size += 1
            near = {each for each in waiting if max(abs(each[0] - x), abs(each[1] - y)) < ELBOW}
            waiting -= near
            edge += near
        largest = max(largest, size)
    return largest if largest > 1 else None


def find_cars(event: PublicationView, picture: NamedNode, kind: str) -> list[tuple[float, float]]:
    if kind not in KINDS:
        raise ValueError(f"cam:{kind} is no kind of car; ask for cam:policeCar or cam:anyCar")
    return find(event, picture, KINDS[kind])


def find(event: PublicationView, picture: NamedNode, colours: tuple[str, ...]) -> list[tuple[float, float]]:
    """The middles of the objects of some colours."""
    pixels = read_pixels(event, picture)
    return [(x, y) for colour in colours for _, x, y in measure_objects(select_colour(pixels, read_colour(colour)))]
