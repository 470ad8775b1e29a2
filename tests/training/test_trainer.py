"""The outer loop: schedules, folders, interruption, and the results it writes."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time

import equinox as eqx
import jax
import numpy as np
import pytest
from polars.testing import assert_frame_equal
from safetensors.numpy import load_file

import derl
from derl.bonuses import ICM
from derl.cli.display import compact, duration
from derl.core.errors import DerlError
from derl.envs import Hallway
from derl.training.folder import RunFolder
from derl.training.members import expand
from derl.training.population import Population
from derl.training.recipes import recipe
from derl.training.schedule import evaluation_times
from derl.training.trainer import Interrupted, Trainer, groups_of

SMALL = {"protocol__episodes": 600, "protocol__evaluate_every": 100}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "small"
    return derl.train("DeepSea-5", "dea2c-count", seeds=np.arange(3), out=out, **SMALL)


def test_one_row_per_run_and_evaluation(trained):
    frame = trained.frame
    assert frame.select("run", "evaluation").unique().height == frame.height == 3 * 6
    assert frame["episodes"].unique().sort().to_list() == [100, 200, 300, 400, 500, 600]
    assert frame["steps"].max() == 600 * 5
    assert frame["failed_at_step"].null_count() == frame.height
    assert frame["return"].is_between(-0.011, 0.991).all()
    assert frame["coverage"].max() <= 15
    assert_frame_equal(frame, RunFolder(trained.folder.path).read_results())


def test_the_paper_protocol_evaluates_100_times_at_whole_thousands_of_episodes():
    for recipe_name in ("a2c-count", "ppo-count"):
        for task in derl.PAPER_TASKS:
            config = derl.recipe(recipe_name, task)
            env = config.make_env()
            steps, every = config.protocol.budget(env)
            per_iteration = config.algorithm().steps_per_iteration
            times = evaluation_times(steps // per_iteration, every / per_iteration)
            assert len(times) == 100
            # After each evaluation's iterations exactly k thousand episodes are complete.
            assert [t * per_iteration // env.episode_length for t in times] == [1000 * k for k in range(1, 101)]


def test_evaluation_times_round_up_and_end_at_the_end():
    assert evaluation_times(10, 4.0) == [4, 8, 10]
    assert evaluation_times(10, 3.5) == [4, 7, 10]
    assert evaluation_times(3, 100.0) == [3]


def test_groups_have_equal_sizes_and_hold_every_run():
    assert groups_of(5, 3) == [[0, 1, 2], [3, 4, 4]]
    assert groups_of(5, 2) == [[0, 1], [2, 3], [4, 4]]
    assert groups_of(4, 1) == [[0], [1], [2], [3]]


def test_cores_and_population_sizes_do_not_change_what_is_learnt(trained):
    other = derl.train("DeepSea-5", "dea2c-count", seeds=3, cores=1, **SMALL)
    # Programs of another size may round differently, so numbers agree closely at first rather than bit for bit.
    first = [
        f.filter(evaluation=1).sort("run")["explorer_policy_loss"].to_numpy() for f in (trained.frame, other.frame)
    ]
    np.testing.assert_allclose(first[0], first[1], rtol=1e-3)
    # Seeds differ by more than that.
    assert not np.isclose(first[0][:, None], first[0][None], rtol=1e-2)[~np.eye(3, dtype=bool)].any()


def test_policies_answer_to_observations(trained):
    policy = trained.policy(1)
    actions = policy.predict(np.arange(25))
    assert actions.shape == (25,)
    one_hot = np.eye(25, dtype=np.float32).reshape(25, 5, 5)
    assert [policy.predict(o) for o in one_hot] == actions.tolist()
    assert policy.predict(np.zeros((5, 5), np.float32)) in (0, 1)
    assert policy.predict(7) == actions[7]
    assert {trained.policy(0, "explorer").predict(0, deterministic=False) for _ in range(20)} <= {0, 1}
    for bad in (26, -1, np.zeros(7), one_hot[3].astype(int)):
        with pytest.raises(DerlError):
            policy.predict(bad)
    with pytest.raises(DerlError, match="no run 3"):
        trained.policy(3)


def test_a_loaded_run_acts_as_the_trained_one(trained):
    loaded = derl.load(trained.folder.path)
    states = np.arange(25)
    for run in range(3):
        for seat in ("exploiter", "explorer"):
            np.testing.assert_array_equal(
                loaded.policy(run, seat).predict(states), trained.policy(run, seat).predict(states)
            )
    final = trained.frame.filter(evaluation=6).sort("run")["return"].to_numpy()
    np.testing.assert_allclose(loaded.evaluate(episodes=2).mean(1), final, atol=1e-6)


def test_a_folder_in_use_or_taken_is_refused(trained):
    folder = RunFolder(trained.folder.path)
    folder.lock()
    try:
        with pytest.raises(DerlError, match="in use by another process"):
            derl.resume(trained.folder.path)
    finally:
        folder.unlock()
    before = (trained.folder.path / "results.parquet").read_bytes()
    with pytest.raises(DerlError, match=r"not empty.*derl resume"):
        derl.train("DeepSea-5", seeds=1, out=trained.folder.path)
    assert (trained.folder.path / "results.parquet").read_bytes() == before


def test_resuming_a_finished_run_gives_its_results(trained, monkeypatch):
    monkeypatch.setattr(Population, "compile", lambda *args, **options: pytest.fail("there is nothing left to compile"))
    again = derl.resume(trained.folder.path)
    assert_frame_equal(again.frame, trained.frame)


def test_parts_that_do_not_fit_leave_no_folder(tmp_path):
    with pytest.raises(DerlError, match="ICM cannot be recomputed"):
        derl.train("DeepSea-5", "derl", bonus=ICM(), seeds=1, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("path", ["decoupling.mixture", "decoupling.alpha_explorer"])
def test_populations_are_alike_where_only_some_runs_have_a_term(path):
    runs = expand(
        derl.recipe("dea2c-count", "DeepSea-5").with_value("decoupling.denominator", "collected"),
        [0, 1],
        {path: [0.0, 0.1]},
    )
    first, second = (population.shapes() for population in Trainer(runs, cores=2).populations)
    assert jax.tree.structure(first) == jax.tree.structure(second)
    assert [x.shape for x in jax.tree.leaves(first)] == [x.shape for x in jax.tree.leaves(second)]


@pytest.mark.parametrize(
    "wrong", [{"cores": 0}, {"cores": -1}, {"population_size": 0}, {"seeds": [2**32]}, {"seeds": [-1]}]
)
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(DerlError, match=r"at least 1|a seed is"):
        derl.train("DeepSea-5", "a2c-count", **wrong)


def test_a_damaged_folder_is_refused(tmp_path, trained):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(trained.folder.path, copy)
    (copy / "checkpoint.safetensors").write_bytes(b"junk")
    with pytest.raises(DerlError, match="damaged"):
        derl.resume(copy)
    (copy / "config.json").write_text("{}")
    with pytest.raises(DerlError, match="damaged"):
        derl.load(copy)
    with pytest.raises(DerlError, match="not a run folder"):
        derl.load(tmp_path / "nowhere")


def test_non_finite_runs_are_marked_and_the_others_go_on():
    result = derl.train(
        "DeepSea-5",
        "a2c-count",
        seeds=1,
        cores=1,
        vary={"explorer.learning_rate": [1e-3, 1e38]},
        protocol__episodes=400,
        protocol__evaluate_every=100,
    )
    assert result.failed == [1]
    bad = result.frame.filter(run=1)
    assert bad["return"].is_nan().all()
    # The first update, after 20 steps, leaves weights of 1e38: the rollout from there on gives no finite loss.
    assert (bad["failed_at_step"] == 20).all()
    assert result.frame.filter(run=0)["return"].is_finite().all()


TRAIN = [
    *("DeepSea-6", "--recipe", "dedqn-count", "--seeds", "3", "--protocol.episodes", "6000"),
    *("--protocol.evaluate-every", "500", "--checkpoint-seconds", "0.2", "--exploiter.capacity", "4000"),
]


def start(log, *args) -> subprocess.Popen:
    """A derl command in a process of its own; what it prints goes to the file `log`."""
    with open(log, "ab") as file:
        return subprocess.Popen([sys.executable, "-m", "derl", *map(str, args)], stdout=file, stderr=file)


def kill_once_saved(process: subprocess.Popen, out, log, number=signal.SIGKILL) -> int:
    """Signal a training process as soon as it has saved something; the value is its exit code."""
    deadline = time.monotonic() + 120
    while not (out / "checkpoint.safetensors").exists():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    return process.wait(60)


def comparable(out):
    return RunFolder(out).read_results().sort("run", "evaluation")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert start(folder / "log", "train", *TRAIN, "--out", folder / "run").wait(240) == 0, (folder / "log").read_text()
    return folder / "run"


def test_killed_and_resumed_is_bit_identical(tmp_path, uninterrupted):
    out, log = tmp_path / "run", tmp_path / "log"
    kill_once_saved(start(log, "train", *TRAIN, "--out", out), out, log)
    for pause in (2.0, 0.3):
        process = start(log, "resume", out)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start(log, "resume", out).wait(240) == 0, log.read_text()
    assert_frame_equal(comparable(out), comparable(uninterrupted), check_exact=True)
    whole, resumed = (load_file(folder / "checkpoint.safetensors") for folder in (uninterrupted, out))
    assert whole.keys() == resumed.keys()
    for name in whole:
        np.testing.assert_array_equal(resumed[name], whole[name], err_msg=name)


def test_ctrl_c_saves_and_says_how_to_resume(tmp_path, uninterrupted):
    out, log = tmp_path / "run", tmp_path / "log"
    assert kill_once_saved(start(log, "train", *TRAIN, "--out", out), out, log, signal.SIGINT) == 130
    assert f"derl resume {out}" in log.read_text()
    assert start(log, "resume", out).wait(240) == 0, log.read_text()
    assert_frame_equal(comparable(out), comparable(uninterrupted), check_exact=True)


def test_a_read_only_place_is_refused(tmp_path):
    if os.geteuid() == 0:
        target = "/proc/derl"
    else:
        tmp_path.chmod(0o500)
        target = tmp_path / "run"
    with pytest.raises(DerlError, match="cannot make the run folder"):
        derl.train("DeepSea-5", seeds=1, out=target)


def test_what_does_not_fit_into_memory_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("derl.training.memory.memory_bytes", lambda: 100_000_000)
    needs = r"^9 runs need 0\.\d GB of memory and there are 0\.1 GB: train fewer seeds at once, "
    remedy = r"or set exploiter\.capacity lower \(9\d% of it is room for 1,000,000 steps\)$"
    with pytest.raises(DerlError, match=needs + remedy):
        derl.train("DeepSea-5", "derl", seeds=9, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(DerlError, match=r"^1 run needs 0\.6 GB .*: set exploiter\.capacity lower \(100%"):
        derl.train("DeepSea-5", "dedqn-count", seeds=1, exploiter__capacity=50_000_000)
    derl.train("DeepSea-5", "a2c", seeds=1, protocol__episodes=1)


@pytest.mark.parametrize("other", [{"seeds": [3, 4]}, {"explorer__learning_rate": 0.5}], ids=["seeds", "rate"])
def test_a_checkpoint_of_other_runs_is_refused(tmp_path, other):
    """It would fit: its arrays have the same shapes."""
    first, second = tmp_path / "first", tmp_path / "second"
    derl.train("DeepSea-5", "a2c", **{"seeds": 2, "out": first, **SMALL})
    derl.train("DeepSea-5", "a2c", **{"seeds": 2, "out": second, **SMALL, **other})
    kept = (second / "results.parquet").read_bytes()
    shutil.copy(first / "checkpoint.safetensors", second)
    for use in (derl.resume, derl.load):
        with pytest.raises(
            DerlError, match=f"is of other runs than these.*start a new run: derl train --config {second}"
        ):
            use(second)
    assert (second / "results.parquet").read_bytes() == kept
    (second / "checkpoint.safetensors").unlink()
    with pytest.raises(DerlError, match=f"has no checkpoint; train it with 'derl resume {second}'"):
        derl.load(second)


def test_a_run_is_not_resumed_with_another_configuration(tmp_path):
    config = dataclasses.replace(recipe("a2c", "Hallway-3-1"), env=Hallway(3, 1, move_cost=0.02))
    derl.train(config, seeds=1, out=tmp_path / "run", **SMALL)
    derl.load(tmp_path / "run", config=derl.load(tmp_path / "run", config=config_of(config)).config)
    with pytest.raises(DerlError, match="is of other runs than these"):
        derl.resume(tmp_path / "run", config=config_of(dataclasses.replace(config, env=Hallway(3, 1, move_cost=0.5))))


def config_of(config):
    """The configuration with the settings of `SMALL`."""
    for name, value in SMALL.items():
        config = config.with_value(name.replace("__", "."), value)
    return config


def test_an_interruption_before_the_training_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Population, "compile", interrupted)
    with pytest.raises(Interrupted, match=r"before training began; continue with: derl resume .*run$"):
        derl.train("DeepSea-5", "a2c", seeds=3, cores=1, population_size=2, out=tmp_path / "run", **SMALL)
    # Nothing was saved yet but what is to be done, and in which groups.
    assert RunFolder(tmp_path / "run").group_size() == 2


@pytest.mark.parametrize("name", ["derl", "dea2c-count", "deppo-icm", "ppo-count"])
def test_a_task_is_trained_alike_by_its_name_and_as_an_object(name):
    for task, env in (("Hallway-10-10", derl.Hallway(10, 10)), ("DeepSea-10", derl.DeepSea(10))):
        named, given = derl.configure(task, name), derl.configure(env, name)
        assert dataclasses.replace(given, env=None) == named


def test_populations_are_as_large_as_caches_like():
    sizes = {
        task: Trainer(expand(recipe("dea2c-count", task), range(20)), cores=1).group_size
        for task in ("DeepSea-10", "DeepSea-30")
    }
    assert 1 <= sizes["DeepSea-30"] < sizes["DeepSea-10"] <= 16
    assert Trainer(expand(recipe("dea2c-count", "DeepSea-30"), range(20)), cores=1, population_size=10).group_size == 10


def test_a_damaged_checkpoint_leaves_the_folder_free(tmp_path, trained):
    folder = tmp_path / "run"
    shutil.copytree(trained.folder.path, folder)
    (folder / "checkpoint.safetensors").write_bytes(b"nothing")
    for _ in range(2):
        with pytest.raises(DerlError, match="damaged"):
            derl.resume(folder)


def test_progress_of_runs_that_all_failed_and_of_a_first_piece():
    trainer = Trainer(expand(recipe("a2c-count", "DeepSea-4"), range(3)), cores=1, population_size=2)
    trainer.start()
    trainer.rows = [{"explorer_return": 0.5, "return": float("nan"), "failed_at_step": 20}] * 3
    first = trainer._progress(float("nan"))
    assert first.failed == 3
    assert np.isnan(first.exploiter_return)
    assert (compact(first.steps_per_second), duration(first.seconds_left)) == ("?", "?")
    # The copy that fills up the second group does not count.
    trainer.states[1] = eqx.tree_at(
        lambda s: s.collector.episodes, trainer.states[1], replace_fn=lambda n: n.at[1].add(9)
    )
    assert trainer._progress(1.0).episodes == 0


def test_a_varied_number_of_a_task_is_as_if_it_had_been_made_with_it(tmp_path):
    short = {"seeds": 1, "protocol__episodes": 40, "protocol__evaluate_every": 20, "population_size": 1}
    path = "env_options.goal_reward"
    both = derl.train("Hallway-3-1", "a2c", vary={path: [1.0, 3.0]}, out=tmp_path / "both", **short)
    alone = derl.train("Hallway-3-1", "a2c", env_options={"goal_reward": 3.0}, **short)
    np.testing.assert_array_equal(both.frame.filter(run=1)["explorer_return"], alone.frame["explorer_return"])
    # Their best returns differ, so that there is no line to draw for all.
    assert (both.optimal_return, alone.optimal_return) == (None, alone.config.make_env().optimal_return)
    assert derl.load(tmp_path / "both").runs[1].config.make_env().goal_reward == 3.0
