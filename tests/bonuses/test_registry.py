import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bonuses.building import SMALL, init, plain_step, quick_jit, random_rollout, step
from derl.bonuses import BONUSES, ICM, RIDE, RND, Bonus, Count, HashCount, NoBonus, make_bonus
from derl.core.errors import DerlError, UnknownNameError
from derl.core.types import Discrete, Rollout, Spec

KEY = jax.random.key(0)
SPEC = Spec(Discrete(6), 3)


def test_every_bonus_has_a_name():
    assert list(BONUSES) == ["none", "count", "hash-count", "icm", "rnd", "ride"]
    for name, kind in BONUSES.items():
        assert type(make_bonus(name)) is kind


def test_an_unknown_name_is_answered_with_a_near_one():
    with pytest.raises(UnknownNameError, match="hash-count"):
        make_bonus("hashcount")


def test_no_bonus():
    state, r = NoBonus().step(NoBonus().init(KEY, SPEC, 2), random_rollout(0, 6))
    assert state == ()
    np.testing.assert_array_equal(r, np.zeros((3, 2)))


@pytest.mark.parametrize("name", BONUSES)
def test_defaults_make_sense(name):
    make_bonus(name).check()


@pytest.mark.parametrize(
    ("bonus", "complaint"),
    [
        (NoBonus(scale=-1.0), "scale"),
        (Count(scale=float("nan")), "scale"),
        (Count(normalise="mean"), "normalise"),  # pyright: ignore[reportArgumentType]
        (Count(increment=0.0), "increment"),
        (Count(looks="here"), "looks"),  # pyright: ignore[reportArgumentType]
        (HashCount(increment=-2.0), "increment"),
        (HashCount(key_bits=0), "key_bits"),
        (ICM(learning_rate=-1e-5), "learning_rate"),
        (ICM(forward_coef=-1.0), "forward_coef"),
        (ICM(inverse_coef=-1.0), "inverse_coef"),
        (ICM(max_grad_norm=0.0), "max_grad_norm"),
        (ICM(features=0), "features"),
        (ICM(hidden=(64, 0)), "hidden"),
        (ICM(successor="state"), "successor"),  # pyright: ignore[reportArgumentType]
        (RND(learning_rate=-1.0), "learning_rate"),
        (RND(loss_coef=-1.0), "loss_coef"),
        (RND(adam_epsilon=0.0), "adam_epsilon"),
        (RIDE(scale=-0.5), "scale"),
        (RIDE(key_bits=0), "key_bits"),
        (RIDE(counts="never"), "counts"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_senseless_settings_are_refused_by_name(bonus: Bonus, complaint):
    with pytest.raises(DerlError, match=complaint) as error:
        bonus.check()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", BONUSES)
def test_numbers_are_leaves_and_everything_else_is_static(name):
    bonus = make_bonus(name)
    numbers = [f.name for f in dataclasses.fields(bonus) if isinstance(getattr(bonus, f.name), float)]
    assert len(jax.tree.leaves(bonus)) == len(numbers)
    assert all(f.metadata.get("static", False) == (f.name not in numbers) for f in dataclasses.fields(bonus))


LOOKS = [
    pytest.param(make_bonus("none"), id="none"),
    pytest.param(Count(divide_by_increment=True), id="count"),
    pytest.param(HashCount(simultaneous=True), id="hash-count"),
    pytest.param(ICM(**SMALL, successor="successor_after_reset", learning_rate=1e-3), id="icm"),
    pytest.param(RND(hidden=(8,), features=4, looks="successor", learning_rate=1e-3), id="rnd"),
    pytest.param(RIDE(**SMALL, learning_rate=1e-3), id="ride"),
]


def stack(members):
    return jax.tree.map(lambda *x: jnp.stack([jnp.asarray(a) for a in x]), *members)


def vary(bonus: Bonus) -> list[Bonus]:
    """Three bonuses that differ in every number."""
    leaves, structure = jax.tree.flatten(bonus)
    return [structure.unflatten([x * factor for x in leaves]) for factor in (1.0, 0.5, 3.0)]


@pytest.mark.parametrize("bonus", LOOKS)
def test_a_population_that_differs_in_every_number_equals_separate_runs(bonus):
    """Also: no member sees another's experience."""
    members = vary(bonus)
    rollouts: list[list[Rollout]] = [[random_rollout(10 * i + j, 6) for j in range(2)] for i in range(3)]
    state = stack([init(bonus, SPEC, 2, seed) for seed in range(3)])
    all_at_once = quick_jit(jax.vmap(plain_step))
    together = []
    for j in range(2):
        state, r = all_at_once(stack(members), state, stack([rollouts[i][j] for i in range(3)]))
        together.append(r)
    for i, member in enumerate(members):
        state = init(member, SPEC, 2, seed=i)
        for j in range(2):
            state, r = step(member, state, rollouts[i][j])
            np.testing.assert_allclose(together[j][i], r, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("bonus", LOOKS)
def test_two_short_rollouts_are_rewarded_like_one_long_one(bonus):
    long = random_rollout(3, 6, steps=6)
    halves = [
        dataclasses.replace(jax.tree.map(lambda x: x[:3], long), last_obs=long.obs[3]),
        dataclasses.replace(jax.tree.map(lambda x: x[3:], long), last_obs=long.last_obs),
    ]
    _, expected = step(bonus, init(bonus, SPEC, 2), long)
    state, first = step(bonus, init(bonus, SPEC, 2), halves[0])
    _, second = step(bonus, state, halves[1])
    np.testing.assert_allclose(jnp.concatenate([first, second]), expected, rtol=1e-5, atol=1e-7)
    assert expected.shape == (6, 2)
    assert expected.dtype == jnp.float32
