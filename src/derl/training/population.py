"""Many runs in one compiled program: seeds, and any numbers among the hyper-parameters, stacked under `vmap`."""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from derl.core.leaves import as_leaves, explain_tracing
from derl.core.running import Moments
from derl.training.algorithm import Algorithm
from derl.training.contracts import EXPLORERS, check_jax
from derl.training.evaluation import evaluate
from derl.training.loop import init_run, metric_names, step_run
from derl.training.state import RunState


def alike(algorithms: Sequence[Algorithm]) -> list[Algorithm]:
    """Of one structure: if some are constrained (or mix) and others not, the others do too, with weight 0."""
    flags = ("explorer_constrained", "exploiter_constrained", "mixes")
    shared = {flag: any(getattr(a, flag) for a in algorithms) for flag in flags}
    return [dataclasses.replace(a, **shared) for a in algorithms]


def stack(algorithms: Sequence[Algorithm]) -> Algorithm:
    """Runs that differ only in numbers, as one algorithm with a leading axis."""
    algorithms = alike(algorithms)
    structures = {jax.tree.structure(a) for a in algorithms}
    if len(structures) != 1:
        raise ValueError("runs of one population must share their structure")
    return jax.tree.map(lambda *xs: jnp.stack(xs), *[as_leaves(a) for a in algorithms])


class Population:
    """A stack of runs and the compiled functions that move it on. One population runs on one core."""

    def __init__(self, algorithms: Sequence[Algorithm], seeds: Sequence[int], like: "Population | None" = None):
        check_jax()
        self.algorithm = stack(algorithms)
        self.seeds = np.asarray(seeds, np.uint32)
        # To find the names the program is traced, a quarter of a second: one population of a structure knows for all.
        if like is not None and like.structure == self.structure:
            self.metric_names = like.metric_names
        else:
            try:
                self.metric_names = metric_names(jax.tree.map(lambda x: x[0], self.algorithm))
            except (TypeError, IndexError) as error:
                explain_tracing(error, algorithms[0])
                raise

    @property
    def structure(self) -> Any:
        """What populations share that run the same program."""
        return jax.tree.structure(self.algorithm)

    def compile(self, threads: int, *, episodes: int, greedy: bool) -> None:
        """Compile all programs at the same time, for every population of this shape. With one thread: when needed."""
        if threads < 2:
            return
        state, clock = self.shapes(), jnp.asarray(0, jnp.int32)
        programs = (
            lambda: advance_population.lower(self.algorithm, state, clock, clock),
            lambda: _init.lower(self.algorithm, jnp.asarray(self.seeds)),
            lambda: _evaluate.lower(
                self.algorithm, state, clock, clock, episodes=episodes, greedy=greedy, seat="exploiter"
            ),
        )
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda lowered: lowered().compile(), programs))

    def init(self) -> RunState:
        """All runs before their first step."""
        return _init(self.algorithm, jnp.asarray(self.seeds))

    def shapes(self) -> RunState:
        """The shapes of the state of all runs."""
        return jax.eval_shape(_initial, self.algorithm, jnp.asarray(self.seeds))

    def advance(self, state: RunState, start: int, stop: int) -> RunState:
        """Iterations `start` to `stop` of every run. Consumes `state`."""
        return advance_population(self.algorithm, state, jnp.asarray(start, jnp.int32), jnp.asarray(stop, jnp.int32))

    def evaluate(
        self, state: RunState, clock: int, index: int, *, episodes: int, greedy: bool, seat="exploiter"
    ) -> tuple[RunState, np.ndarray]:
        """Evaluation number `index`: returns as an array of runs x episodes. It does not disturb training: the state it
        gives back differs only in what evaluations keep for themselves."""
        run = partial(_evaluate, episodes=episodes, greedy=greedy, seat=seat)
        returns, moments = run(self.algorithm, state, jnp.asarray(clock, jnp.int32), jnp.asarray(index, jnp.int32))
        if moments is not None:
            state = eqx.tree_at(lambda s: s.evaluation_moments, state, moments)
        return state, np.asarray(returns)

    def read(self, state: RunState, iterations: int) -> tuple[RunState, dict[str, np.ndarray]]:
        """The mean of each metric since the last reading, and a state whose totals start anew."""
        totals = {name: np.asarray(state.totals)[:, i] for i, name in enumerate(self.metric_names)}
        metrics = means(totals, iterations)
        count, total = np.asarray(state.collector.finished).T
        with np.errstate(invalid="ignore", divide="ignore"):
            metrics["explorer_return"] = np.where(count > 0, total / count, np.nan)
        metrics["episodes"] = np.asarray(state.collector.episodes)
        if state.visits is not None:
            metrics["coverage"] = np.asarray((state.visits > 0).sum(-1))
        metrics["failed_at"] = np.asarray(state.failed_at)
        zeros = (jnp.zeros_like(state.totals), jnp.zeros_like(state.collector.finished))
        return eqx.tree_at(lambda s: (s.totals, s.collector.finished), state, zeros), metrics


UPDATES = ("updated", f"{EXPLORERS}updated")
"""How often the exploiter and the explorer learnt (see `learn_if`): not results, but what theirs are divided by."""


def means(totals: dict[str, np.ndarray], iterations: int) -> dict[str, np.ndarray]:
    """The mean of each metric: an agent's over its updates, the others over iterations."""
    result = {}
    for name, total in totals.items():
        updated = UPDATES[name.startswith(EXPLORERS)]
        agents = name != "bonus" and updated in totals
        with np.errstate(invalid="ignore", divide="ignore"):
            result[name] = total / (totals[updated] if agents else max(iterations, 1))
    return {name: mean for name, mean in result.items() if name not in UPDATES}


QUICKLY_COMPILED = {"xla_backend_optimization_level": 1}
"""Halves the compile time of what runs once. The numbers stay the same; at level 0, or in evaluations, they do not."""


def _initial(algorithm: Algorithm, seeds: Int[Array, " P"]) -> RunState:
    return jax.vmap(lambda a, seed: init_run(a, jax.random.key(seed)))(algorithm, seeds)


_init = jax.jit(_initial, compiler_options=QUICKLY_COMPILED)


@partial(jax.jit, donate_argnums=1)
def advance_population(algorithm: Algorithm, state: RunState, start: Int[Array, ""], stop: Int[Array, ""]) -> RunState:
    """Train all runs from one iteration to another."""
    # The clock is shared, not batched: what depends on it alone stays a branch or a plain slice under vmap.
    step = jax.vmap(step_run, in_axes=(0, 0, None))
    return jax.lax.fori_loop(start, stop, lambda clock, s: step(algorithm, s, clock), state)


@partial(jax.jit, static_argnames=("episodes", "greedy", "seat"))
def _evaluate(
    algorithm: Algorithm,
    state: RunState,
    clock: Int[Array, ""],
    index: Int[Array, ""],
    *,
    episodes: int,
    greedy: bool,
    seat: str,
) -> tuple[Float[Array, "P episodes"], Moments | None]:
    def one(a, s):
        # A stream of its own, folded from the run's key where training's are not, so that evaluating changes nothing.
        key = jax.random.fold_in(jax.random.fold_in(s.key, 2**31 - 1), index)
        return evaluate(a, s, key, clock, episodes=episodes, greedy=greedy, seat=seat)  # pyright: ignore

    return jax.vmap(one)(algorithm, state)
