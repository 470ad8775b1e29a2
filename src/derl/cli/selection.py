"""The flags that narrow an experiment, for every command that knows experiments by name."""

import dataclasses
from typing import Annotated

import tyro

from derl.core.errors import require
from derl.experiments.builtin import EXPERIMENTS, QUICK_EPISODES, find_experiment, quick
from derl.experiments.cases import Case
from derl.experiments.experiment import Experiment
from derl.experiments.shortening import check_evaluations, shortened
from derl.training.seeds import seeds_named

Names = dict[Case, list[Case]]
"""The paper's cases that a case to be run stands for. Shortened, several may be the same."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """Which part of an experiment."""

    seeds: str | None = None
    """Other seeds than the experiment's: how many (0, 1, ...), or which: 3,7,11 or 10-19."""
    episodes: int | None = None
    """Train for at most so many episodes, with as many evaluations: rounded down to a multiple of their number."""
    only: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="NAME ...")] = None
    """Only these tasks, recipes or settings: DeepSea-10 dea2c-count bonus.scale=0.1; as-is: what changes nothing."""

    def narrow(self, experiment: Experiment, small: bool = False) -> Experiment:
        """The part of an experiment these flags ask for, or of its small version."""
        require(self.episodes is None or self.episodes >= 1, f"--episodes must be at least 1, not {self.episodes}")
        require(self.only != (), "--only needs tasks, recipes or settings; to run everything leave it out")
        whole = experiment.narrowed(only=self.only or ())
        part = quick(whole, self.episodes or QUICK_EPISODES) if small else whole.narrowed(episodes=self.episodes)
        longer = not small and self.episodes is not None and part.cases == whole.cases and len(whole.cases) > 0
        require(not longer, f"--episodes {self.episodes} shortens nothing of {whole.name}: leave it out, or take fewer")
        return part.narrowed(seeds=self.other_seeds())

    def originals(self, whole: Experiment, chosen: Experiment, small: bool = False) -> Names:
        """For each case the paper's: the same, but for the length of training. Raises if that is too short to judge."""
        episodes = self.episodes or (QUICK_EPISODES if small else None)
        names: Names = {}
        for case in whole.cases:
            names.setdefault(case if episodes is None else shortened(case, episodes), []).append(case)
        if episodes is not None:
            # Only runs with all evaluations are judged: told now, not after they are made.
            check_evaluations((names[case][0] for case in chosen.cases), episodes)
        return names

    def other_seeds(self) -> list[int] | None:
        """The seeds that were asked for, if any."""
        return None if self.seeds is None else seeds_named(self.seeds)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredSelection(Selection):
    """Which part of an experiment, of runs that were made with the same flags."""

    quick: bool = False
    """The small version of an experiment that derl reproduce --quick runs."""

    def found(self, name: str | None) -> Experiment | None:
        """The part of the experiment of this name, or in this file; None without a name."""
        if name is None:
            given = {"seeds": self.seeds, "episodes": self.episodes, "only": self.only, "quick": self.quick}
            flag = next((flag for flag, value in given.items() if value), None)
            require(flag is None, f"--{flag} is for an experiment: give its name")
            return None
        whole = find_experiment(name)
        require(not self.quick or name in EXPERIMENTS, f"--quick is for the paper's experiments; {name} is a file")
        chosen = self.narrow(whole, self.quick)
        if name in EXPERIMENTS:
            self.originals(whole, chosen, self.quick)
        require(len(chosen.members()) > 0, f"{name}: nothing is left of it with these options")
        return chosen
