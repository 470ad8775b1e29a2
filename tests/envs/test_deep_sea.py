"""DeepSea against bsuite's rules."""

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.bsuite_deep_sea import BsuiteDeepSea, best_expected_return

from derl.core.errors import DerlError
from derl.core.types import Discrete
from derl.envs import DeepSea
from derl.envs.deep_sea import DeepSeaState

from .playing import check_vmap_and_jit_change_nothing, play

SIZES = st.sampled_from([1, 2, 3, 8, 13])


def picture(obs, size):
    """The picture an integer observation stands for."""
    image = np.zeros(size**2 + 1, np.float32)
    image[obs] = 1
    return image[:-1].reshape(size, size)


def noisy_path(oracle, rng, right_probability):
    """Actions that go right with the given probability, so that all of the grid is visited."""
    oracle.reset()
    actions = []
    for _ in range(oracle.size):
        to_right = oracle.right_action[oracle.row, oracle.column]
        actions.append(int(to_right if rng.random() < right_probability else 1 - to_right))
        oracle.step(actions[-1])
    return actions


def best_actions(env):
    """The actions along the diagonal."""
    return np.asarray(env.mapping).reshape(env.size, env.size).diagonal()


@settings(max_examples=40, deadline=None)
@given(size=SIZES, mapping_seed=st.integers(0, 2**32 - 1), randomize=st.booleans(), policy_seed=st.integers(0, 2**31))
@example(size=1, mapping_seed=42, randomize=True, policy_seed=0)
@example(size=10, mapping_seed=42, randomize=True, policy_seed=0)
def test_follows_bsuite(size, mapping_seed, randomize, policy_seed):
    oracle, rng = BsuiteDeepSea(size, mapping_seed, randomize), np.random.default_rng(policy_seed)
    asked = DeepSea(size, mapping_seed=mapping_seed, randomize_actions=randomize)
    # The same sea in a form that is compiled once per size instead of once per seed.
    env = eqx.tree_at(lambda e: e.mapping, DeepSea(size), asked.mapping)
    batch = np.array([noisy_path(oracle, rng, p) for p in (0, 0.3, 0.5, 0.5, 0.7, 0.9, 1, 1)])
    first, _, answers = play(env, batch)
    for i, actions in enumerate(batch):
        np.testing.assert_array_equal(picture(first[i], size), oracle.reset())
        for t, action in enumerate(actions):
            image, reward, over = oracle.step(action)
            np.testing.assert_array_equal(picture(answers.obs[i, t], size), image)
            assert answers.reward[i, t] == np.float32(reward)
            assert answers.terminated[i, t] == over
    assert not answers.truncated.any()


def test_the_published_mapping():
    """Seed 42 is what makes DeepSea-10 the published task: its first row, written out."""
    np.testing.assert_array_equal(DeepSea(10).mapping[:10], [0, 1, 1, 1, 0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("size", [1, 2, 10, 30])
def test_best_and_worst_returns(size):
    env = DeepSea(size)
    right = best_actions(env)
    _, _, best = play(env, right)
    assert best.reward.sum() == pytest.approx(0.99, abs=1e-6)
    assert env.optimal_return == pytest.approx(0.99)
    if size > 1:
        almost = right.copy()
        almost[-1] = 1 - almost[-1]
        _, _, missed = play(env, almost)
        assert missed.reward.sum() == pytest.approx(-0.01 * (size - 1) / size, abs=1e-6)
        assert missed.reward.sum() >= env.lowest_return == -0.01
    assert DeepSea(size, stochastic=True).lowest_return is None


@settings(max_examples=15, deadline=None)
@given(size=st.sampled_from([1, 2, 7]), stochastic=st.booleans(), seed=st.integers(0, 2**31))
def test_episodes_end_on_time_and_observations_stay_in_range(size, stochastic, seed):
    env = DeepSea(size, stochastic=stochastic)
    _, states, answers = play(env, np.random.default_rng(seed).integers(0, 2, (8, size)), seed)
    assert env.spec.observation == Discrete(size**2)
    assert env.spec.num_actions == 2
    assert env.episode_length == env.max_episode_steps == size
    assert not answers.terminated[:, :-1].any()
    assert answers.terminated[:, -1].all()
    assert (answers.obs[:, -1] == size**2).all()
    assert ((states.column >= 0) & (states.column < size) & (states.column <= states.row)).all()
    cells = [env.cell(index) for index in answers.obs[:, :-1].reshape(-1)]
    places = zip(states.row[:, :-1].reshape(-1), states.column[:, :-1].reshape(-1), strict=True)
    assert cells == [(r, c) for r, c in places]


@pytest.mark.parametrize("stochastic", [False, True])
def test_vmap_and_jit_change_nothing(stochastic):
    actions = np.random.default_rng(0).integers(0, 2, (3, 5))
    check_vmap_and_jit_change_nothing(DeepSea(5, stochastic=stochastic), actions)


@pytest.mark.parametrize("stochastic", [False, True])
def test_only_the_stochastic_variant_uses_the_key(stochastic):
    env = DeepSea(4, stochastic=stochastic)
    state, _ = env.reset(jax.random.key(0))
    program = jax.make_jaxpr(env.step)(jax.random.key(0), state, np.int32(0)).jaxpr
    read = [variable for equation in program.eqns for variable in equation.invars]
    assert any(variable is program.invars[0] for variable in read) == stochastic


def test_stochastic_variant_follows_bsuite_up_to_chance():
    """With the slips and the noise that happened, bsuite's rules give the same episode; both have bsuite's law."""
    size, episodes = 4, 4000
    env, oracle = DeepSea(size, stochastic=True), BsuiteDeepSea(size)
    actions = np.concatenate(
        [np.tile(best_actions(env), (episodes // 2, 1)), np.random.default_rng(0).integers(0, 2, (episodes // 2, size))]
    )
    _, states, answers = play(env, actions, seed=1)
    slips, noises = [], []
    for i in range(episodes):
        oracle.reset()
        for t, action in enumerate(actions[i]):
            column, noisy, right = oracle.column, oracle.in_noisy_corner(), oracle.goes_right(action)
            # At the right wall a slip cannot be seen, and does not matter.
            slip = right and column < size - 1 and states.column[i, t] == column
            if right and column < size - 1:
                slips.append(slip)
            _, reward, _ = oracle.step(action, slip)
            if noisy:
                noises.append(answers.reward[i, t] - reward)
            else:
                assert answers.reward[i, t] == np.float32(reward)
            assert states.column[i, t] == oracle.column
    assert np.mean(slips) == pytest.approx(1 / size, abs=4 * np.sqrt(3 / 16 / len(slips)))
    assert len(noises) > 1000
    assert np.mean(noises) == pytest.approx(0, abs=4 / np.sqrt(len(noises)))
    assert np.std(noises) == pytest.approx(1, abs=4 / np.sqrt(2 * len(noises)))


@pytest.mark.parametrize("size", [1, 2, 3, 6, 20, 50])
@pytest.mark.parametrize("stochastic", [False, True])
def test_optimal_return_is_the_optimum(size, stochastic):
    exact = best_expected_return(size, 1 / size if stochastic else 0.0)
    assert DeepSea(size, stochastic=stochastic).optimal_return == pytest.approx(exact, abs=1e-12)


def test_optimal_return_is_what_the_best_policy_earns():
    """Right on the diagonal, left once off it."""
    env, episodes = DeepSea(6, stochastic=True), 40_000

    @eqx.filter_jit
    def returns(env, keys):
        def step(state, key):
            on_path = state.row == state.column
            to_right = env.mapping[state.row * env.size + state.column]
            state, answer = env.step(key, state, jax.numpy.where(on_path, to_right, 1 - to_right))
            return state, answer.reward

        def episode(key):
            return jax.lax.scan(step, env.reset(key)[0], jax.random.split(key, env.size))[1].sum()

        return jax.vmap(episode)(keys)

    earned = np.asarray(returns(env, jax.random.split(jax.random.key(5), episodes)))
    assert earned.mean() == pytest.approx(env.optimal_return, abs=4 * earned.std() / np.sqrt(episodes))


def test_mapping_can_vary_in_a_batch():
    """The mapping is data: a population of different seas runs as one program."""
    base, other = DeepSea(6), DeepSea(6, mapping_seed=7)
    mappings = np.stack([base.mapping, other.mapping])
    seas = eqx.tree_at(lambda e: e.mapping, base, mappings)
    axes = eqx.tree_at(lambda e: e.mapping, base, 0)
    run = jax.vmap(lambda env, key, action: env.step(key, env.reset(key)[0], action), in_axes=(axes, None, None))
    _, answers = run(seas, jax.random.key(0), np.int32(1))
    np.testing.assert_array_equal(answers.reward < 0, mappings[:, 0] == 1)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_reachable_states_are_those_an_episode_can_act_in(size):
    env, seen, now = DeepSea(size), set(), {(0, 0)}
    while now:
        seen |= now
        moved = {(row + 1, min(max(column + move, 0), size - 1)) for row, column in now for move in (-1, 1)}
        now = {(row, column) for row, column in moved if row < size}
    assert env.reachable_states == len(seen)


def test_text_shows_the_agent():
    env = DeepSea(4)
    header, *lines = env.render_text(DeepSeaState(np.int32(2), np.int32(1))).splitlines()
    assert "row 2" in header
    assert "column 1" in header
    assert lines == [".###", "..##", ".A.#", "...G", "===="]
    assert env.render_text(DeepSeaState(np.int32(4), np.int32(3))).splitlines()[-1] == "===A"


@pytest.mark.parametrize("size", [1, 3, 10])
def test_picture_shows_the_agent_and_nothing_else_changes(size):
    env = DeepSea(size)
    side = 24
    over = env.render_rgb(DeepSeaState(np.int32(size), np.int32(0)))
    assert over.shape == ((size + 1) * side, size * side, 3)
    assert over.dtype == np.uint8
    for row, column in [(0, 0), (size - 1, size - 1)]:
        changed = (env.render_rgb(DeepSeaState(np.int32(row), np.int32(column))) != over).any(-1)
        blocks = changed.reshape(size + 1, side, size, side).any((1, 3))
        assert set(zip(*np.nonzero(blocks), strict=True)) == {(row, column), (size, 0)}


def test_pictures_of_large_seas_have_small_cells():
    assert DeepSea(200).render_rgb(DeepSeaState(np.int32(0), np.int32(0))).shape == (201 * 7, 200 * 7, 3)


def test_cells_of_the_picture():
    env = DeepSea(3)
    assert env.grid_shape == (3, 3)
    assert [env.cell(index) for index in (0, 5, 8, 9)] == [(0, 0), (1, 2), (2, 2), None]


@pytest.mark.parametrize(("size", "mapping_seed"), [(0, 42), (-3, 42), (1001, 42), (2.5, 42), (5, -1), (5, "a")])
def test_nonsense_is_refused_in_one_line(size, mapping_seed):
    with pytest.raises(DerlError, match=r"^the (size|mapping_seed) of DeepSea must be a whole number.*$") as error:
        DeepSea(size, mapping_seed=mapping_seed)
    assert "\n" not in str(error.value)


def test_numpy_integers_are_whole_numbers():
    assert DeepSea(np.int64(4)).name == "DeepSea-4"


@pytest.mark.parametrize("option", ["stochastic", "randomize_actions"])
def test_a_switch_is_true_or_false(option):
    with pytest.raises(DerlError, match=f"{option} must be true or false, not 'no'"):
        DeepSea(5, **{option: "no"})
    assert getattr(DeepSea(5, **{option: np.bool_(True)}), option) is True
