"""A replay of episodes of different lengths, against a plain list of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from derl.agents.episodes import EpisodeReplay
from derl.core.types import Discrete, Rollout, Spec

LONGEST, ENVS = 4, 2


def play(steps: int, truncates: bool, seed: int = 0):
    """A stream whose observations count its steps, and the episodes in it: lists of (environment, step, reward)."""
    rng = np.random.default_rng(seed)
    done, age = np.zeros((steps, ENVS), bool), np.zeros(ENVS, int)
    for t in range(steps):
        age += 1
        done[t] = (age == LONGEST) | (rng.random(ENVS) < 0.3)
        age[done[t]] = 0
    cut = done & (rng.random((steps, ENVS)) < 0.5) & truncates
    obs = np.arange(steps)[:, None] + np.array([0, 1000])
    episodes, begun = [], [0, 0]
    for t, e in zip(*np.nonzero(done), strict=True):
        episodes.append((e, list(range(begun[e], t + 1))))
        begun[e] = t + 1
    reward = rng.normal(size=(steps, ENVS)).astype(np.float32)
    fields = (obs, obs % 3, reward, obs + 5000, done & ~cut, cut)
    return [jnp.asarray(x) for x in fields], [(e, np.asarray(steps)) for e, steps in episodes]


@pytest.mark.parametrize(("stride", "truncates", "capacity"), [(1, False, 24), (3, True, 24), (5, False, 1000)])
def test_whole_episodes_come_back(stride, truncates, capacity):
    fields, episodes = play(60, truncates)
    spec = Spec(Discrete(2000), 3, truncates, LONGEST)
    replay = EpisodeReplay.init(spec, ENVS, capacity, stride)
    write = jax.jit(lambda r, clock, rollout, log_mu: r.write(clock, rollout, log_mu))
    for clock in range(60 // stride):
        part = [x[clock * stride : (clock + 1) * stride] for x in fields]
        replay = write(replay, jnp.asarray(clock), Rollout(*part, last_obs=part[3][-1]), -0.1 * part[2])
    assert bool(replay.ready(jnp.asarray(LONGEST)))
    drawn = jax.jit(lambda r, k: r.draw(k, 300))(replay, jax.random.key(0))
    rollout, alive = drawn.rollout, np.asarray(drawn.alive, bool)
    kept = capacity // (LONGEST * ENVS)
    newest = {e: [steps for env, steps in episodes if env == e][-kept:] for e in range(ENVS)}
    expected = {tuple(steps + 1000 * e) for e in newest for steps in newest[e]}
    found = {tuple(np.asarray(rollout.obs)[alive[:, i], i]) for i in range(300)}
    assert found == expected, "every kept episode whole, and none that was let go"
    oldest = [newest[e][0][0] if len(newest[e]) == kept else 0 for e in range(ENVS)]
    assert int(replay.steps(jnp.asarray(60 // stride - 1))) == sum(60 - first for first in oldest)
    step, env = np.asarray(rollout.obs) % 1000, np.asarray(rollout.obs) // 1000
    np.testing.assert_array_equal(np.asarray(rollout.reward)[alive], np.asarray(fields[2])[step, env][alive])
    np.testing.assert_allclose(np.asarray(drawn.log_mu)[alive], -0.1 * np.asarray(rollout.reward)[alive])
    np.testing.assert_array_equal(np.asarray(rollout.truncated)[alive], np.asarray(fields[5])[step, env][alive])
    if truncates:
        np.testing.assert_array_equal(np.asarray(rollout.next_obs)[alive], np.asarray(rollout.obs)[alive] + 5000)


def test_not_ready_before_every_environment_has_an_episode():
    replay = EpisodeReplay.init(Spec(Discrete(5), 3, max_episode_steps=LONGEST), ENVS, 100, 2)
    assert [bool(replay.ready(jnp.asarray(clock))) for clock in range(3)] == [False, True, True]
