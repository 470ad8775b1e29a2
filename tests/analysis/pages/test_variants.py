"""Tables of variants: what stands in which column, and its mark."""

from analysis.made_up import frame_of
from derl.analysis.measures.frames import Results
from derl.analysis.pages.variants import variants_table
from derl.experiments.cases import Case, normal_form


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
    cases = [("a2c-count", "DeepSea-10"), ("a2c-count", "Hallway-10-0")]
    *_, deep_sea, hallway = variants_table(results, cases, {"greedy": [{}], "sampled": [sampled]}).splitlines()
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
    cases = [(recipe, "Hallway-10-0") for recipe in ("ppo-icm", "ppo-ride", "ppo-count")]
    columns = {"here": [{}, {"bonus.counts": "none"}, written]}
    *_, icm, ride, count = variants_table(results, cases, columns).splitlines()
    assert icm.endswith("| · |")
    assert ride.endswith("| −0.10 ± 0.00 ✓ |")
    assert count.endswith("| 0.30 ± 0.00 ≠ |")
