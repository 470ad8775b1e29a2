"""Figures about the divergence of two policies: how their lines look."""

import polars as pl

from analysis.made_up import variants_of
from derl.analysis.claims.divergence import main_groups
from derl.analysis.figures.kl import four_panels
from derl.analysis.measures.frames import Results


def looks_in(frame: pl.DataFrame) -> dict[str, tuple]:
    """Colour and marker of each line of the first panel, by its name."""
    results = Results(frame)
    (group,) = main_groups(results)
    lines = [line for line in four_panels(results, group).axes[0].lines if line.get_label() != "optimum"]
    return {line.get_label(): (line.get_color(), line.get_marker()) for line in lines}


def test_a_variant_looks_the_same_whichever_others_were_run():
    frame = variants_of("Hallway-10-10")
    whole = looks_in(frame)
    assert len(whole) == len(set(whole.values())) == 4
    free = ~pl.col("setting").str.contains("alpha")
    part = looks_in(frame.filter(~(free & pl.col("setting").str.contains("intrinsic"))))
    assert len(part) == 3
    assert part.items() <= whole.items()


def test_rewards_are_written_as_in_the_paper():
    names = looks_in(variants_of("DeepSea-10"))
    assert sum(name.startswith("$r^e + \\lambda r^i$, ") for name in names) == 2
    assert sum(name.startswith("$\\lambda r^i$, ") for name in names) == 2
