"""What a reader of a picture would not see whole."""

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.text import Text


def cut_off(figure: Figure) -> list[str]:
    """The titles, legends, labels and notes that reach over an edge of their figure."""
    figure.canvas.draw()
    outside = []
    for name, part in parts_of(figure):
        box = part.get_window_extent()
        inside = min(box.x0, box.y0) >= 0 and box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height
        outside += [] if inside else [name]
    return outside


def parts_of(figure: Figure) -> list[tuple[str, Artist]]:
    """Everything that says something, but for the numbers of ticks, with what it says."""
    texts: list[Text] = list(figure.texts)
    legends = list(figure.legends)
    for axes in figure.axes:
        texts += [axes.title, *axes.texts]
        # Titles at the left and the right have no public name.
        texts += [axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label]
        legends += [legend for legend in [axes.get_legend()] if legend is not None]
    named: list[tuple[str, Artist]] = [(text.get_text(), text) for text in texts if text.get_text()]
    return named + [(", ".join(text.get_text() for text in legend.get_texts()), legend) for legend in legends]
