"""What the report says of differences: how many are explained, and every one with its reasons."""

import dataclasses
import re

import polars as pl

from analysis.report.reading import EVALUATIONS
from analysis.synthetic import made_up
from derl.analysis.published.counted import counted_reasons
from derl.analysis.published.verdicts import verdicts
from derl.analysis.report.differences import differences_section
from derl.analysis.report.numbers import grouped_results, tables_of
from derl.analysis.report.sections import explained
from derl.experiments.cases import Case


def test_what_is_known_about_differences_is_counted():
    case = Case.of("dedqn-count", "DeepSea-10")
    online = Case.of("dedqn-count", "DeepSea-10", {"exploiter.frozen_targets": False})
    frame = made_up([case, online], seeds=15, evaluations=EVALUATIONS).with_columns(pl.lit(-0.5).alias("return"))
    tables = tables_of(verdicts(grouped_results(frame), evaluations=EVALUATIONS))
    differing = [number for table in tables for number in table.numbers.values() if number.verdict == "differs"]
    assert {number.standing for number in differing} == {"refuted"}
    assert differing[0].reason.split("\n") == [
        "Not explained, though tested",
        "the luck of a few runs (10 runs: −0.50; less than 0.1 % of samples of five are as far off), "
        "DeDQN's frozen targets (15 runs: −0.50): tested, not the reason",
    ]
    assert differing[0].best_reason == "Not explained: 2 reasons were tested, and none is it."
    assert explained([]) == ""
    # One sentence: what was 80 words long stood above everything, and once more where it is explained.
    sentence = re.sub("<[^>]*>", "", explained(tables))
    assert f"0 explained, {len(differing)} not explained by any reason" in sentence
    assert len(sentence.split()) < 35
    assert 'href="#differences"' in explained(tables)


def test_every_difference_is_listed_with_what_tests_it():
    case = Case.of("dedqn-count", "DeepSea-10")
    online = Case.of("dedqn-count", "DeepSea-10", {"exploiter.frozen_targets": False})
    frame = made_up([case, online], seeds=15, evaluations=EVALUATIONS).with_columns(pl.lit(-0.5).alias("return"))
    judged = verdicts(grouped_results(frame), evaluations=EVALUATIONS)
    differing = [v for v in judged if v.outcome == "differs"]
    text = differences_section(tables_of(judged), counted_reasons(judged), "So many by luck.")
    assert f"<b>{len(differing)}</b> not explained, though all reasons were tested" in text
    assert (
        text.count("the luck of a few runs (10 runs: −0.50; less than 0.1 % of samples of five are as far off)")
        == len(differing)
        > 1
    )
    assert "So many by luck." in text
    assert "<code>exploiter.frozen_targets=false</code></td>" in text
    # A phone shows these names before each number: "Is it: 0" and "Is not: 0" said nothing.
    names = dict(re.findall(r'data-label="([^"]*)">(\d+)<', text))
    assert names["It is not"] == names["Differences it concerns"] == str(len(differing))
    assert names["It is the reason"] == "0"
    # Of shorter training nobody asks why, but what differs is not said to agree.
    unasked = tables_of(dataclasses.replace(v, asked=False) for v in judged)
    assert "shorter than the paper" in differences_section(unasked, (), "")
    agreeing = tables_of(v for v in judged if v.outcome != "differs")
    assert "No published number was run" in differences_section(agreeing, (), "")
    as_published = tables_of(dataclasses.replace(v, outcome="consistent") for v in judged if v.outcome != "differs")
    assert "None differs" in differences_section(as_published, (), "")
