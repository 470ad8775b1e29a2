"""The paper's rule for choosing hyper-parameters, on grids small enough to choose by eye."""

import polars as pl
import pytest

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
    assert choice.configurations == 3
    # The recipe has the paper's learning rate.
    assert choice.paper == choice.own == (3, 0.6, pytest.approx(0.55))
    row = "| A2C RND | DeepSea-20 | 3 | bonus.learning_rate=5e-07 | 0.90 | 0.45 | 3 | 0.60 | 0.55 | 3 | 0.60 | 0.55 |"
    assert row in selection_page([choice])


def test_the_papers_choice_need_not_be_the_recipes():
    """ICM of DeDQN in Hallway: the published code has other coefficients than the appendix prints in bold."""
    grid = {
        "bonus.forward_coef=0.5, bonus.inverse_coef=10, bonus.learning_rate=1e-05": [[0.2, 0.3]],
        "bonus.forward_coef=10, bonus.inverse_coef=5, bonus.learning_rate=5e-07": [[0.0, 0.1]],
        "bonus.forward_coef=1, bonus.inverse_coef=1, bonus.learning_rate=1e-05": [[0.0, 0.2]],
    }
    (choice,) = choices(frame_of({case_of("dedqn-icm", "Hallway-10-10", name): runs for name, runs in grid.items()}))
    assert choice.paper == (1, 0.3, pytest.approx(0.25))
    assert choice.own == (3, 0.1, pytest.approx(0.05))


def test_equal_maxima_are_decided_by_the_average():
    frame = results({"bonus.learning_rate=5e-07": [0.1, 0.904], "bonus.learning_rate=1e-05": [0.8, 0.901]})
    (choice,) = choices(frame)
    assert choice.best.setting == "bonus.learning_rate=1e-05"
    assert choice.paper is choice.own is None


def test_equal_configurations_share_the_better_place():
    equal = {f"bonus.learning_rate={rate}": [0.5, 0.6] for rate in ("1e-05", "1e-07", "1e-06")}
    (choice,) = choices(results({"bonus.learning_rate=5e-07": [0.0, 0.9], **equal}))
    assert choice.paper is not None
    assert (choice.paper.rank, choice.configurations) == (2, 4)


def test_a_configuration_without_a_score_comes_last():
    nothing = [float("nan")] * 2
    scores = {"bonus.learning_rate=1e-07": nothing, "bonus.learning_rate=5e-07": [0.0, 0.3]}
    (choice,) = choices(results(scores))
    assert choice.best.setting == "bonus.learning_rate=5e-07"
    assert choice.own is not None
    assert (choice.own.rank, choice.configurations) == (2, 2)
