"""What all figures share: titles and legends that can be read whole, however narrow the figure."""

import pytest

from analysis.figures.edges import cut_off
from derl.analysis.figures import style

WORDS = "Learning curves in DeepSea, best bonus of each algorithm there"


def titled(text: str, width: float, panels: int = 1):
    with style.styled():
        figure = style.new_figure(width, 3.0)
        figure.subplots(1, panels, squeeze=False)
        style.add_title(figure, text)
    return figure


@pytest.mark.parametrize(("width", "panels"), [(2.5, 1), (3.2, 1), (4.6, 1), (5.6, 1), (6.2, 2), (9.3, 3)])
def test_a_title_is_within_its_figure(width, panels):
    figure = titled(WORDS, width, panels)
    assert cut_off(figure) == []
    assert figure.get_suptitle().split() == WORDS.split()
    # Nor is anything below it covered.
    title = figure.texts[0].get_window_extent()
    assert not any(title.overlaps(axes.get_tightbbox()) for axes in figure.axes)


def test_a_title_that_fits_stays_in_one_line():
    assert titled(WORDS, 9.3).get_suptitle() == WORDS


def test_what_is_cut_off_is_found():
    figure = titled(WORDS, 5.6)
    figure.texts[0].set_text(WORDS)
    assert cut_off(figure) == [WORDS]


def test_lines_are_about_equally_long_and_words_stay_whole():
    breaks = list(style.line_breaks("One two three four in Hallway-10-10\na note"))
    assert breaks[:3] == [
        "One two three four in Hallway-10-10\na note",
        "One two three four\nin Hallway-10-10\na note",
        "One two three\nfour in\nHallway-10-10\na note",
    ]
    assert breaks[-1].split("\n") == ["One", "two", "three", "four", "in", "Hallway-10-10", "a", "note"]
    assert list(style.line_breaks("word")) == ["word"]
