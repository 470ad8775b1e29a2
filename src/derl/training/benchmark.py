"""Measuring speed: whole training against the bare update, in one process and one run."""

import time
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from derl.agents.base import Experience
from derl.core.types import Discrete, Rollout, empty_rollout
from derl.training.algorithm import Algorithm
from derl.training.config import Config
from derl.training.loop import learn_repeatedly
from derl.training.population import Population, advance_population
from derl.training.state import RunState


class Measurement(NamedTuple):
    """One line of the benchmark."""

    task: str
    recipe: str
    population: int
    steps_per_second: float
    """Environment steps of all runs together, on one core."""
    bare_steps_per_second: float
    """The same if nothing but the gradient steps had to be done."""
    overhead: float
    """Acting, environment, bonus and bookkeeping, in units of the bare update."""
    compile_seconds: float
    state_megabytes: float
    """What the runs' state holds (networks, optimisers, replay)."""
    peak_megabytes: float
    """That and all temporary memory of the compiled program."""


def fixed_rollout(algorithm: Algorithm, steps: int) -> Rollout:
    """A made-up batch in the shape of a rollout."""
    spec, shape = algorithm.agent_spec, (steps, algorithm.num_envs)
    rollout = empty_rollout(spec, algorithm.num_envs, steps)
    if isinstance(spec.observation, Discrete):
        obs = jnp.arange(steps * algorithm.num_envs).reshape(shape) % spec.observation.size
        rollout = Rollout(obs, rollout.action, jnp.ones(shape), obs, rollout.terminated, rollout.truncated, obs[-1])
    return rollout


def bare_update(algorithm: Algorithm, state: RunState, clock: Int[Array, ""]) -> RunState:
    """Every gradient step of an iteration, on a fixed batch: both agents', and a learned bonus's."""
    rollout = fixed_rollout(algorithm, algorithm.rollout_length)
    spec, actions = algorithm.agent_spec, algorithm.env.spec.num_actions
    own, steps = Experience(rollout), algorithm.steps_per_iteration
    explorer, _ = learn_repeatedly(algorithm.explorer, state.explorer, state.key, spec, clock, steps, lambda _: own)
    state = eqx.tree_at(lambda s: s.explorer, state, explorer)
    if algorithm.bonus.learned is not None and algorithm.normalised_bonus == algorithm.normalise_observations:
        state = eqx.tree_at(lambda s: s.bonus, state, algorithm.bonus.step(state.bonus, rollout)[0])
    if algorithm.exploiter is not None:
        data = fixed_rollout(algorithm, algorithm.rollout_length * algorithm.segment_rollouts)
        behaviour = jnp.full((*data.reward.shape, actions), -jnp.log(actions))
        experience, steps = Experience(data, behaviour), steps * algorithm.decoupling.period
        exploiter, _ = learn_repeatedly(
            algorithm.exploiter, state.exploiter, state.key, spec, clock, steps, lambda _: experience
        )
        state = eqx.tree_at(lambda s: s.exploiter, state, exploiter)
    return state


@partial(jax.jit, donate_argnums=1)
def _bare(algorithm: Algorithm, state: RunState, start: Int[Array, ""], stop: Int[Array, ""]) -> RunState:
    step = jax.vmap(bare_update, in_axes=(0, 0, None))
    return jax.lax.fori_loop(start, stop, lambda clock, s: step(algorithm, s, clock), state)


def seconds_per_iteration(function, algorithm: Algorithm, state: RunState, seconds: float, windows: int = 3):
    """The best of a few windows (other programs can only slow one down), and the state after them."""
    count, clock, best = 8, 10_000, float("inf")
    for _ in range(12):
        begun = time.perf_counter()
        state = jax.block_until_ready(function(algorithm, state, jnp.asarray(clock), jnp.asarray(clock + count)))
        took, clock = time.perf_counter() - begun, clock + count
        if took > seconds / (2 * windows):
            best, windows = min(best, took / count), windows - 1
            if windows == 0:
                break
        else:
            count = max(count + 1, int(count * min(10.0, seconds / windows / max(took, 1e-9))))
    return best, state


def measure(config: Config, population: int, seconds: float = 1.5) -> Measurement:
    """Time whole training and the bare update of one recipe, on the calling thread's core."""
    algorithm = config.algorithm()
    runs = Population([algorithm] * population, range(population))
    state = jax.block_until_ready(runs.init())
    zero = jnp.asarray(0)
    begun = time.perf_counter()
    compiled = advance_population.lower(runs.algorithm, state, zero, zero).compile()
    compile_seconds = time.perf_counter() - begun
    memory = compiled.memory_analysis()
    assert memory is not None
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    # A replay memory must be filled before what it costs can be timed.
    state = jax.block_until_ready(compiled(runs.algorithm, state, zero, jnp.asarray(200)))
    whole, state = seconds_per_iteration(compiled, runs.algorithm, state, seconds)
    bare_compiled = _bare.lower(runs.algorithm, state, zero, zero).compile()
    bare, state = seconds_per_iteration(bare_compiled, runs.algorithm, state, seconds)
    steps = algorithm.steps_per_iteration * population
    return Measurement(
        config.task,
        config.recipe,
        population,
        steps / whole,
        steps / bare,
        (whole - bare) / bare,
        compile_seconds,
        held / 1e6,
        (memory.temp_size_in_bytes + memory.argument_size_in_bytes) / 1e6,
    )
