"""Jobs hold every run once, keep the same company whatever is done already, and leave no core idle for long."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derl.experiments.builtin import experiment
from derl.experiments.experiment import Experiment, Part, product
from derl.experiments.jobs import from_data, to_data
from derl.experiments.planner import Member, distinct, members_of, plan, program_of
from derl.experiments.remaining import COMPILE_SECONDS, make_plan
from derl.training.recipes import TABLE_1, recipe
from derl.training.sizes import population_size, weights_of

CASES = product(["DeepSea-5", "Hallway-4-2"], ["a2c-count", "dedqn-count"], vary={"bonus.scale": [0.1, 1.0, 10.0]})


def members(seeds: int = 5) -> list[Member]:
    return members_of([(case, seed) for case in CASES for seed in range(seeds)])


def keys_of(jobs) -> list[str]:
    return [member.key for job in jobs for member in job.members]


@settings(max_examples=20, deadline=None)
@given(workers=st.integers(1, 8), most=st.integers(1, 20))
def test_every_run_is_in_one_job_with_runs_of_its_program(workers, most):
    everyone = members(3)
    jobs = plan(everyone, workers=workers, most=most)
    assert sorted(keys_of(jobs)) == sorted(member.key for member in everyone)
    for job in jobs:
        assert len({program_of(member.config) for member in job.members}) == 1
        assert len(job.members) <= most


def test_a_jobs_company_does_not_depend_on_what_is_done():
    everyone = members()
    whole = plan(everyone, workers=2)
    done = keys_of(whole[::2])
    rest = plan(everyone, workers=2, done=done, known={("a2c-count", "DeepSea-5"): 1.0})
    assert {job.name for job in rest} == {job.name for job in whole} - {job.name for job in whole[::2]}


def test_longest_first_by_measured_times():
    jobs = plan(members(), workers=2, known={("a2c-count", "Hallway-4-2"): 1.0})
    assert jobs[0].members[0].case.recipe == "a2c-count"
    assert [job.seconds for job in jobs] == sorted((job.seconds for job in jobs), reverse=True)


def test_short_runs_do_not_make_long_ones_seem_endless():
    """What the runs of `--quick` took is mostly compilation."""
    guessed, measured = (plan(members(), workers=1, known=known) for known in ({}, {("a2c-count", "DeepSea-5"): 9.0}))
    before = {job.name: job.seconds for job in guessed}
    assert max(job.seconds / before[job.name] for job in measured) == pytest.approx(4.0)
    known = {("a2c-count", "DeepSea-5"): 1e-9}
    assert min(job.seconds / before[job.name] for job in plan(members(), workers=1, known=known)) < 0.1


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_no_job_outlasts_its_share(workers):
    jobs = plan(members(16), workers=workers)
    share = sum(job.seconds for job in jobs) / workers
    assert all(job.seconds <= share + job.seconds / len(job.members) for job in jobs)


def test_a_single_worker_takes_a_program_whole():
    assert [len(job.members) for job in plan(members_of([(CASES[0], seed) for seed in range(5)]), workers=1)] == [5]
    assert [len(job.members) for job in plan(members_of([(CASES[0], seed) for seed in range(4)]), workers=2)] == [2, 2]


def test_large_networks_go_in_small_groups():
    size = {task: population_size(recipe("dea2c-count", task)) for task in ("DeepSea-10", "DeepSea-20", "DeepSea-30")}
    assert size["DeepSea-10"] > size["DeepSea-20"] > size["DeepSea-30"] >= 1


def test_weights_are_counted_about_right():
    """Actor and critic of 100 inputs, two hidden layers of 64 and 2 actions or one value have 2 x (10,560 + ...)."""
    exact = 2 * (100 * 64 + 64 + 64 * 64 + 64) + 64 * 2 + 2 + 64 + 1
    assert weights_of(recipe("a2c-count", "DeepSea-10")).all == pytest.approx(exact, rel=0.1)


def test_what_many_steps_on_one_rollout_leave_idle_takes_no_room_in_the_caches():
    """PPO moves a few rows of DeepSea-30's 900; A2C moves all of them, and is the explorer of DePPO."""
    sizes = {name: population_size(recipe(name, "DeepSea-30")) for name in ("a2c-count", "ppo-count", "deppo-count")}
    assert sizes["ppo-count"] >= 5
    assert sizes["a2c-count"] == sizes["deppo-count"] == 2
    assert weights_of(recipe("ppo-count", "DeepSea-30")).all == weights_of(recipe("a2c-count", "DeepSea-30")).all


def test_an_ensemble_is_as_many_networks():
    ensemble = recipe("bootdqn", "DeepSea-10")
    assert weights_of(ensemble).all == 20 * weights_of(ensemble.with_value("explorer.heads", 1)).all
    assert population_size(ensemble) < population_size(ensemble.with_value("explorer.heads", 1))


def test_equal_runs_are_one_run():
    twice = [
        *product(["DeepSea-5"], ["a2c-count"]),
        *product(["DeepSea-5"], ["a2c-count"], vary={"bonus.scale": [1.0]}),
    ]
    both = members_of([(case, 0) for case in twice])
    assert (len(both), len(distinct(both))) == (2, 1)
    assert len(keys_of(plan(both, workers=2))) == 1


def test_jobs_survive_being_written_down():
    for job in plan(members(), workers=2):
        assert from_data(to_data(job)).name == job.name
        assert from_data(to_data(job)).members == job.members


def test_a_plan_counts_compilation_once_for_every_program(tmp_path):
    """Most of a short experiment is compilation: without it a plan promised seconds for minutes."""
    cases = product(["DeepSea-4"], ["a2c", "a2c-count"], vary={"explorer.learning_rate": [1e-3, 1e-4]})
    two = make_plan(Experiment("x", (Part(cases, (0, 1)),)), tmp_path / "none", workers=1)
    assert len({program_of(m.config) for m in two.members}) == 2
    assert two.compilation == 2 * COMPILE_SECONDS
    assert two.seconds == pytest.approx(two.compilation + sum(job.seconds for job in two.jobs))


def test_table_1_is_planned_whole():
    jobs = plan(members_of(experiment("table-1").members()), workers=2)
    assert len(keys_of(jobs)) == 18 * 11 * 5
    assert {member.case.recipe for job in jobs for member in job.members} == set(TABLE_1)
