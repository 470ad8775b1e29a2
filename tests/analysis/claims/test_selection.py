"""The paper's rule for choosing hyper-parameters, on grids small enough to choose by eye."""

import polars as pl

from analysis.made_up import frame_of
from derl.analysis.claims.selection import choices
from derl.analysis.pages.claims import selection_page
from derl.experiments.cases import case_of


def results(scores: dict[str, list[float]]) -> pl.DataFrame:
    """One run of each setting."""
    return frame_of({case_of("a2c-rnd", "DeepSea-20", setting): [returns] for setting, returns in scores.items()})


def test_the_highest_maximum_wins_and_the_papers_place_is_told():
    frame = results(
        {
            "bonus.learning_rate=1e-07": [0.5, 0.6],  # the paper's choice for A2C RND in DeepSea
            "bonus.learning_rate=5e-07": [0.0, 0.9],
            "bonus.learning_rate=1e-05": [0.8, 0.8],
        }
    )
    (choice,) = choices(frame)
    assert choice.best.setting == "bonus.learning_rate=5e-07"
    assert (choice.rank, choice.recipe_maximum, choice.configurations) == (3, 0.6, 3)
    assert "| A2C RND | DeepSea-20 | 3 | bonus.learning_rate=5e-07 | 0.90 | 0.45 | 3 | 0.60 | 0.55 |" in selection_page(
        [choice]
    )


def test_equal_maxima_are_decided_by_the_average():
    frame = results({"bonus.learning_rate=5e-07": [0.1, 0.904], "bonus.learning_rate=1e-05": [0.8, 0.901]})
    (choice,) = choices(frame)
    assert choice.best.setting == "bonus.learning_rate=1e-05"
    assert choice.rank is None


def test_a_configuration_without_a_score_comes_last():
    nothing = [float("nan")] * 2
    scores = {"bonus.learning_rate=1e-07": nothing, "bonus.learning_rate=5e-07": [0.0, 0.3]}
    (choice,) = choices(results(scores))
    assert choice.best.setting == "bonus.learning_rate=5e-07"
    assert (choice.rank, choice.configurations) == (2, 2)
