"""Whether an environment does what its contract says: random actions in several copies of it, and what they show."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from derl.core.errors import DerlError, require
from derl.core.leaves import as_leaves
from derl.core.types import Discrete
from derl.envs.base import AnyEnvironment
from derl.envs.checks import whole_number
from derl.envs.contract import check_declarations, check_shapes

MOST_COPIES = 16
REPEATS = 0.9
"""How likely a copy of every second kind takes its last action again: actions that are all drawn anew stay close to
where an episode starts."""
CLOSE = 1e-5
"""By which share of the rewards that were summed a return may be beyond its bound: rewards are floats of 32 bits."""
QUICKLY_COMPILED = {"xla_backend_optimization_level": 1}
PURE = "random numbers must come from the keys alone (not from numpy.random), and what changes must be in the state"
Numbers = Array | np.ndarray
"""Of JAX while they are computed, of NumPy while they are looked at."""


class View(NamedTuple):
    """What is kept of an observation."""

    value: Shaped[Numbers, "*b"]
    """The observation if it is an integer, else a weighted sum, in which two observations hardly agree by chance."""
    finite: Bool[Numbers, "*b"]


class Trial(NamedTuple):
    """What happened in all copies, time first."""

    start: View
    seen: View
    """After each step."""
    fresh: View
    """After each restart; it counts only where an episode ended."""
    reward: Float[Numbers, "T E"]
    terminated: Bool[Numbers, "T E"]
    truncated: Bool[Numbers, "T E"]

    @property
    def done(self) -> Bool[Numbers, "T E"]:
        """Where an episode ended."""
        return self.terminated | self.truncated


class Episodes(NamedTuple):
    """All episodes of a trial; those still under way at its end are among them."""

    length: Int[np.ndarray, " N"]
    total: Float[np.ndarray, " N"]
    """The return."""
    size: Float[np.ndarray, " N"]
    """The sum of the rewards without their signs."""
    finished: Bool[np.ndarray, " N"]


def check_env(env: AnyEnvironment, steps: int = 2000, seed: int = 0) -> None:
    """Raise a `DerlError`, one line that says what to do, if an environment breaks its contract.

    First the shapes and types of what it gives are compared with each other and with its spec. Then several copies of
    it, compiled, take `steps` random actions together: observations have to be in range, rewards finite, episodes as
    long, truncations and returns as declared, and the same keys have to give the same again. What random actions do not
    reach is not seen, nor the end of an episode longer than a copy plays: at most half of `steps`.
    """
    check_declarations(env)
    check_shapes(env)
    steps = whole_number("steps of check_env", steps, 1)
    rng = np.random.default_rng(whole_number("the seed of check_env", seed, 0))
    copies = max(2, min(MOST_COPIES, steps // (2 * int(env.max_episode_steps))))
    actions = _random_actions(rng, (-(-steps // copies), copies), env.spec.num_actions)
    luck, other_luck = _random_keys(rng, actions.shape), _random_keys(rng, actions.shape)
    play = _compiled(env, actions, luck)
    trial, again, otherwise = (jax.tree.map(np.asarray, play(actions, keys)) for keys in (luck, luck, other_luck))
    _check_views(env, trial)
    _check_ends(env, trial)
    require(_same(trial, again), f"{type(env).__name__}: the same keys gave other steps the second time: {PURE}")
    _check_returns(env, trial, certain=_same(trial, otherwise))


def _random_actions(rng: np.random.Generator, shape: tuple[int, int], num_actions: int) -> Int[np.ndarray, "T E"]:
    """Every second copy mostly repeats its last action."""
    actions = rng.integers(0, num_actions, shape, np.int32)
    repeated = rng.random(shape) < np.where(np.arange(shape[1]) % 2 == 1, REPEATS, 0.0)
    for t in range(1, shape[0]):
        actions[t] = np.where(repeated[t], actions[t - 1], actions[t])
    return actions


def _random_keys(rng: np.random.Generator, shape: tuple[int, ...]) -> UInt32[np.ndarray, "T+1 2 E words"]:
    """Keys for the beginning and for every step and restart, as their words.

    JAX's own splitting would take longer to compile than most environments.
    """
    words = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0))).shape
    return rng.integers(0, 2**32, (1 + shape[0], 2, shape[1], *words), np.uint32)


def _compiled(env: AnyEnvironment, *given: np.ndarray) -> Callable[..., Trial]:
    """Playing, as a program of actions and keys."""
    varying = as_leaves(env)

    def lowered() -> Any:
        # A function of its own each time, or JAX would remember the first tracing.
        return jax.jit(lambda env, actions, keys: _play(env, actions, keys)).lower(varying, *given)

    program = lowered()
    # What is drawn while a program is traced would be the same ever after.
    same = program.as_text() == lowered().as_text()
    require(same, f"{type(env).__name__}: tracing it twice gave two programs: {PURE}")
    return partial(program.compile(QUICKLY_COMPILED), varying)


def _play(env: AnyEnvironment, actions: Int[Array, "T E"], keys: UInt32[Array, "T+1 2 E words"]) -> Trial:
    """These actions in all copies."""
    look, luck = jax.vmap(_view), jax.random.wrap_key_data(keys)

    def step(state, given):
        action, (step_keys, reset_keys) = given
        following, answer = jax.vmap(env.step)(step_keys, state, action)
        fresh, fresh_obs = jax.vmap(env.restart)(reset_keys, following)
        done = answer.terminated | answer.truncated
        state = jax.tree.map(partial(_choose, done), fresh, following)
        reward = answer.reward.astype(jnp.float32)
        return state, (look(answer.obs), look(fresh_obs), reward, answer.terminated, answer.truncated)

    state, obs = jax.vmap(env.reset)(luck[0, 1])
    _, happened = jax.lax.scan(step, state, (actions, luck[1:]))
    return Trial(look(obs), *happened)


def _choose(done: Bool[Array, " E"], fresh: Shaped[Array, " E *b"], going: Shaped[Array, " E *b"]) -> Array:
    """`fresh` in the copies whose episode ended, else `going`."""
    return jnp.where(done.reshape(done.shape + (1,) * (fresh.ndim - 1)), fresh, going)


def _view(obs: Array) -> View:
    if obs.ndim == 0 and jnp.issubdtype(obs.dtype, jnp.integer):
        return View(obs, jnp.asarray(True))
    numbers = obs.astype(jnp.float32).reshape(-1)
    return View((numbers * jnp.cos(jnp.arange(numbers.size))).sum(), jnp.isfinite(numbers).all())


def _check_views(env: AnyEnvironment, trial: Trial) -> None:
    """Observations are in range, and all numbers are finite."""
    name, space = type(env).__name__, env.spec.observation
    everywhere = np.full(trial.done.shape, True)
    views = (
        ("reset", trial.start, everywhere[0]),
        ("step", trial.seen, everywhere),
        ("restart", trial.fresh, trial.done),
    )
    for method, view, counts in views:
        require(bool(view.finite[counts].all()), f"{name}: an observation of {method} is not finite: look for 0 / 0")
        if isinstance(space, Discrete):
            # The size itself stands for what is after the end of the task.
            highest = np.where(trial.terminated, space.size, space.size - 1) if method == "step" else space.size - 1
            wrong = view.value[counts & ((view.value < 0) | (view.value > highest))]
            _require_none(
                wrong,
                f"{name}: an observation of {method} is {{}}, and its spec says Discrete({space.size}), 0 to "
                f"{space.size - 1} (and {space.size} only where the task ended): correct the one or the other",
            )
    wrong = trial.reward[~np.isfinite(trial.reward)]
    _require_none(wrong, f"{name}: a reward is {{}}: rewards must be finite, so look for 0 / 0")


def _check_ends(env: AnyEnvironment, trial: Trial) -> None:
    """Episodes are as long, and truncated only if, the environment says."""
    name, longest, episodes = type(env).__name__, int(env.max_episode_steps), _episodes(trial)
    require(
        env.spec.truncates or not trial.truncated.any(),
        f"{name}: step truncates an episode, which its spec does not say, so that it would count as an end of the "
        "task: set truncates=True in the spec, or return terminated if it is one",
    )
    _require_none(
        episodes.length[episodes.length > longest],
        f"{name}: an episode has {{}} steps or more, and max_episode_steps is {longest}: end it by then, or declare "
        "more",
    )
    if env.episode_length is not None:
        _require_none(
            episodes.length[episodes.finished & (episodes.length != longest)],
            f"{name}: an episode has {{}} steps, and episode_length says that all have {longest}: leave it out",
        )


def _episodes(trial: Trial) -> Episodes:
    parts = []
    for reward, done in zip(trial.reward.T.astype(np.float64), trial.done.T, strict=True):
        # Where an episode begins: at first, and after each end (unless that was the last step).
        starts = np.append(0, np.flatnonzero(done[:-1]) + 1)
        length = np.diff(np.append(starts, len(done)))
        sums = (np.add.reduceat(x, starts) for x in (reward, np.abs(reward)))
        parts.append((length, *sums, np.append(np.full(len(starts) - 1, True), done[-1])))
    return Episodes(*map(np.concatenate, zip(*parts, strict=True)))


def _check_returns(env: AnyEnvironment, trial: Trial, certain: bool) -> None:
    """Finished episodes return what is declared. Where luck plays a part, only the mean of the best is bounded."""
    name, episodes = type(env).__name__, _episodes(trial)
    total, slack = episodes.total[episodes.finished], CLOSE * (1 + episodes.size[episodes.finished])
    best = env.optimal_return if certain else None
    for what, bound, sign in (("lowest_return", env.lowest_return, -1), ("optimal_return", best, 1)):
        if bound is not None:
            _require_none(
                total[sign * (total - float(bound)) > slack],
                f"{name}: an episode returned {{:.6g}}, and {what} is {float(bound):.6g}: correct it, or leave it out",
            )


def _require_none(wrong: Shaped[Numbers, " N"], message: str) -> None:
    """Raise if there is something wrong, and say the first of it."""
    if wrong.size:
        raise DerlError(message.format(wrong[0]))


def _same(one: Trial, other: Trial) -> bool:
    """The same numbers, to the last bit."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
