"""Figures as PNG and SVG: each beside its counted work, and all on one sheet laid out like the paper's.

A name has one colour on all of a paper's plots; what follows its comma (``RTFm, 50%``) has a dash. Bars span the turns
or seeds; a star is what the paper prints. Lines that a claim calls linear are drawn a second time with both axes
logarithmic, beside a line that is linear.

matplotlib is wanted (`requirements-experiments.lock`, which ``make experiments`` installs); where it is absent no plot
is drawn and the caller is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any

from experiments.claims import Claim
from experiments.figures import ENGINE, ENGINE_BATCH, Figure, Line
from experiments.record import Record

Layout = Sequence[Sequence[str]]
"""Rows of figure names, as on the paper's page."""

FORMATS = ("png", "svg")
SHEET = "figures"
_COLOURS = ("#1f5aa6", "#c8532d", "#3d8b4f", "#8a5aa8", "#b8901e", "#b0307a", "#2a9aa8", "#7a4a2a")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
_NARROW = 2.2
"""Decades: values that span fewer have ticks at 2 and 5 too."""

Styles = Mapping[str, Mapping[str, Any]]
"""By name of the line."""


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn on one pair of axes."""

    figure: Figure
    lines: Sequence[Line]
    of_work: bool = False
    logarithmic: bool = False
    both_logarithmic: bool = False
    title: str = ""

    @property
    def unit(self) -> str:
        return "counted steps a publication" if self.of_work else self.figure.unit

    def values(self, line: Line) -> tuple[list[float], list[float]]:
        """(across, up): what is not finite leaves a gap, and so does 0 where it has no place."""
        up = [point.steps if self.of_work else point.value for point in line.points]
        return [point.x for point in line.points], [
            y if math.isfinite(y) and (y > 0 or not self.logarithmic) else math.nan for y in up
        ]


def find_plotting() -> str:
    """Why no plot can be drawn; empty where it can."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        return f"matplotlib cannot be imported ({error}): `make experiments` installs it"
    return ""


def name_plots(figures: Iterable[Figure], layout: Layout) -> list[str]:
    """The files of a run's plots."""
    names = [figure.name for figure in figures]
    stems = [*(f"figure-{name}" for name in names), *([SHEET] if _rows_of(names, layout) else [])]
    return [f"{stem}.{kind}" for stem in stems for kind in FORMATS]


def write_plots(folder: Path, record: Record, layout: Layout) -> list[Path]:
    """`name_plots` in `folder`, which exists. Needs matplotlib."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "experiments", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    from matplotlib import pyplot

    styles = choose_styles(record.figures)
    claims = [verdict.claim for verdict in record.verdicts]
    written: list[Path] = []
    for figure in record.figures:
        panels = list(find_panels(figure, claims))
        size = (1.8 + 3.8 * len(panels), 3.5)
        drawn, places = pyplot.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
        for panel, axes in zip(panels, places[0], strict=True):
            _draw(axes, panel, styles)
            axes.set_title(panel.title, fontsize=8)
        _add_legend(drawn, panels[0], styles, loc="outside right center")
        drawn.suptitle(_plain(f"Figure {figure.name}: {figure.title}"), fontsize=10)
        written += _save(drawn, folder / f"figure-{figure.name}", record.stamp)
        pyplot.close(drawn)
    return written + _write_sheet(folder, record, layout, styles, pyplot)


def find_panels(figure: Figure, claims: Sequence[Claim]) -> Iterator[Panel]:
    """The values; those that a claim calls linear with both axes logarithmic; the counted work."""
    yield Panel(figure, figure.lines, logarithmic=figure.logarithmic)
    called = {name for claim in claims if claim.figure == figure.name for name in _called_linear(claim.check)}
    linear = [line for line in figure.lines if line.name in called]
    if linear:
        yield Panel(figure, linear, logarithmic=True, both_logarithmic=True, title="said to be linear: log-log")
    counted = [line for line in figure.lines if any(point.work for point in line.points)]
    counted = [line for line in counted if line.name != ENGINE_BATCH]
    if counted:
        yield Panel(figure, counted, of_work=True, logarithmic=True)


def _called_linear(check: Mapping[str, Any]) -> Iterator[str]:
    if check["kind"] == "linear" and check["of"] == "value":
        yield check["line"]
    for each in check.get("checks", ()):
        yield from _called_linear(each)


def _rows_of(names: Iterable[str], layout: Layout) -> list[list[str]]:
    known = set(names)
    rows = [[name for name in row if name in known] for row in layout]
    return [row for row in rows if row]


def _write_sheet(folder: Path, record: Record, layout: Layout, styles: Styles, pyplot: Any) -> list[Path]:
    known = {figure.name: figure for figure in record.figures}
    rows = _rows_of(known, layout)
    if not rows:
        return []
    width = max(len(row) for row in rows)
    size = (4.9 * width, 0.4 + 3.0 * len(rows))
    drawn, places = pyplot.subplots(len(rows), width, figsize=size, squeeze=False, layout="constrained")
    for row, line_of_axes in zip(rows, places, strict=True):
        for name, axes in zip(row, line_of_axes, strict=False):
            figure = known[name]
            panel = Panel(figure, figure.lines, logarithmic=figure.logarithmic)
            _draw(axes, panel, styles)
            axes.set_title(fill(_plain(f"({name}) {figure.title}"), 44), fontsize=8)
            _add_legend(axes, panel, styles, loc="center left", bbox_to_anchor=(1.0, 0.5))
        for axes in line_of_axes[len(row) :]:
            axes.axis("off")
    drawn.suptitle(_plain(record.title))
    written = _save(drawn, folder / SHEET, record.stamp)
    pyplot.close(drawn)
    return written


def _draw(axes: Any, panel: Panel, styles: Styles) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    shown: list[float] = []
    for number, line in enumerate(panel.lines):
        across, up = panel.values(line)
        shown += [y for y in up if math.isfinite(y)]
        axes.plot(across, up, zorder=3 + number, clip_on=False, **styles[line.name])
        shown += _draw_spread(axes, panel, line, styles) if not panel.of_work else []
    if panel.both_logarithmic and shown:
        _draw_linear(axes, panel)
    if panel.logarithmic and shown:
        _scale_by_decades(axes.yaxis, min(shown), max(shown))
    else:
        axes.set_ylim(bottom=min(0.0, *shown) if shown else 0.0)
        axes.yaxis.set_major_formatter(FuncFormatter(_show_tick))
    measured = sorted({point.x for line in panel.lines for point in line.points})
    apart = _are_apart([math.log(x) for x in measured] if panel.both_logarithmic else measured)
    axes.xaxis.set_major_locator(FixedLocator(measured) if apart else MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(_show_tick))
    axes.set_xlabel(_plain(panel.figure.across))
    axes.set_ylabel(_plain(panel.unit))
    axes.grid(alpha=0.25)


def _draw_spread(axes: Any, panel: Panel, line: Line, styles: Styles) -> list[float]:
    """Bars of the spread, stars of what is printed; gives the heights of the stars."""
    colour = styles[line.name]["color"]
    for point in line.points:
        if point.spread is not None and (point.spread[0] > 0 or not panel.logarithmic):
            axes.vlines(point.x, *point.spread, color=colour, linewidth=1.2, alpha=0.6, clip_on=False)
    printed = panel.figure.printed.get(line.name, {})
    axes.plot(
        [*printed], [*printed.values()], linestyle="", marker="*", markersize=11, markerfacecolor="white", color=colour
    )
    return [*printed.values()]


def _draw_linear(axes: Any, panel: Panel) -> None:
    """Through the last point of each line, and in proportion."""
    axes.set_xscale("log")
    for line in panel.lines:
        across, up = panel.values(line)
        first, last = across[0], across[-1]
        if first > 0 and math.isfinite(up[-1]):
            axes.plot([first, last], [up[-1] * first / last, up[-1]], color="0.6", linewidth=0.8, linestyle=":")


def _are_apart(measured: Sequence[float]) -> bool:
    """Whether each can have its label."""
    gaps = [after - before for before, after in pairwise(measured)]
    return len(measured) > 1 and min(gaps) >= (measured[-1] - measured[0]) / 5


def _scale_by_decades(axis: Any, least: float, most: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.axes.set_yscale("log")
    narrow = math.log10(most / least) < _NARROW
    if narrow:  # limits that hold at least two of 1, 2, 5
        axis.axes.set_ylim(least / 1.6, most * 1.6)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
    axis.set_major_formatter(FuncFormatter(_show_tick))
    axis.set_minor_formatter(NullFormatter())


def _show_tick(value: float, _place: int) -> str:
    """No power of ten: 0.4 and 40,000."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _add_legend(place: Any, panel: Panel, styles: Styles, **where: Any) -> None:
    """Beside the axes: on them it would lie on lines."""
    from matplotlib.lines import Line2D

    names = [line.name for line in panel.lines]
    signs = [Line2D([], [], **styles[name]) for name in names]
    place.legend(signs, [_plain(name) for name in names], fontsize=7, frameon=False, handlelength=3.2, **where)


def _plain(text: str) -> str:
    """Without what matplotlib takes for its own: mathematics between dollars, and names that begin with ``_``, which
    legends leave out."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def choose_styles(figures: Sequence[Figure]) -> Styles:
    """By name of the line: a colour and a marker for what is before the comma, the same on all figures and never that
    of another on one of them; a dash for what is after it. The engine is black."""
    lines = [line for figure in figures for line in figure.lines]
    together = [list(dict.fromkeys(_split(line.name)[0] for line in figure.lines)) for figure in figures]
    colours = _choose_numbers(together)
    after = [list(dict.fromkeys(_split(line.name)[1] for line in figure.lines)) for figure in figures]
    dashes = _choose_numbers(after)
    return {line.name: _style_of(line, colours, dashes) for line in lines}


def _style_of(line: Line, colours: Mapping[str, int], dashes: Mapping[str, int]) -> dict[str, Any]:
    before, after = _split(line.name)
    number, dash = colours[before], dashes[after]
    return {
        "color": "black" if ENGINE in before else _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[dash % len(_DASHES)],
        "marker": _MARKERS[(number + 3 * dash) % len(_MARKERS)],
        "markersize": 4,
    }


def _split(name: str) -> tuple[str, str]:
    before, _, after = name.partition(", ")
    return before, after


def _choose_numbers(groups: Iterable[Sequence[str]]) -> dict[str, int]:
    """A number for each name, the least that no name has with which it shares a group; the empty name has 0."""
    groups = list(groups)
    chosen: dict[str, int] = {}
    for name in dict.fromkeys(["", *(name for group in groups for name in group)]):
        taken = {chosen[other] for group in groups if name in group for other in group if other in chosen}
        chosen[name] = next(number for number in range(len(chosen) + 1) if number not in taken)
    return chosen


def _save(drawn: Any, stem: Path, stamp: str) -> list[Path]:
    drawn.supxlabel(stamp, x=0.995, ha="right", fontsize=6, color="0.4")
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in FORMATS]  # a figure's name may hold a dot
    for path in paths:
        plain: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 110}
        drawn.savefig(path, **plain)
    return paths
