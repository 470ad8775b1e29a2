"""What the library's own recipe can do, as data: every task of the paper, held-out variants, and each part left out."""

from derl.envs.registry import PAPER_TASKS
from derl.experiments.cases import Case, Setting
from derl.experiments.experiment import Experiment, Part, product
from derl.experiments.paper import INCREMENTS, LAMBDAS, SENSITIVITY_TASKS

TWENTY, FIVE, THREE, TWO = (tuple(range(n)) for n in (20, 5, 3, 2))
HELD_OUT_SEEDS = tuple(range(1000, 1020))
"""Seeds that no hyper-parameter was chosen on."""

MANY_EPISODES: dict[str, Setting] = {"protocol.evaluation_episodes": 1024, "protocol.evaluate_every": 50}
"""Where chance decides the return: with a standard deviation of 1, the mean of so many is known to 0.03."""

STOCHASTIC: dict[str, Setting] = {"env_options.stochastic": True, "protocol.episodes": 5_000, **MANY_EPISODES}

RANDOM_STARTS: dict[str, Setting] = {"env_options.random_start": True, **MANY_EPISODES}

HELD_OUT: dict[str, Case] = {
    "DeepSea 20, mapping 1001": Case.of("derl", "DeepSea-20", {"env_options.mapping_seed": 1001.0}),
    "DeepSea 20, mapping 1003": Case.of("derl", "DeepSea-20", {"env_options.mapping_seed": 1003.0}),
    "DeepSea 20, mapping 1004": Case.of("derl", "DeepSea-20", {"env_options.mapping_seed": 1004.0}),
    "DeepSea 30, mapping 1002": Case.of("derl", "DeepSea-30", {"env_options.mapping_seed": 1002.0}),
    "DeepSea 20, stochastic": Case.of("derl", "DeepSea-20", STOCHASTIC),
    "Hallway 5-30": Case.of("derl", "Hallway-5-30"),
    "Hallway 5-30, episodes of 15 steps": Case.of("derl", "Hallway-5-30", {"env_options.horizon": 15.0}),
    "Hallway 15-40, episodes of 45 steps": Case.of("derl", "Hallway-15-40", {"env_options.horizon": 45.0}),
    "Hallway 15-40, episodes of 50 steps": Case.of("derl", "Hallway-15-40", {"env_options.horizon": 50.0}),
    "Hallway 20-20, random starts": Case.of("derl", "Hallway-20-20", RANDOM_STARTS),
}
"""Tasks that no hyper-parameter's value was chosen on: other mappings, other shapes, chance, other starts.

That two earlier runs failed on the stochastic one is why the entropy bonus falls so late."""

ABLATIONS: dict[str, dict[str, Setting]] = {
    "no optimism": {"explorer.optimism_weight": 0.0},
    "bonus as it was": {"explorer.recompute_bonus": False},
    "bonus not normalised": {"bonus.normalise": "none"},
    "bonus not normalised, lambda 0.01": {"bonus.normalise": "none", "bonus.scale": 0.01},
    "bonus not normalised, lambda 100": {"bonus.normalise": "none", "bonus.scale": 100.0},
    "no bonus, optimism alone": {"bonus.normalise": "none", "bonus.scale": 0.0},
    "no mixture": {"decoupling.mixture": 0.0},
    "policy changes at every step": {"explorer.collect_steps": 1},
    "one explorer update per step": {"explorer.updates_per_step": 1.0},
    "no correction": {"exploiter.correction": "none"},
    "one-step returns": {"exploiter.gae_lambda": 0.0},
    "ten times the entropy bonus": {"exploiter.entropy_coef": 0.01},
    "a short memory": {"exploiter.capacity": 6_000},
    "newest weights": {"exploiter.averaged": False},
    "average over a hundred updates": {"exploiter.average_share": 0.0},
    "Adam's usual memory, exploiter": {"exploiter.adam_beta2": 0.999},
    "Adam's shortest memory, exploiter": {"exploiter.adam_beta2": 0.9},
    "Adam's smaller epsilon, exploiter": {"exploiter.adam_epsilon": 1e-5},
    "Adam's usual memory, explorer": {"explorer.adam_beta2": 0.999},
    "explorer sees both rewards": {"explorer_reward": "both"},
}
"""The recipe with one part changed."""
KNOBS: dict[str, tuple[float, ...]] = {
    "explorer.optimism_weight": (1.1, 9.9),
    "explorer.learning_rate": (3e-4, 3e-3),
    "explorer.target_rate": (0.08, 0.75),
    "decoupling.mixture_weight": (0.1, 0.9),
    "exploiter.learning_rate": (3e-4, 3e-3),
    "exploiter.entropy_coef": (3e-4, 3e-3),
    "exploiter.entropy_steps": (17_000.0,),
    "exploiter.adam_epsilon": (1e-5, 9e-5),
}
"""What the recipe has in place of lambda and the decay, a third and three times as large: are these to be tuned?

Three times as many steps before the entropy bonus falls are more than these tasks have."""
SHORT_AVERAGE: dict[str, Setting] = {"exploiter.average_share": 0.0}
HOLDING: dict[str, dict[str, Setting]] = {
    "Adam's usual memory, short average": {"exploiter.adam_beta2": 0.999, **SHORT_AVERAGE},
    "Adam's shortest memory, short average": {"exploiter.adam_beta2": 0.9, **SHORT_AVERAGE},
}
"""What the two parts that hold the optimum do, where it is hardest to hold."""
LARGER_TASKS = ("DeepSea-30", "Hallway-30-30")
NEEDED_LATER = (
    "bonus as it was",
    "no bonus, optimism alone",
    "no mixture",
    "explorer sees both rewards",
    "newest weights",
)
"""Parts that the small tasks can do without, tried on larger ones."""
DEEP = (
    Case.of("derl", "DeepSea-50", {"protocol.episodes": 3_000}),
    Case.of("derl", "DeepSea-100", {"protocol.episodes": 5_000, "protocol.evaluate_every": 50}),
)
"""Larger tasks than the paper's."""
CONSTANT: dict[str, Setting] = {"exploiter.entropy_steps": 0.0}
SMALL_EPSILON: dict[str, Setting] = {"exploiter.adam_epsilon": 1e-5}
SHORT_MEMORY: dict[str, Setting] = {"exploiter.capacity": 100_000}
UNHELD_RUNS: dict[str, tuple[dict[str, Setting], tuple[int, ...]]] = {
    "constant entropy bonus": (CONSTANT, (0, 1, 3, 5, 8, 9, 10, 14, 15, 16, 18, 19)),
    "constant entropy bonus, smaller epsilon": (CONSTANT | SMALL_EPSILON, (0, 5, 8, 9)),
    "constant entropy bonus, smaller epsilon, shorter memory": (CONSTANT | SMALL_EPSILON | SHORT_MEMORY, (0, 1, 2, 3)),
    "shorter memory": (SHORT_MEMORY, (0, 1)),
    "smaller epsilon": (SMALL_EPSILON, (0, 1)),
}
"""The larger task without what holds it: an entropy bonus that does not fall, an epsilon at which noise counts more, a
memory that forgets the first 1,000 episodes. And seeds: a run costs five minutes, and the first differs least from the
recipe."""
UNHELD: dict[str, Case] = {
    name: Case.of("derl", "DeepSea-50", {"protocol.episodes": 3_000, **changes})
    for name, (changes, _) in UNHELD_RUNS.items()
}
CHANCE = Case.of("derl", "DeepSea-20", STOCHASTIC)
EARLY = {
    "entropy bonus that falls early": Case.of("derl", "DeepSea-20", {**STOCHASTIC, "exploiter.entropy_steps": 10_000.0})
}
"""Where chance decides, with an entropy bonus that falls from 10,000 steps on."""
BASELINE_TASKS = ("DeepSea-10", "DeepSea-20", "Hallway-10-10", "DeepSea-30")
OTHER_BONUSES = ("derl-hash-count", "derl-rnd")
ABLATION_TASKS = ("DeepSea-20", "Hallway-10-10")


def ablations() -> tuple[Case, ...]:
    """The recipe without each of its parts."""
    return tuple(Case.of("derl", task, changes) for task in ABLATION_TASKS for changes in ABLATIONS.values())


def holding() -> tuple[Case, ...]:
    """The recipe without what holds the optimum."""
    return tuple(Case.of("derl", task, changes) for task in LARGER_TASKS for changes in HOLDING.values())


def larger_ablations() -> tuple[Case, ...]:
    """The larger tasks without the parts that the small ones do not need."""
    return tuple(Case.of("derl", task, ABLATIONS[name]) for task in LARGER_TASKS for name in NEEDED_LATER)


def knobs() -> tuple[Case, ...]:
    """The recipe with its own numbers changed."""
    values = [{name: value} for name, pair in KNOBS.items() for value in pair]
    return tuple(Case.of("derl", task, changes) for task in ABLATION_TASKS for changes in values)


def sensitivity() -> tuple[Case, ...]:
    """The paper's sweeps of lambda and of the count increment.

    The recipe does not read lambda: the runs of all its values are one run, made once.
    """
    return (
        *product(SENSITIVITY_TASKS, ("derl",), vary={"bonus.scale": LAMBDAS}),
        *product(SENSITIVITY_TASKS, ("derl",), vary={"bonus.increment": INCREMENTS}),
    )


def beyond() -> Experiment:
    """The recipe `derl` on everything."""
    parts = (
        Part(product(PAPER_TASKS, ("derl",)), TWENTY),
        Part(product(SENSITIVITY_TASKS, OTHER_BONUSES), TWENTY),
        Part(product(("DeepSea-20",), OTHER_BONUSES), THREE),
        Part(sensitivity(), TWENTY),
        Part(tuple(HELD_OUT.values()), HELD_OUT_SEEDS[:10]),
        Part(ablations(), FIVE),
        Part(holding(), FIVE),
        Part(DEEP[:1], TWENTY),
        Part(DEEP[1:], TWO),
        Part(product(BASELINE_TASKS[:3], ("bootdqn",)), FIVE),
        Part(product(BASELINE_TASKS[3:], ("bootdqn",)), TWO),
        Part(product(PAPER_TASKS, ("derl",)), HELD_OUT_SEEDS[:5]),
        Part(knobs(), FIVE),
        Part(larger_ablations(), THREE),
        Part(tuple(EARLY.values()), HELD_OUT_SEEDS[:2]),
        *(Part((UNHELD[name],), seeds) for name, (_, seeds) in UNHELD_RUNS.items()),
    )
    return Experiment("beyond", parts, "The library's own recipe, beyond the paper")
