"""What training gives back: results, curves and policies."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import polars as pl

from derl.analysis.measures.curves import learning_curves, summarise
from derl.core.errors import DerlError, require
from derl.core.types import Discrete
from derl.envs.base import AnyEnvironment
from derl.training.algorithm import Algorithm
from derl.training.checkpoint import save_checkpoint
from derl.training.config import Config, require_episodes
from derl.training.evaluation import Episode, Seat, logits_of, play_episode, policy_of, values_of
from derl.training.folder import RunFolder
from derl.training.members import Run, expand, fingerprint
from derl.training.population import Population
from derl.training.state import RunState


class Policy:
    """A trained policy that answers to observations."""

    def __init__(self, algorithm: Algorithm, state: RunState, clock: int, seat: Seat):
        self.algorithm, self.state, self.seat = algorithm, state, seat
        acts = {greedy: policy_of(algorithm, state, jnp.asarray(clock), seat, greedy) for greedy in (True, False)}
        # Made once, so that each is compiled once however often it is asked; by whether it is deterministic.
        self._acts = {greedy: jax.jit(act) for greedy, act in acts.items()}
        self._plays = {greedy: jax.jit(partial(play_episode, algorithm.env, act)) for greedy, act in acts.items()}
        logits, values = logits_of(algorithm, state, jnp.asarray(clock), seat), values_of(algorithm, state, seat)
        self._probabilities = jax.jit(lambda obs: jax.nn.softmax(logits(obs)))
        self._values = jax.jit(values)
        self._key = jax.random.key(0)

    def __repr__(self) -> str:
        alone = self.algorithm.exploiter is None
        return f"<Policy of the {'explorer, the only one,' if alone else self.seat} on {self.env.name}>"

    @property
    def env(self) -> AnyEnvironment:
        """The environment it was trained in."""
        return self.algorithm.env

    def predict(self, obs: Any, deterministic: bool = True) -> Any:
        """The action for an observation, or for each of a batch: the most valued one, or a sample of the policy.

        A countable observation is an integer, or the one-hot array it stands for, as bsuite and Gymnasium give it.
        """
        obs = self._parse(np.asarray(obs))
        self._key, key = jax.random.split(self._key)
        action = np.asarray(self._acts[deterministic](key, jnp.asarray(obs)))
        return int(action) if action.ndim == 0 else action

    def probabilities(self, obs: Any) -> np.ndarray:
        """The probability of each action, for an observation or each of a batch: what samples are drawn with."""
        return np.asarray(self._probabilities(self._parse(np.asarray(obs))))

    def values(self, obs: Any) -> Any:
        """What the agent expects to earn from an observation on, or from each of a batch.

        It is the discounted sum of the reward that it learns from: the explorer's has the bonus in it, and is
        normalised where rewards are. An actor-critic gives one number, a Q-network one for each action.
        """
        values = np.asarray(self._values(self._parse(np.asarray(obs))))
        return float(values) if values.ndim == 0 else values

    def _parse(self, obs: np.ndarray) -> np.ndarray:
        space = self.env.spec.observation
        if isinstance(space, Discrete) and np.issubdtype(obs.dtype, np.integer):
            require(obs.min() >= 0 and obs.max() <= space.size, f"observations are integers from 0 to {space.size}")
            # Read as a batch of states it would be one of 0s with a single 1.
            one_hot = obs.size == space.size > 1 and obs.sum() == 1
            require(not one_hot, "this array of integers looks like a one-hot observation: give it as floats")
            return obs.astype(np.int32)
        if isinstance(space, Discrete):
            require(
                obs.size > 0 and obs.size % space.size == 0,
                f"an observation is an integer from 0 to {space.size}, or its one-hot array of floats",
            )
            flat = obs.reshape(-1, space.size)
            index = np.where(flat.any(1), flat.argmax(1), space.size).astype(np.int32)
            # One observation may come as it is, or as a batch of one; a grid of one row is no batch.
            batch_of_one = obs.ndim > 1 and obs.shape[0] == 1 and obs.shape != self.env.grid_shape
            return index if obs.size > space.size or batch_of_one else index[0]
        ending = obs.shape[obs.ndim - len(space.shape) :]
        require(ending == space.shape, f"an observation has shape {space.shape}, this one {obs.shape}")
        return obs.astype(np.float32)

    def play(self, seed: int = 0, deterministic: bool = True) -> Episode:
        """One episode of this policy in its environment. `seed` decides its randomness."""
        return self._plays[deterministic](jax.random.key(seed))


@dataclasses.dataclass
class Result:
    """The outcome of `derl.train`."""

    config: Config
    runs: Sequence[Run]
    frame: pl.DataFrame
    """One row per run and evaluation; see docs/results for the columns."""
    state: RunState
    clock: int
    folder: RunFolder | None = None

    def __repr__(self) -> str:
        # What a notebook shows for the last line of a cell: not every weight's shape.
        counts = (len(self.runs), "run"), (self.frame["evaluation"].n_unique(), "evaluation")
        size = ", ".join(f"{count} {thing}{'' if count == 1 else 's'}" for count, thing in counts)
        kept = "" if self.folder is None else f", in {self.folder.path}"
        return f"<Result of {self.config.recipe} on {self.config.task}: {size}{kept}>"

    def policy(self, run: int = 0, seat: Seat = "exploiter") -> Policy:
        """The trained policy of a run: the exploiter's, or for a baseline or by `seat` the explorer's."""
        require(0 <= run < len(self.runs), f"there is no run {run}; runs are numbered 0 to {len(self.runs) - 1}")
        state = jax.tree.map(lambda x: x[run], self.state)
        return Policy(self.runs[run].config.algorithm(), state, self.clock, seat)

    def evaluate(
        self, seat: Seat = "exploiter", *, episodes: int = 100, deterministic: bool = True, seed: int = 0
    ) -> np.ndarray:
        """Fresh evaluation episodes of every run: an array of runs x episodes. `seed` decides their randomness."""
        require_episodes(episodes, "episodes")
        population = Population([run.config.algorithm() for run in self.runs], [run.seed for run in self.runs])
        # Training numbers its evaluations from 1 on: these have numbers that it never uses.
        options: dict[str, Any] = {"episodes": episodes, "greedy": deterministic, "seat": seat}
        return population.evaluate(self.state, self.clock, -1 - seed, **options)[1]

    def save(self, folder: str | Path) -> Path:
        """Keep a result that was trained without `out`: `derl.load(folder)` gives it back. The folder must be new."""
        if self.folder is not None:
            raise DerlError(f"this result is kept in {self.folder.path}: copy that folder")
        seeds = [run.seed for run in self.runs if run.values == self.runs[0].values]
        vary = {name: list(dict.fromkeys(run.values[name] for run in self.runs)) for name in self.runs[0].values}
        described = [(run.seed, run.values) for run in expand(self.config, seeds, vary)]
        whole = described == [(run.seed, run.values) for run in self.runs]
        require(whole, "only a whole result can be saved: every varied value with every seed")
        kept = RunFolder(folder)
        # It has been trained to its end, so it does not matter how many runs a program would hold.
        kept.create(self.config, seeds, vary, group_size=len(self.runs))
        try:
            kept.write_results(self.frame)
            metadata = {"clock": self.clock, "read_at": self.clock, "rows": len(self.frame)}
            metadata |= {"runs": fingerprint(self.runs)}
            save_checkpoint(kept.checkpoint, self.state, metadata)
        finally:
            kept.unlock()
        self.folder = kept
        return kept.path

    @property
    def optimal_return(self) -> float | None:
        """The best return of the task, if it is known and the same in all runs (options of a task may be varied)."""
        # Seeds share their task: the first run of each combination of varied numbers is enough.
        combinations = {tuple(run.values.items()): run for run in self.runs}
        found = {run.config.make_env().optimal_return for run in combinations.values()}
        return found.pop() if len(found) == 1 else None

    def curves(self) -> pl.DataFrame:
        """Mean and 95 % bootstrap interval of the evaluation returns over seeds, at every evaluation."""
        return learning_curves(self.frame, list(self.runs[0].values))

    def summary(self) -> pl.DataFrame:
        """Average, maximum and final evaluation returns as the paper defines them."""
        return summarise(self.frame, list(self.runs[0].values))

    @property
    def failed(self) -> list[int]:
        """Runs whose numbers ceased to be finite."""
        bad = self.frame.filter(pl.col("failed_at_step").is_not_null())
        return bad["run"].unique().sort().to_list()
