"""Numbers of a user's parts are traced as what they are declared to be."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from derl.bonuses import Count
from derl.core.errors import DerlError
from derl.core.leaves import as_leaves
from derl.envs import DeepSea
from derl.training.population import Population, stack
from derl.training.recipes import recipe

CONFIG = recipe("a2c-count", "DeepSea-4")


class Walled(DeepSea):
    """A task with numbers of every kind."""

    wall: int
    walls: tuple[int, ...]
    open: bool
    cost: "float"
    weight: float | None

    def __init__(self, wall=2, walls=(1, 2), cost=1):
        super().__init__(4)
        self.wall, self.walls, self.open, self.cost, self.weight = wall, walls, True, cost, 2

    def step(self, key, state, action):
        following, answer = super().step(key, state, action)
        price = self.cost * jnp.arange(4.0)[self.wall] * jnp.where(self.open, 0.5, 0.0)
        return following, answer._replace(reward=answer.reward - price)


def test_whole_numbers_stay_whole_unless_floats_are_declared():
    made = as_leaves(Walled())
    kinds = {name: getattr(made, name).dtype for name in ("wall", "open", "cost", "weight")}
    assert kinds == {"wall": jnp.int32, "open": bool, "cost": jnp.float32, "weight": jnp.float32}
    assert [x.dtype for x in made.walls] == [jnp.int32] * 2
    assert made.mapping.dtype == jnp.int32


def test_a_task_may_use_whole_numbers_as_such():
    population = Population([recipe("a2c-count", Walled(wall)).algorithm() for wall in (1, 2)], [0, 0])
    state = population.advance(population.init(), 0, 4)
    # Both acted alike: what differs is the price of the wall.
    returns = np.asarray(state.collector.finished)[:, 1]
    episodes = int(state.collector.finished[0, 0])
    np.testing.assert_allclose(returns[0] - returns[1], episodes * 4 * 0.5, rtol=1e-5)


def test_whole_numbers_where_floats_are_declared_are_floats():
    """Runs with a scale of 1 and of 0.5 are one population, and those of 1 and of 1.0 the same runs."""
    whole, point, half = (dataclasses.replace(CONFIG, bonus=Count(scale=s)).algorithm() for s in (1, 1.0, 0.5))
    stacked = stack([whole, half])
    assert stacked.bonus.scale.dtype == jnp.float32
    np.testing.assert_array_equal(stacked.bonus.scale, [1.0, 0.5])
    assert stack([whole]).bonus.scale.dtype == stack([point]).bonus.scale.dtype


class Asking(Count):
    """Takes numbers that are traced for structure."""

    flag: bool = False
    size: int = 3
    asks: str = eqx.field(default="flag", static=True)

    def step(self, state, rollout):
        state, rewards = super().step(state, rollout)
        extra = 1.0 * bool(self.flag) if self.asks == "flag" else jnp.zeros(self.size).sum()
        return state, rewards + extra


class Holding(Count):
    """Has a field that is no number."""

    word: str = "what"


@pytest.mark.parametrize("asks", ["flag", "size"])
def test_whole_numbers_that_would_have_to_be_static_are_named(asks):
    algorithm = dataclasses.replace(CONFIG, bonus=Asking(asks=asks)).algorithm()
    words = r"cannot decide a branch or a shape .*one of Asking.flag, Asking.size, declare it as eqx.field\(static=True"
    with pytest.raises(DerlError, match=words):
        Population([algorithm], [0])


@pytest.mark.parametrize(
    ("bonus", "words"), [(Holding(), "Holding.word is no number"), (Asking(size=2**40), "32 bits")]
)
def test_what_cannot_be_traced_is_named(bonus, words):
    with pytest.raises(DerlError, match=words):
        stack([dataclasses.replace(CONFIG, bonus=bonus).algorithm()])
