"""Tables of variants: what stands in which column, and its mark."""

from analysis.made_up import frame_of
from derl.analysis.measures.frames import Results
from derl.analysis.pages.variants import grid_sentence, learning_table, variants_table
from derl.experiments.cases import Case, normal_form
from derl.experiments.paper import Cell, published


def averages(*cases: tuple[str, str]) -> list[Cell]:
    found = [published("tab:mean_returns", recipe, task) for recipe, task in cases]
    return [cell for cell in found if cell is not None]


def test_variants_stand_beside_the_published_number():
    """The paper has 0.98 for A2C Count on DeepSea 10 and 0.85 in Hallway 10-0."""
    sampled = {"protocol.evaluation": "sampled"}
    results = Results(
        frame_of(
            {
                # Six runs, of which the first five count.
                Case.of("a2c-count", "DeepSea-10"): [[0.97] * 100] * 5 + [[0.0] * 100],
                Case.of("a2c-count", "DeepSea-10", sampled): [[0.5] * 100] * 5,
                Case.of("a2c-count", "Hallway-10-0"): [[0.2] * 100] * 5,
            }
        )
    )
    cells = averages(("a2c-count", "DeepSea-10"), ("a2c-count", "Hallway-10-0"))
    *_, deep_sea, hallway = variants_table(results, cells, {"greedy": [{}], "sampled": [sampled]}).splitlines()
    assert deep_sea == "| A2C Count, DeepSea 10 | 0.98 ± 0.07 | 0.97 ± 0.00 ✓ | 0.50 ± 0.00 ≠ |"
    assert hallway == "| A2C Count, Hallway 10-0 | 0.85 ± 0.01 | 0.20 ± 0.00 ≠ | · |"


def test_a_column_may_be_made_otherwise_for_each_recipe():
    """A change to what a recipe does anyway is the recipe itself."""
    written = {"bonus_observations": "raw", "explorer.gamma": 0.9}
    results = Results(
        frame_of(
            {
                Case.of("ppo-ride", "Hallway-10-0"): [[-0.1] * 100] * 5,
                # As results are called when they are read: without what the recipe does anyway.
                normal_form("ppo-count", "Hallway-10-0", written): [[0.3] * 100] * 5,
            }
        )
    )
    cells = averages(*((recipe, "Hallway-10-0") for recipe in ("ppo-icm", "ppo-ride", "ppo-count")))
    columns = {"here": [{}, {"bonus.counts": "none"}, written]}
    *_, icm, ride, count = variants_table(results, cells, columns).splitlines()
    assert icm.endswith("| · |")
    assert ride.endswith("| −0.10 ± 0.00 ✓ |")
    assert count.endswith("| 0.30 ± 0.00 ≠ |")


def test_a_variant_of_a_changed_case_keeps_its_changes():
    """The paper has -0.02 for PPO Count in Hallway 10-10 with a lambda of 2."""
    changed = {"bonus.scale": 2.0, "bonus.memory": "step"}
    results = Results(frame_of({Case.of("ppo-count", "Hallway-10-10", changed): [[-0.03] * 100] * 5}))
    cell = published("tab:hallway10_10_intrinsic_coef_mean", "ppo-count", "Hallway-10-10", {"bonus.scale": 2.0})
    assert cell is not None
    line = variants_table(results, [cell], {"step": [{"bonus.memory": "step"}]}).splitlines()[-1]
    assert line == "| PPO Count, Hallway 10-10, `bonus.scale=2` | −0.02 ± 0.01 | −0.03 ± 0.00 ✓ |"


def test_all_runs_are_counted_with_those_that_never_learn():
    late = [[-0.01] * 99 + [0.5]]
    results = Results(frame_of({Case.of("a2c-count", "DeepSea-10"): [[0.5] * 100] * 6 + [[-0.01] * 100] + late}))
    cells = averages(("a2c-count", "DeepSea-10"))
    *_, line = learning_table(results, cells, {"recipe": {}, "not run": {"bonus.scale": 3.0}}).splitlines()
    # (6 * 0.5 - 0.01 + (0.5 - 0.99) / 100) / 8
    assert line == "| A2C Count, DeepSea 10 | recipe | 8 | 1 | 0.37 |"


def test_a_grid_is_told_of_what_was_run_of_it():
    """Of each setting the first runs count, and settings that the grid does not have do not."""
    results = Results(
        frame_of(
            {
                Case.of("dedqn-count", "DeepSea-20"): [[0.5] * 100] * 2 + [[0.0] * 100],
                Case.of("dedqn-count", "DeepSea-20", {"exploiter.prioritised": True}): [[0.2] * 99 + [0.9]],
                Case.of("dedqn-count", "DeepSea-20", {"bonus.scale": 0.5}): [[0.0] * 100],
            }
        )
    )
    nothing = "None of the grid's 80 settings was tried."
    assert grid_sentence(results, "dedqn-icm", "Hallway-10-10", most=2) == nothing
    # (0.5 + 0.5 + 0.207) / 3, and the run that reaches least reaches 0.5.
    assert grid_sentence(results, "dedqn-count", "DeepSea-20", most=2) == (
        "2 of the grid's 72 settings were tried, in 3 runs (at most 2 each). Every run reaches 0.50, and their average "
        "is 0.40."
    )
