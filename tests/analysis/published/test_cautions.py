"""Pages that are not about the paper's own experiment say so."""

import numpy as np
import polars as pl

from analysis.made_up import frame_of
from derl.analysis.claims.paper import claims
from derl.analysis.measures.frames import Results
from derl.analysis.pages.reproduction import write_pages
from derl.analysis.published.cautions import cautions, sweep_caution, trained_for_less
from derl.analysis.published.verdicts import verdicts
from derl.analysis.report import write_report
from derl.analysis.report.numbers import of_the_paper
from derl.experiments.builtin import experiment
from derl.experiments.cases import Case
from derl.training.version import ENGINE

CASES = [Case.of(recipe, "DeepSea-10") for recipe in ("dea2c-count", "a2c-count", "dedqn-count")]
SAID = "Trained for 2,000 of 100,000 episodes"


def results(every: int, evaluations: int = 100) -> Results:
    """Runs that differ from the published numbers, evaluated every so many episodes."""
    levels = {case: np.full((5, evaluations), 0.5 - 0.1 * i) for i, case in enumerate(CASES)}
    return Results(frame_of(levels, every))


def test_short_training_is_told_from_unfinished_runs():
    assert trained_for_less(results(20)) == SAID
    assert trained_for_less(results(1000)) == trained_for_less(results(1000, 30)) == ""
    # Runs that are called shorter are what they are called.
    case = Case.of("a2c", "DeepSea-10", {"protocol.episodes": 2000, "protocol.evaluate_every": 20})
    assert trained_for_less(Results(frame_of({case: [[0.0] * 100]}, 20))) == ""


def test_what_is_short_of_20_000_episodes_is_not_said_to_be_short_of_100_000():
    changes = {"protocol.episodes": 20_000, "protocol.evaluate_every": 200, "explorer_reward": "intrinsic"}
    pure = frame_of({Case.of("dea2c-count", "DeepSea-10", changes): [[0.0] * 100]}, 20)
    assert trained_for_less(Results(pure)) == "Trained for 2,000 of 20,000 episodes"


def test_parts_that_are_not_known_here_promise_nothing():
    """They took the whole report away."""
    for changes in ({"bonus_kind": "mine"}, {"bonus.lost": 3.0}):
        own = frame_of({Case.of("a2c-count", "DeepSea-10", changes): [[0.0] * 100]}, 20)
        assert trained_for_less(Results(own)) == ""


def test_a_last_evaluation_that_comes_sooner_is_not_short():
    """Training of 1,500 episodes has its last evaluation 500 after the one before."""
    case = Case.of("a2c-count", "DeepSea-10", {"protocol.episodes": 1500})
    odd = frame_of({case: [[0.0, 0.0]]}, 1000).with_columns(pl.col("episodes").clip(None, 1500))
    assert trained_for_less(Results(odd)) == ""
    once = frame_of({Case.of("a2c-count", "DeepSea-10", {"protocol.episodes": 500}): [[0.0]]}, 500)
    assert trained_for_less(Results(once)) == ""
    assert trained_for_less(Results(frame_of({Case.of("a2c-count", "DeepSea-10"): [[0.0]]}, 500))) != ""


def test_training_that_ends_with_a_whole_iteration_is_not_short():
    """An iteration of PPO is 40 steps, four episodes: a sweep of 50 episodes ends at 48, and took all claims away."""
    short = Case.of("ppo-count", "DeepSea-10", {"protocol.episodes": 50, "protocol.evaluate_every": 10})
    frame = frame_of({short: [[0.0] * 5]}, 10).with_columns(pl.col("episodes").clip(None, 48))
    assert trained_for_less(Results(frame)) == ""
    assert trained_for_less(Results(frame.with_columns(pl.col("episodes").clip(None, 44)))) != ""
    # What somebody calls his own promises nothing about the paper.
    own = frame.with_columns(pl.col("episodes").clip(None, 10), task=pl.lit("DeepSea-5"))
    assert trained_for_less(Results(own)) == ""


def test_a_sweep_that_is_shorter_than_the_paper_says_so():
    def caution(*changes: dict, task: str = "DeepSea-10", recipe: str = "a2c-count") -> str:
        return sweep_caution(Results(frame_of({Case.of(recipe, task, c): [[0.0] * 10] for c in changes}, 100)))

    short = {"protocol.episodes": 1000, "protocol.evaluate_every": 100}
    assert caution(short) == "Trained for 1,000 episodes, the paper's runs for 100,000: expect other returns."
    assert caution(short, {"bonus.scale": 3.0}).startswith("Trained for 1,000 episodes in some cases,")
    assert caution({"bonus.scale": 3.0}) == caution({**short, "protocol.episodes": 100_000}) == ""
    assert caution(short, task="Maze-7") == ""
    # The paper's own experiment without extrinsic rewards has 20,000.
    pure = [case for case in experiment("pure-exploration").cases if "DeepSea" in case.task]
    assert sweep_caution(Results(frame_of({case: [[0.0] * 10] for case in pure}, 200))) == ""


def test_recipes_that_are_evaluated_more_often_are_not_short():
    """Two runs of the own recipe among the paper's took every claim away."""
    own = Results(frame_of({Case.of("derl", "DeepSea-10"): [[0.9] * 200] * 2}, 10))
    assert trained_for_less(own) == ""
    both = Results(pl.concat([results(1000).frame, own.frame], how="diagonal"))
    assert trained_for_less(both) == ""
    assert set(of_the_paper(both).frame["recipe"]) == {case.recipe for case in CASES}


def test_of_short_training_nothing_is_claimed_or_explained():
    assert {c.outcome for c in claims(results(1000))} > {"does not hold"}
    short = claims(results(20))
    assert {(c.outcome, c.effect) for c in short} == {("not enough data", None)}
    assert all("trained for 2,000 of 100,000 episodes" in c.words for c in short)
    whole, few = ([v for v in verdicts(results(every)) if v.outcome == "differs"] for every in (1000, 20))
    assert len(whole) == len(few)
    assert {v.standing for v in whole} >= {"possible"}
    assert {(v.standing, v.explanations) for v in few} == {(None, ())}


def test_every_page_and_the_report_say_so(tmp_path):
    pages = [p for p in write_pages(results(20), tmp_path) if p.suffix == ".md"]
    assert len(pages) == 11
    # Nothing is claimed, and there is no page that says so thirteen times.
    assert "Claims and reasons for differences are left out" in (tmp_path / "README.md").read_text()
    assert "## Claims" not in (tmp_path / "README.md").read_text()
    assert not (tmp_path / "claims.md").exists()
    assert all(f"\n\n> **{SAID}: expect differences." in p.read_text() for p in pages)
    assert not any("regenerates these numbers" in p.read_text() for p in pages)
    # Which command made them is not known: `table-1 --quick` makes numbers of other tables as well.
    decay = tmp_path / "decay-sensitivity-count-deepsea-mean.md"
    assert "These are shorter runs than `derl reproduce decay` makes;" in decay.read_text()
    assert not any("made these numbers" in p.read_text() for p in pages)
    assert "Why numbers differ" not in (tmp_path / "README.md").read_text()
    frame = results(20).frame.with_columns(failed_at_step=None)
    assert SAID in write_report(frame, tmp_path / "short.html").read_text()
    whole = write_report(results(1000).frame.with_columns(failed_at_step=None), tmp_path / "whole.html").read_text()
    assert "expect differences" not in whole


def test_a_cut_is_told():
    assert cautions(results(1000)) == []
    assert cautions(results(1000), 50) == [
        "Only the first 50 evaluations of every run count here. The paper's numbers are of 100: expect differences."
    ]


def test_runs_of_another_engine_are_told(tmp_path):
    """A report of results that nobody could make again gave its verdicts as if they were this version's."""
    frame = results(1000).frame.with_columns(failed_at_step=None)
    current = Results(frame.with_columns(engine=pl.lit(ENGINE)))
    assert cautions(current) == cautions(Results(frame.with_columns(engine=pl.lit(None, pl.Int64)))) == []
    older = frame.with_columns(engine=pl.lit(ENGINE + 3))
    again = f"this derl has {ENGINE} and would run them again: expect other numbers."
    told = f"15 of 15 runs are of engine {ENGINE + 3}; {again}"
    assert cautions(Results(older)) == [told]
    engines = {0: ENGINE + 1, 1: ENGINE + 2, 2: ENGINE + 4}
    some = frame.with_columns(engine=pl.col("run").replace_strict(engines, default=ENGINE))
    (caution,) = cautions(Results(some))
    assert caution == f"3 of 15 runs are of engines {ENGINE + 1}, {ENGINE + 2}, {ENGINE + 4}; {again}"
    assert f">{told}<" in write_report(older, tmp_path / "old.html").read_text()
    # Runs that are none of the paper's count as well.
    own = older.with_columns(task=pl.lit("Maze-7"))
    assert f">{told}<" in write_report(own, tmp_path / "own.html").read_text()
    write_pages(older, tmp_path)
    assert f"> **{told}**" in (tmp_path / "mean-returns.md").read_text()


def test_other_seeds_than_the_first_are_told():
    frame = results(1000).frame
    told = "not the experiments' own, 0 to 4, but 5 to 9: “the first five seeds” are the first five of these."
    moved = frame.with_columns(pl.col("seed") + 5)
    assert cautions(Results(moved)) == [f"The seeds that count are {told}"]
    one = frame.with_columns(pl.col("seed") + pl.when(pl.col("recipe") == "dea2c-count").then(5).otherwise(0))
    assert cautions(Results(one)) == [f"The seeds that count are in 1 of 3 cases {told}"]
    # Further ones beside the first do not count, nor do those that are not finished.
    both = pl.concat([frame, moved.with_columns(pl.col("run") + 100)])
    assert cautions(Results(both)) == []
    cut = both.filter((pl.col("seed") != 0) | (pl.col("evaluation") < 50) | (pl.col("recipe") != "dea2c-count"))
    assert "in 1 of 3 cases not the experiments' own, 0 to 4, but 1 to 5:" in cautions(Results(cut))[0]
    assert cautions(Results(frame.filter(pl.col("seed") < 2))) == []
