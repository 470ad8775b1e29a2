"""`derl.check_env` finds what is wrong with an environment, and nothing where nothing is."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import derl
from derl.core.errors import DerlError
from derl.core.types import Box, Spec
from derl.envs import DeepSea, Hallway, Step, check_env

from .broken import BROKEN, Walk


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_found(what):
    env, message = BROKEN[what]
    with pytest.raises(DerlError, match=message) as error:
        check_env(env, steps=400)
    assert type(env).__name__ in str(error.value)
    assert "\n" not in str(error.value)


class Vectors(Walk):
    """Shows vectors, which may be anything."""

    @property
    def spec(self):
        return Spec(Box((3,)), 2, truncates=True)

    def look(self, place):
        return jnp.stack([place, -place, 100 * place]).astype(jnp.float16)


class Split(Vectors):
    """Shows what is no number, from its third step on, or only where the next episode begins."""

    where: str = eqx.field(static=True, default="step")

    def step(self, key, state, action):
        state, answer = super().step(key, state, action)
        bad = (state[1] == 3) & (self.where == "step")
        return state, answer._replace(obs=jnp.where(bad, jnp.nan, answer.obs))

    def restart(self, key, last):
        state, obs = super().reset(key)
        return state, jnp.where(self.where == "restart", jnp.inf, obs).astype(obs.dtype)


@pytest.mark.parametrize("where", ["step", "restart"])
def test_vectors_have_to_be_finite(where):
    check_env(Vectors())
    check_env(Split(where="nowhere"))
    with pytest.raises(DerlError, match=f"Split: an observation of {where} is not finite"):
        check_env(Split(where=where))


class Lucky(Walk):
    """Pays 12 in one of four steps, so that its best mean of 18 is not the most an episode can return. It keeps a key,
    a Python number and what it was in its state, and ends in what stands for the end."""

    @property
    def optimal_return(self):
        return 18.0

    def reset(self, key):
        return {"walk": super().reset(key)[0], "key": key, "episodes": 0}, jnp.asarray(0)

    def restart(self, key, last):
        return self.reset(key)[0] | {"episodes": last["episodes"] + 1}, jnp.asarray(0)

    def step(self, key, state, action):
        walk, answer = super().step(key, state["walk"], action)
        key, own = jax.random.split(state["key"])
        paid = jnp.where(jax.random.uniform(own) < 0.25, 12, 0)
        return state | {"walk": walk, "key": key}, answer._replace(reward=paid * (action == 0))


def test_luck_is_no_mistake():
    check_env(Lucky())
    # Whereas the least is what no episode falls below, whatever the luck.
    with pytest.raises(DerlError, match="lowest_return is 1"):
        check_env(type("Lucky", (Lucky,), {"lowest_return": property(lambda self: 1.0)})())


def test_an_end_that_comes_late_needs_more_steps():
    """Cut off after 401 steps although 400 are declared: in two copies 800 steps do not show it, 802 do."""

    class Late(Walk):
        @property
        def max_episode_steps(self):
            return 400

        def step(self, key, state, action):
            place, time = state[0], state[1] + 1
            return (place, time), Step(place, 0.0, False, time >= 401)

    check_env(Late(), steps=800)
    with pytest.raises(DerlError, match="401 steps or more"):
        check_env(Late(), steps=802)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"env": "DeepSea-5"}, "takes a derl.Environment, not 'DeepSea-5'"),
        ({"env": DeepSea}, r"takes an object: DeepSea\(...\), not"),
        ({"env": Walk(), "steps": 0}, "steps of check_env must be a whole number of at least 1"),
        ({"env": Walk(), "seed": 0.5}, "seed of check_env must be a whole number"),
    ],
)
def test_what_is_no_environment_is_told(given, message):
    with pytest.raises(DerlError, match=message):
        check_env(**given)


tasks = st.one_of(
    st.builds(
        DeepSea,
        st.integers(1, 5),
        mapping_seed=st.integers(0, 2**32 - 1),
        stochastic=st.booleans(),
        randomize_actions=st.booleans(),
    ),
    st.builds(
        Hallway,
        st.integers(1, 4),
        st.integers(0, 3),
        horizon=st.none() | st.integers(1, 12),
        stay_duration=st.integers(1, 4),
        random_start=st.booleans(),
        time_limit_truncates=st.booleans(),
        lasting_goal=st.booleans(),
        goal_reward=st.sampled_from([-1.0, 0.0, 1.0, 3.0]),
        stay_reward=st.sampled_from([-1.0, 0.0, 1.0]),
        move_cost=st.sampled_from([0.0, 0.01, 0.5]),
        stay_cost=st.sampled_from([0.0, 0.01, 0.5]),
    ),
)


@settings(max_examples=25, deadline=None)
@given(env=tasks, seed=st.integers(0, 100))
def test_nothing_is_wrong_with_the_tasks(env, seed):
    check_env(env, steps=1000, seed=seed)


@pytest.mark.parametrize("name", [derl.PAPER_TASKS[0], derl.PAPER_TASKS[-1]])
def test_nothing_is_wrong_with_the_papers(name):
    check_env(derl.make(name))
