"""A population is many independent runs: neighbours, pieces and evaluations leave no trace in a run."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from derl.core.errors import DerlError
from derl.training.checkpoint import flatten, to_numpy
from derl.training.population import Population, _init, advance_population
from derl.training.recipes import recipe

CONFIG = recipe("dea2c-count", "DeepSea-5")


def population(*members: tuple[int, float], learning_rate: dict[int, float] | None = None) -> Population:
    """Runs given by seed and lambda."""
    algorithms = []
    for i, (_, scale) in enumerate(members):
        config = CONFIG.with_value("bonus.scale", scale)
        if learning_rate and i in learning_rate:
            config = config.with_value("explorer.learning_rate", learning_rate[i])
        algorithms.append(config.algorithm())
    return Population(algorithms, [seed for seed, _ in members])


def member(state, i: int) -> dict[str, np.ndarray]:
    return {name: to_numpy(leaf)[i] for name, leaf in flatten(state).items()}


def assert_same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_a_run_does_not_depend_on_its_neighbours():
    one = population((3, 1.0), (4, 0.5))
    two = population((3, 1.0), (9, 100.0))
    a = one.advance(one.init(), 0, 150)
    b = two.advance(two.init(), 0, 150)
    assert_same(member(a, 0), member(b, 0))
    assert np.isfinite(member(a, 1)["collector/episode_return"]).all()
    weights = "explorer/network/actor/weights/1"
    assert not np.array_equal(member(a, 1)[weights], member(b, 1)[weights])


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("jax_enable_x64", True, "32 bits: unset JAX_ENABLE_X64"),
        ("jax_default_prng_impl", "rbg", "threefry2x32, not rbg: unset JAX_DEFAULT_PRNG_IMPL"),
    ],
)
def test_jax_computes_as_everything_here_expects(setting, value, words):
    before, algorithm = getattr(jax.config, setting), CONFIG.algorithm()
    try:
        jax.config.update(setting, value)
        with pytest.raises(DerlError, match=words):
            Population([algorithm], [0])
    finally:
        jax.config.update(setting, before)


def test_pieces_and_evaluations_leave_no_trace():
    runs = population((3, 1.0), (4, 0.5))
    whole = runs.advance(runs.init(), 0, 150)
    state = runs.advance(runs.init(), 0, 7)
    runs.evaluate(state, 7, 1, episodes=2, greedy=False)
    state = runs.advance(state, 7, 90)
    state = runs.advance(state, 90, 150)
    assert_same(member(whole, 0), member(state, 0))
    assert_same(member(whole, 1), member(state, 1))


def test_a_run_that_breaks_is_noted_and_its_neighbour_untouched():
    healthy = population((3, 1.0), (4, 1.0))
    broken = population((3, 1.0), (4, 1.0), learning_rate={1: float("nan")})
    a = healthy.advance(healthy.init(), 0, 60)
    b = broken.advance(broken.init(), 0, 60)
    assert_same(member(a, 0), member(b, 0))
    _, metrics = broken.read(b, 60)
    assert metrics["failed_at"][0] == -1
    # The explorer's first update makes its parameters NaN, and the exploiter's weights divide by the updated policy.
    assert metrics["failed_at"][1] == 0


def test_seeds_and_numbers_matter():
    runs = population((3, 1.0), (4, 1.0), (3, 0.0))
    state = runs.advance(runs.init(), 0, 40)
    weights = to_numpy(state.explorer.network.actor.weights[1])
    assert not np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def test_metrics_are_means_since_last_reading():
    runs = population((0, 1.0), (1, 1.0))
    state = runs.advance(runs.init(), 0, 30)
    state, first = runs.read(state, 30)
    assert set(first) >= {
        "bonus",
        "importance_weight",
        "log_importance_weight",
        "kl",
        "policy_loss",
        "explorer_policy_loss",
        "explorer_return",
        "coverage",
        "episodes",
    }
    np.testing.assert_array_equal(first["episodes"], 30 * 20 // 5)
    # Totals begin anew, so that the next means are of what came since.
    np.testing.assert_array_equal(state.collector.finished, 0)
    np.testing.assert_array_equal(state.totals, 0)
    # 30 rollouts of 20 steps from the start: every visit so far earned 1/sqrt(N); so the mean is far above later ones.
    state, second = runs.read(runs.advance(state, 30, 60), 30)
    assert (second["bonus"] < first["bonus"]).all()
    assert (first["coverage"] <= 15).all()
    assert (first["coverage"] > 5).all()


def test_structures_cannot_be_mixed():
    other = dataclasses.replace(CONFIG, num_envs=2)
    with pytest.raises(ValueError, match="structure"):
        Population([CONFIG.algorithm(), other.algorithm()], [0, 1])


def test_the_clock_keeps_replay_writes_unbatched():
    """The speed of a DQN population rests on this: one slice update for all runs, not a scatter."""
    config = recipe("dedqn-count", "DeepSea-5")
    runs = Population([config.algorithm()] * 3, [0, 1, 2])
    state, clock = runs.shapes(), jnp.asarray(0, jnp.int32)
    written = len(jax.tree.leaves(state.exploiter.replay.data))
    assert state.exploiter.replay.data.obs.shape == (3, 25_000, 4)
    lowered = advance_population.lower(runs.algorithm, state, clock, clock)
    # One place (a row and an environment) for the rollouts of all runs: no run has a place of its own.
    places = re.findall(r"\(tensor<3x25000x4x\w+>, (\S+), tensor<3x5x4x\w+>\) -> tensor<3x25000x4x", lowered.as_text())
    assert places == ["tensor<2xi32>"] * written
    # What the compiler makes of it.
    program = lowered.compile(compiler_options={"xla_backend_optimization_level": 0}).as_text()
    operations = re.findall(r"= \w+\[3,25000,4\]\S* ([\w-]+)\(", program)
    assert operations.count("dynamic-update-slice") == written
    assert "scatter" not in operations
    assert "copy" not in operations


def test_initial_states_compiled_quickly_are_the_same():
    runs = Population([recipe("dea2c-icm", "DeepSea-5").algorithm()], [3])
    arguments = (runs.algorithm, jnp.asarray(runs.seeds))
    thorough = _init.lower(*arguments).compile(compiler_options={"xla_backend_optimization_level": 3})
    quick, expected = flatten(runs.init()), flatten(thorough(*arguments))
    for name, leaf in quick.items():
        np.testing.assert_array_equal(to_numpy(leaf), to_numpy(expected[name]), err_msg=name)
