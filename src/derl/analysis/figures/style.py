"""How all figures look: colours everyone can tell apart, type that survives printing, no state between figures."""

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap, ListedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator

from derl.core.files import write_atomically, writing

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
"""The palette of Okabe and Ito, without its yellow, which is too faint for lines on white."""
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = "os^DvPX*"
INK, FAINT, UNSEEN = "#262626", "#8a8a8a", "#e9e7e4"
"""Text; lines in the background; states never visited."""

RC: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    # Fonts as text that can be searched and edited, not as outlines.
    "pdf.fonttype": 42,
}
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 200, "metadata": {"Software": None}},
    "pdf": {"metadata": {"CreationDate": None, "Producer": None, "Creator": None}},
}
"""The kinds of file a figure is saved as. None says when or with what it was made."""
TITLED = 0.98
"""The share of a figure's width that its title may take."""
WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that makes room for its labels by itself."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def styled() -> Any:
    """The look of all figures, for a `with` block: within it settings of the user's own do not count."""
    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, **RC}
    settings.pop("backend", None)
    return matplotlib.rc_context(settings)


def add_title(figure: Figure, text: str, size: float = 11.5, weight: str = "bold") -> None:
    """A title above all panels. One that is wider than the figure is broken into lines."""
    wrap(figure.suptitle(text, fontsize=size, fontweight=weight), TITLED * figure.bbox.width)


def wrap(text: Text, width: float) -> None:
    """Break a text into as few lines as fit into a width, in pixels."""
    for lines in line_breaks(text.get_text()):
        text.set_text(lines)
        if text.get_window_extent().width <= width:
            break


def line_breaks(text: str) -> Iterator[str]:
    """A text in one line, in two, and so on until no line has two words, each time in lines of about equal length."""
    shortest: dict[int, str] = {}
    # Of all widths that make so many lines, the smallest: no word is left over for the last one.
    for width in range(len(text), 0, -1):
        parts = [textwrap.fill(part, width, **WHOLE_WORDS) for part in text.split("\n")]
        lines = "\n".join(parts)
        shortest[lines.count("\n")] = lines
    yield from shortest.values()


def add_legend(
    figure: Figure, handles: Iterable[Artist], names: Iterable[str], columns: Iterable[int], **options: Any
) -> None:
    """A legend beside all panels, in the first of these numbers of columns with which it fits, else in the last."""
    handles, names, columns = list(handles), list(names), list(columns)
    for count in columns:
        legend = figure.legend(handles, names, ncols=count, fontsize=9, **options)
        wrap(legend.get_title(), figure.bbox.width / 2)
        box = legend.get_window_extent()
        if count == columns[-1] or (box.width <= figure.bbox.width and box.height <= figure.bbox.height):
            break
        legend.remove()


def legend_below(figure: Figure, handles: Iterable[Artist], names: Iterable[str], columns: int, **options: Any) -> None:
    """A legend at the foot of a figure, in as many columns as fit beside each other."""
    add_legend(figure, handles, names, range(columns, 0, -1), loc="outside lower center", **options)


def settle(figure: Figure) -> None:
    """Lay out a figure once more than saving does.

    A legend that hangs from a panel moves when the panel shrinks to make room for it, and a single row of panels
    shrinks much.
    """
    figure.draw_without_rendering()


def save(figure: Figure, path: Path | str) -> list[Path]:
    """Write a figure as PNG and PDF; `path` is their name without the ending. The same figure gives the same bytes."""
    stem, paths = Path(path), []
    for ending, options in FORMATS.items():
        drawn = io.BytesIO()
        with styled():
            figure.savefig(drawn, format=ending, **options)
        paths.append(stem.with_name(f"{stem.name}.{ending}"))
        with writing(paths[-1]):
            write_atomically(paths[-1], drawn.getvalue())
    return paths


def colours(count: int) -> list[str]:
    """A colour for each of some lines: distinct ones as long as they last, else an ordered scale."""
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    # Viridis keeps its order for colour-blind eyes and in grey. Its lightest end would vanish on white.
    return [to_hex(colormaps["viridis"](0.9 * i / (count - 1))) for i in range(count)]


def heat_map() -> Colormap:
    """Light to dark blue: lightness alone tells the order, so that it survives a grey printer."""
    blues = colormaps["Blues"]
    steps = [blues(0.12 + 0.88 * i / 255) for i in range(256)]
    return ListedColormap(steps, name="visits").with_extremes(bad=UNSEEN)


def luminance(colour: Sequence[float]) -> float:
    """How light a colour looks, from 0 to 1."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def short_number(value: float, position: int | None = None) -> str:
    """20000 as 20k, for axes."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


def style_curves(axes: Axes, title: str) -> None:
    """An axis of returns over episodes."""
    axes.set_title(title, loc="left")
    axes.set_xlabel("Training episodes")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(short_number))
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(x=0.02)
    axes.set_xlim(left=0)
