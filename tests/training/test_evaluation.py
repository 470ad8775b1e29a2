"""Evaluations that normalise observations by statistics of their own."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from polars.testing import assert_frame_equal

import derl
from derl import recipe
from derl.core.errors import DerlError
from derl.core.running import Moments
from derl.experiments.identity import config_key
from derl.training.evaluation import evaluate, play_episode
from derl.training.loop import init_run, iterate
from training.limited import LONGEST, Limited

COPIES = 3
OWN = {"protocol.evaluation_statistics": "own", "normalise_observations": True, "num_envs": COPIES}


def own_statistics(task: str = "Hallway-2-1"):
    """An algorithm whose evaluations have their own statistics, and a run of it that always goes right."""
    config = recipe("a2c-count", task)
    for path, value in OWN.items():
        config = config.with_value(path, value)
    algorithm = config.check().algorithm()
    state = init_run(algorithm, jax.random.key(0))
    biases = state.explorer.network.actor.biases
    state = eqx.tree_at(lambda s: s.explorer.network.actor.biases, state, (*biases[:-1], biases[-1].at[2].set(1e6)))
    return algorithm, state


def played(algorithm, state, episodes: int):
    return evaluate(algorithm, state, jax.random.key(1), jnp.asarray(0), episodes=episodes, greedy=True)


def test_statistics_are_those_of_all_evaluations():
    """Hallway-2-1, always right: positions 0, 1, 2, 3 in every episode of four steps, in all copies, twice."""
    algorithm, state = own_statistics()
    path = np.repeat(np.eye(4)[[0, 1, 2, 3]], COPIES, axis=0)
    for evaluations in (1, 2):
        returns, moments = played(algorithm, state, episodes=2 * COPIES)
        state = eqx.tree_at(lambda s: s.evaluation_moments, state, moments)
        np.testing.assert_allclose(returns, [1 - 4 * 0.01] * 2 * COPIES, rtol=1e-6)
        assert isinstance(moments, Moments)
        np.testing.assert_allclose(moments.count, 2 * len(path) * evaluations, rtol=1e-5)
        np.testing.assert_allclose(moments.mean, path.mean(0), rtol=1e-4)
        np.testing.assert_allclose(moments.variance, path.var(0), rtol=1e-4)


def test_a_policy_sees_what_evaluations_know_not_what_training_does():
    """A policy that goes right where the first input is above 3: with own statistics the start never looks like that
    (all of what was ever seen is the start: nothing stands out), with training's it does."""
    algorithm, state = own_statistics("Hallway-1-0")
    network = state.explorer.network.actor
    size = network.weights[0].shape[0]
    first = jnp.zeros_like(network.weights[0]).at[0, 0].set(1.0)
    weights = (first, jnp.eye(64), jnp.zeros((64, 3)).at[0, 2].set(1.0))
    biases = (jnp.zeros(64).at[0].set(-3.0), jnp.zeros(64), jnp.asarray([1e-3, 0.0, 0.0]))
    state = eqx.tree_at(
        lambda s: (s.explorer.network.actor.weights, s.explorer.network.actor.biases), state, (weights, biases)
    )
    rare = Moments(jnp.full(size, 0.01), jnp.full(size, 0.01), jnp.asarray(1e6))
    state = eqx.tree_at(lambda s: s.obs_moments, state, rare)
    plain = dataclasses.replace(algorithm, own_statistics=False)
    by_training, nothing = played(plain, state, episodes=COPIES)
    by_itself, _ = played(algorithm, state, episodes=COPIES)
    assert nothing is None
    # Right to the goal, and from there left (which costs nothing) and right again.
    assert (by_training > 0.9).all()
    assert (by_itself == 0).all()


SHORT = {
    "protocol__episodes": 120,
    "protocol__evaluate_every": 20,
    "explorer__hidden": (8,),
    "normalise_observations": True,
}


def test_they_change_evaluations_and_nothing_else():
    frames = {}
    for statistics in ("training", "own"):
        frames[statistics] = derl.train(
            "Hallway-3-0", "ppo-count", seeds=2, cores=1, protocol__evaluation_statistics=statistics, **SHORT
        ).frame
    evaluated = ["return", "return_std"]
    assert_frame_equal(frames["own"].drop(evaluated), frames["training"].drop(evaluated))


def test_a_run_that_is_gone_on_with_keeps_them(tmp_path):
    options = {"protocol__evaluation_statistics": "own", "seeds": 2, "cores": 1, **SHORT}
    whole = derl.train("Hallway-3-0", "ppo-count", **options).state.evaluation_moments
    out = tmp_path / "run"
    derl.train("Hallway-3-0", "ppo-count", out=out, **options)
    again = derl.load(out).state.evaluation_moments
    for kept, expected in zip(jax.tree.leaves(again), jax.tree.leaves(whole), strict=True):
        np.testing.assert_array_equal(kept, expected)
    assert np.all(np.asarray(whole.count) > 6 * 8)


@pytest.mark.parametrize(
    ("path", "value"), [("protocol.evaluation_statistics", "own"), ("bonus_observations", "normalised")]
)
def test_what_is_about_normalised_observations_needs_them(path, value):
    with pytest.raises(DerlError, match=f"{path} changes nothing without normalise_observations"):
        recipe("a2c-icm", "DeepSea-5").with_value(path, value).check()
    # PPO's recipes in Hallway come with both: whoever turns normalisation off need not know of them.
    plain = recipe("ppo-icm", "Hallway-3-0").with_value("normalise_observations", False).check()
    assert config_key(plain) == config_key(plain.with_value(path, "training" if value == "own" else "raw"))


def test_a_bonus_that_sees_what_the_agent_sees():
    """ICM's first layer reads vectors then, and what it learns follows the statistics."""
    config = recipe("ppo-icm", "Hallway-3-0")
    states = []
    for sees in ("normalised", "raw"):
        algorithm = config.with_value("bonus_observations", sees).algorithm()
        state = init_run(algorithm, jax.random.key(0))
        for clock in range(2):
            state, metrics = eqx.filter_jit(iterate)(algorithm, state, jnp.asarray(clock))
        states.append((state, float(metrics["bonus"])))
    (seen, of_seen), (raw, of_raw) = states
    np.testing.assert_array_equal(seen.obs_moments.mean, raw.obs_moments.mean)
    # Standardised inputs are several times as large as the one 1 of a one-hot vector.
    assert of_seen > 2 * of_raw > 0
    count = recipe("ppo-count", "Hallway-3-0").with_value("bonus_observations", "normalised")
    with pytest.raises(DerlError, match="count needs discrete observations"):
        count.check()


def test_an_episode_that_is_cut_off_is_over():
    """Cut off after two of at most five steps, each worth 1."""
    episode = play_episode(Limited(limit=2), lambda key, obs: jnp.asarray(0), jax.random.key(0))
    assert episode.alive.tolist() == [True, True, False, False, False]
    assert float(episode.total) == 2.0


def test_copies_whose_episode_is_over_count_no_more():
    """Two copies that step together: the first ends after one step, the second after three."""
    config = recipe("a2c-count", "Hallway-2-1").with_value("explorer.hidden", (8,))
    for path, value in OWN.items():
        config = config.with_value(path, value)
    algorithm = dataclasses.replace(config, env=Limited(), num_envs=2).algorithm()
    state = init_run(algorithm, jax.random.key(0))
    state = eqx.tree_at(lambda s: s.collector.env_state[0], state, jnp.asarray([1, 3]))
    returns, moments = played(algorithm, state, episodes=2)
    np.testing.assert_array_equal(returns, [1, 3])
    assert isinstance(moments, Moments)
    # Four observations: both copies at the start, and one of them after one step and after two.
    seen = np.eye(LONGEST + 1)[[0, 0, 1, 2]]
    np.testing.assert_allclose(moments.count, 4, rtol=1e-4)
    np.testing.assert_allclose(moments.mean, seen.mean(0), atol=1e-4)
    np.testing.assert_allclose(moments.variance, seen.var(0), atol=1e-4)
