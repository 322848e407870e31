"""Figures as PNG and SVG: each beside its counted work, and all on one sheet laid out like the paper's.

matplotlib is wanted (`requirements-experiments.lock`, which ``make experiments`` installs); where it is absent no plot
is drawn and the caller is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from experiments.figures import ENGINE, ENGINE_BATCH, Figure, Line
from experiments.record import Record

Layout = Sequence[Sequence[str]]
"""Rows of figure names, as on the paper's page."""

FORMATS = ("png", "svg")
_COLOURS = ("#1f5aa6", "#c8532d", "#3d8b4f", "#8a5aa8", "#7a6a3a", "#b0307a")
_MARKERS = ("o", "s", "^", "D", "v", "P")


def can_plot() -> bool:
    return find_spec("matplotlib") is not None


def write_plots(folder: Path, record: Record, layout: Layout) -> list[Path]:
    """``figure-<name>`` for each figure and ``figures`` for the sheet, as `FORMATS`. Needs matplotlib."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "experiments", "font.size": 9, "axes.spines.top": False})
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for figure in record.figures:
        counted = any(point.work for line in figure.lines for point in line.points)
        drawn, places = pyplot.subplots(1, 2 if counted else 1, figsize=(9.6 if counted else 5.0, 3.6), squeeze=False)
        _draw(places[0][0], figure, of_work=False)
        if counted:
            _draw(places[0][1], figure, of_work=True)
        drawn.suptitle(f"Figure {figure.name}: {figure.title}")
        written += _save(drawn, folder / f"figure-{figure.name}", record.stamp)
        pyplot.close(drawn)
    written += _write_sheet(folder, record, layout, pyplot)
    return written


def _write_sheet(folder: Path, record: Record, layout: Layout, pyplot: Any) -> list[Path]:
    known = {figure.name: figure for figure in record.figures}
    rows = [[name for name in row if name in known] for row in layout]
    rows = [row for row in rows if row]
    if not rows:
        return []
    width = max(len(row) for row in rows)
    drawn, places = pyplot.subplots(len(rows), width, figsize=(4.2 * width, 3.3 * len(rows)), squeeze=False)
    for i, row in enumerate(rows):
        for j in range(width):
            if j < len(row):
                _draw(places[i][j], known[row[j]], of_work=False)
                places[i][j].set_title(f"({row[j]}) {known[row[j]].title}", fontsize=8)
            else:
                places[i][j].axis("off")
    drawn.suptitle(record.title)
    written = _save(drawn, folder / "figures", record.stamp)
    pyplot.close(drawn)
    return written


def _draw(axes: Any, figure: Figure, of_work: bool) -> None:
    drawn = [line for line in figure.lines if not of_work or any(point.work for point in line.points)]
    if of_work:
        drawn = [line for line in drawn if line.name != ENGINE_BATCH]
    for number, line in enumerate(drawn):
        across = [point.x for point in line.points]
        values = [point.steps if of_work else point.value for point in line.points]
        style = _style_of(line, [each.name for each in figure.lines].index(line.name))
        axes.plot(across, values, label=line.name, zorder=3 + number, **style)
    logarithmic = of_work or figure.logarithmic
    if logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(figure.across)
    axes.set_ylabel("counted steps a publication" if of_work else figure.unit)
    axes.grid(alpha=0.25)
    outside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(drawn) > len(_COLOURS) else {}
    axes.legend(fontsize=7, frameon=False, **outside)


def _style_of(line: Line, place: int) -> dict[str, Any]:
    if line.name.startswith(ENGINE):
        dash = {ENGINE: "-", ENGINE_BATCH: ":"}.get(line.name, "--")
        return {"color": "black", "linestyle": dash, "marker": _MARKERS[place % len(_MARKERS)], "markersize": 3}
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "linestyle": "-" if place < len(_COLOURS) else "--",
        "marker": _MARKERS[place % len(_MARKERS)],
        "markersize": 4,
    }


def _save(drawn: Any, stem: Path, stamp: str) -> list[Path]:
    drawn.text(0.995, 0.005, stamp, ha="right", va="bottom", fontsize=6, color="0.4")
    drawn.tight_layout()
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in FORMATS]  # a figure's name may hold a dot
    for path in paths:
        plain: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 110}
        drawn.savefig(path, **plain)
    return paths
