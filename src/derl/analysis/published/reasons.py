"""Why a published number may differ from ours: what is known about the runs behind the paper.

The paper's numbers were made with code whose published version differs from the paper's text, and now and then from
what it was meant to do. The recipes follow that code wherever it makes sense as an option. What remains is listed here,
the most specific first: for each reason the numbers it concerns and, where there is one, the option that tests it. If
the published number appears with the option switched on, and the option changes our own by more than seeds would, the
reason is confirmed; if the number does not appear, it is not the reason; if it does but seeds could have done that,
more of them are needed.
"""

import dataclasses
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from derl.analysis.published.ours import DRAWN
from derl.analysis.published.runs_behind import fewest_runs
from derl.experiments.cases import Case, Setting, normal_form, setting_text
from derl.experiments.grids import unlike_the_recipe
from derl.experiments.paper import GRID_TASKS, Cell

Kind = Literal["known", "possible"]


@dataclasses.dataclass(frozen=True)
class Reason:
    """One thing in which the published runs differ from ours, or may differ."""

    name: str
    text: str
    kind: Kind
    """`known`: the published code certainly did this and ours does not, on purpose. `possible`: the paper and its code
    disagree, our recipe follows the code, and nobody knows which of the two a number was made with."""
    recipes: tuple[str, ...]
    """Patterns of recipes, such as `ppo-*`."""
    tasks: tuple[str, ...] = ("*",)
    tables: tuple[str, ...] = ("*",)
    swept: str | None = None
    """Only cases in which this setting is changed."""
    of_others: bool = False
    """In other tasks too the numbers that cannot be of five runs."""
    option: tuple[tuple[str, Setting], ...] = ()
    """The settings that test the reason; empty if no configuration does what the published code did."""
    replaces: bool = False
    """Whether the option also replaces the setting the table varies. Otherwise that one stays as it is."""

    def concerns(self, cell: Cell) -> bool:
        """Whether it could explain a difference in this number."""
        return (
            any(fnmatchcase(cell.case.recipe, pattern) for pattern in self.recipes)
            and (
                any(fnmatchcase(cell.case.task, pattern) for pattern in self.tasks)
                or (self.of_others and fewest_runs(cell) > DRAWN)
            )
            and any(fnmatchcase(cell.table, pattern) for pattern in self.tables)
            and (self.swept is None or self.swept in dict(cell.case.changes))
        )

    def test(self, case: Case) -> Case | None:
        """The case whose runs would tell whether this is the reason; None if there is no such option."""
        return _tested(case, self.option, self.replaces) if self.option else None

    @property
    def option_text(self) -> str:
        """The option as text."""
        return setting_text(dict(self.option))


@cache
def _tested(case: Case, option: tuple[tuple[str, Setting], ...], replaces: bool) -> Case | None:
    changes = dict(case.changes)
    changes |= {name: value for name, value in option if replaces or name not in changes}
    tested = normal_form(case.recipe, case.task, changes)
    return None if tested == case else tested


def _icm(recipe: str, family: str, task: str) -> Reason:
    return Reason(
        f"ICM's coefficients ({recipe}, {family})",
        "The appendix gives other coefficients of ICM than the configuration that was published with the code, "
        "which the recipe follows.",
        "possible",
        (recipe,),
        (f"{family}-*",),
        option=tuple(unlike_the_recipe(recipe, task).items()),
    )


def _plain(name: str, recipes: tuple[str, ...], *further: tuple[str, Setting]) -> Reason:
    return Reason(
        name,
        "The paper's table says that PPO's observations and rewards are not normalised in Hallway. The configuration "
        "that was published with the code normalises both, for the bonus too and in evaluations by statistics of their "
        "own, and the recipe does the same.",
        "possible",
        recipes,
        ("Hallway-*",),
        option=(("normalise_observations", False), ("normalise_rewards", False), *further),
    )


PLAIN_COUNT = ("a2c-count", "ppo-count", "dea2c-count", "dea2c-count-kl", "deppo-count", "dedqn-count")
"""Recipes with Count; Hash-Count was never divided by its increment."""

REASONS: tuple[Reason, ...] = (
    Reason(
        "RIDE without lambda",
        "In the paper's code RIDE loses its lambda: its episodic counts overwrite the coefficient with 1. Here lambda "
        "scales RIDE like any other bonus, so that the published number should be that of lambda = 1.",
        "known",
        ("*-ride",),
        swept="bonus.scale",
        option=(("bonus.scale", 1.0),),
        replaces=True,
    ),
    Reason(
        "PPO Count with drifting keys",
        "The paper's code counts normalised observations, whose statistics drift, so that a state hardly ever has the "
        "key it had before. What is left to count are the environments that are in one state at the same time: the "
        "bonus does not decay, and pays four environments for being apart. Here states themselves are counted, unless "
        "asked.",
        "known",
        ("ppo-count",),
        ("Hallway-*",),
        option=(("bonus.memory", "step"),),
    ),
    Reason(
        "what PPO RIDE counts in Hallway",
        "The paper divides RIDE's bonus by the root of an episode's visits. Its code counts visits of normalised "
        "observations, whose statistics drift, so the same state hardly ever has the same key and walking back and "
        "forth pays as much as moving on. Numbers in the longest Hallways only appear that way, and the recipe counts "
        "nothing in any.",
        "possible",
        ("ppo-ride",),
        ("Hallway-*",),
        option=(("bonus.counts", "state"),),
    ),
    Reason(
        "the order of DePPO's steps",
        "In the paper's code DePPO's exploiter keeps 10 steps of which every other update renews only 5: returns then "
        "run from new steps into older ones. In the three tasks tried, Table 1's numbers with Count only appear that "
        "way, and the recipe does the same. The paper does not mention it.",
        "possible",
        ("deppo-*",),
        option=(("decoupling.stale_segments", False),),
    ),
    _plain("PPO's normalisation in Hallway", ("ppo", "ppo-count", "ppo-hash-count", "ppo-icm", "ppo-rnd")),
    # That RIDE counts nothing goes with normalised observations.
    _plain("PPO's normalisation in Hallway (RIDE)", ("ppo-ride",), ("bonus.counts", "state")),
    Reason(
        "counts not divided by their increment",
        "The paper's code divides the bonus by the increment, so that an increment of 0.01 also makes it 100 times "
        "larger. The text only speaks of the increment.",
        "possible",
        PLAIN_COUNT,
        swept="bonus.increment",
        option=(("bonus.divide_by_increment", False),),
    ),
    *(
        _icm(recipe, family, task)
        for recipe in ("dea2c-icm", "deppo-icm", "dedqn-icm")
        for family, task in (("DeepSea", "DeepSea-10"), ("Hallway", "Hallway-10-10"))
    ),
    Reason(
        "DeDQN's frozen targets",
        "The paper's code computes a target once, when a step enters the replay memory, and never again; the recipe "
        "does the same. The text describes targets from a target network at every update.",
        "possible",
        ("dedqn-*",),
        option=(("exploiter.frozen_targets", False),),
    ),
    Reason(
        "which policy importance weights divide by",
        "In the paper's code DeA2C's weights divide by the explorer as it is after its update, and the recipe does the "
        "same. The text divides by the policy that acted.",
        "possible",
        ("dea2c-*",),
        option=(("decoupling.denominator", "collected"),),
    ),
    Reason(
        "whether importance weights are clipped",
        "What the paper calls Retrace(lambda) in Hallway only clips importance weights at 1, in its code and in the "
        "recipe. DeepSea's weights are not clipped.",
        "possible",
        ("dea2c-*",),
        ("Hallway-*",),
        option=(("exploiter.correction", "importance"),),
    ),
    Reason(
        "a lambda of one half",
        "The paper says that lambda is 1. Its code has 0.5 for Count, ICM and RND unless a configuration says "
        "otherwise: those published with it say 1, but earlier runs, such as those of the search in DeepSea-20 and "
        "Hallway-10-10, came before they were there. Many a number of DeepSea-20, and some of other tasks, cannot be "
        "of five runs, so that earlier ones may well be among them.",
        "possible",
        (*PLAIN_COUNT, "*-icm", "*-rnd"),
        GRID_TASKS,
        of_others=True,
        # In the tables of sensitivity lambda is what they say. Hash-Count's is always 1, and RIDE loses its own.
        tables=("tab:mean_returns", "*max_returns"),
        option=(("bonus.scale", 0.5),),
    ),
    Reason(
        "ICM as the code has it",
        "Unless a configuration says otherwise, the paper's code has a lambda of 0.5, a learning rate of 1e-5 and "
        "coefficients of 10 and 0.1 for ICM. The configurations that were published with it say otherwise, but earlier "
        "runs, such as those of the search, came before them.",
        "possible",
        ("a2c-icm",),
        GRID_TASKS,
        tables=("tab:mean_returns", "*max_returns"),
        option=(
            ("bonus.scale", 0.5),
            ("bonus.learning_rate", 1e-5),
            ("bonus.forward_coef", 10.0),
            ("bonus.inverse_coef", 0.1),
        ),
    ),
    Reason(
        "half of ICM's error",
        "The paper's equation rewards with ICM's squared error. Its code halves it, and the recipe does the same.",
        "possible",
        ("*-icm",),
        option=(("bonus.halve", False),),
    ),
    Reason(
        "what ICM sees at the end of an episode",
        "The paper's equation is about the successor of a state. In its code environments reset themselves, so that "
        "after an episode's last step ICM sees the start of the next one, and the recipe does the same.",
        "possible",
        ("*-icm",),
        option=(("bonus.successor", "successor"),),
    ),
    Reason(
        "sampled evaluation of baselines",
        "The paper says that evaluations are greedy, and so are the recipes: only greedy ones reproduce its numbers "
        "for A2C with Count and Hash-Count in the longest Hallways, and the returns of those runs of PPO with RIDE in "
        "DeepSea that learn at all. The code that was published samples the baselines' actions.",
        "possible",
        ("a2c", "a2c-*", "ppo", "ppo-*"),
        option=(("protocol.evaluation", "sampled"),),
    ),
    Reason(
        "a goal that is reached only once",
        "Until July 2021 the paper's code did not forget at the start of an episode that the goal of Hallway had been "
        "reached, and evaluations took place in the environments that train: the first arrival was rewarded once in a "
        "lifetime. Which version made the numbers is not known.",
        "possible",
        ("*",),
        ("Hallway-*",),
        option=(("env_options.lasting_goal", True),),
    ),
)


def reasons_for(cell: Cell) -> Iterator[Reason]:
    """Everything that could explain a difference in a number, the most specific first."""
    return (reason for reason in REASONS if reason.concerns(cell))
