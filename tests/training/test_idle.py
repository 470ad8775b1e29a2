"""Settings that do nothing are refused, and nothing else is: what is said to be idle leaves every bit as it is."""

from dataclasses import replace
from functools import reduce
from itertools import product

import jax
import numpy as np
import pytest

import derl
from derl.agents import AGENTS
from derl.bonuses import BONUSES
from derl.core.errors import DerlError
from derl.experiments.experiment import from_data
from derl.training.checkpoint import to_numpy
from derl.training.idle import check_idle, role_of
from derl.training.members import expand
from derl.training.population import Population

# Recipe, what makes the setting idle, the setting, a value it does not have, and what is said about it.
IDLE = [
    ("a2c-count", {}, "explorer.correction", "vtrace", "whose data are its own"),
    ("ppo", {}, "explorer.weight_value_loss", True, "whose data are its own"),
    ("dedqn-count", {}, "exploiter.epsilon_start", 0.5, "it is the explorer's"),
    ("dedqn-count", {}, "exploiter.epsilon_steps", 5.0, "it is the explorer's"),
    ("dedqn-count", {}, "exploiter.collect_steps", 1, "it is the explorer's"),
    ("dedqn-count", {}, "exploiter.priority_exponent", 0.1, "without prioritised"),
    ("dedqn-count", {}, "exploiter.priority_correction", 0.1, "without prioritised"),
    ("dedqn-count", {}, "exploiter.temperature", 9.0, r"without a divergence constraint \(decoupling.alpha_exploiter"),
    ("deppo-count", {}, "exploiter.correction", "clipped", "in PPO without weight_value_loss"),
    ("deppo-count", {"exploiter__correction": "vtrace"}, "exploiter.weight_value_loss", True, "correction vtrace"),
    ("dea2c-count", {"exploiter__n_steps": 1}, "exploiter.gae_lambda", 0.3, "with n_steps 1"),
    ("dea2c-count", {"explorer__hidden": ()}, "explorer.activation", "tanh", "without hidden layers"),
    ("dea2c-count", {}, "decoupling.divergence", "mmd", "without a constraint"),
    ("dea2c-count", {}, "decoupling.replay_batch", 3, "without decoupling.replay_segments"),
    ("dea2c-count", {}, "decoupling.mixture_floor", -0.1, "without decoupling.mixture"),
    ("dea2c-count", {}, "decoupling.mixture_weight", 0.1, "without decoupling.mixture"),
    ("a2c-count", {}, "decoupling.denominator", "updated", "without an exploiter"),
    ("a2c-count", {}, "bonus.capped", False, "with an increment of 1 or more"),
    ("derl", {}, "exploiter.n_steps", 2, "does not decide how often data come"),
    ("derl", {}, "explorer.updates_per_rollout", 3, "beside updates_per_step"),
    ("derl", {}, "explorer.optimism_bits", 3, "without optimism hash"),
    ("derl", {"exploiter__averaged": False}, "exploiter.average_share", 0.5, "without averaged"),
    ("derl", {"exploiter__entropy_coef": 0.0}, "exploiter.entropy_steps", 9.0, "with entropy_coef 0"),
    ("derl-hash-count", {}, "bonus.simultaneous", True, "num_envs 1"),
    ("a2c-ride", {}, "bonus.key_bits", 2, "can be counted as they are"),
    ("a2c-count", {"explorer_reward": "intrinsic"}, "normalise_rewards", True, "nobody learns from extrinsic"),
    ("a2c", {}, "bonus.normalise", "rms", "as there is no bonus"),
    (
        "dedqn-count",
        {},
        "decoupling.denominator",
        "updated",
        "but a metric, for an exploiter that learns from a mem",
    ),
]


def small(recipe, settings):
    return derl.configure("DeepSea-4", recipe, **settings)


@pytest.mark.parametrize(("recipe", "settings", "path", "value", "words"), IDLE)
def test_a_setting_that_does_nothing_is_refused(recipe, settings, path, value, words):
    config = small(recipe, settings).check(shapes=False)
    with pytest.raises(DerlError, match=rf"^{path} changes nothing .*{words}.*; leave it at \S+$"):
        config.with_value(path, value).check(shapes=False)


NOT_TO_THE_BIT = {("a2c-count", "bonus.capped"), ("dedqn-count", "decoupling.denominator")}
"""One rounds, the other changes a metric."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "settings", "path", "value"), [case[:4] for case in IDLE if (case[0], case[2]) not in NOT_TO_THE_BIT]
)
def test_what_is_said_to_do_nothing_does_nothing(recipe, settings, path, value):
    """Not a bit of a run's state differs, whatever the value. (No protocol's: what it decides is no state.)"""
    config = small(recipe, settings)
    changed = config.with_value(path, value)
    assert reduce(getattr, path.split("."), changed) != reduce(getattr, path.split("."), config)
    ends = [state_of(one) for one in (config, changed)]
    assert len(ends[0]) == len(ends[1])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*ends, strict=True))


def test_a_cap_at_1_does_nothing_but_round_where_no_bonus_is_above_1():
    visits = np.arange(1, 50)
    for kind, increment in product((derl.Count, derl.HashCount), (1.0, 2.5)):
        capped, free = (kind(increment=increment, capped=cap).reward(visits) for cap in (True, False))
        np.testing.assert_allclose(capped, free, rtol=1e-6)


INTRINSIC = {"explorer_reward": "intrinsic"}
NOTHING = "leaves the explorer nothing to learn from"


@pytest.mark.parametrize(
    ("recipe", "settings", "words"),
    [
        ("a2c", INTRINSIC, f"^explorer_reward intrinsic {NOTHING}, as there is no bonus"),
        ("a2c-count", INTRINSIC | {"bonus__scale": 0.0}, f"^bonus.scale 0 {NOTHING}"),
        ("a2c-count", INTRINSIC | {"bonus__scale": 0.0, "bonus__normalise": "rms"}, f"^bonus.scale 0 {NOTHING}"),
    ],
)
def test_an_explorer_is_rewarded_for_something(recipe, settings, words):
    with pytest.raises(DerlError, match=words):
        small(recipe, settings).check(shapes=False)


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("a2c-count", INTRINSIC),
        ("a2c-count", {"bonus__scale": 0.0}),
        # Divided by its own size, whatever lambda is.
        ("a2c-count", INTRINSIC | {"bonus__scale": 0.0, "bonus__normalise": "recent"}),
        # Optimism and random priors explore without any reward.
        ("derl", {"bonus__scale": 0.0, "bonus__normalise": "none"}),
        ("bootdqn", INTRINSIC),
        # What the recipe says is nobody's choice.
        ("derl", {"bonus": "none", "explorer": "a2c", "decoupling__mixture": 0.0}),
    ],
)
def test_what_drives_an_explorer_is_not_missed(recipe, settings):
    assert small(recipe, settings).check(shapes=False)


def test_a_weight_that_is_varied_from_0_on_is_not_refused():
    config = small("a2c-count", INTRINSIC)
    assert len(expand(config, [0], {"bonus.scale": [0.0, 1.0]})) == 2
    with pytest.raises(DerlError, match=NOTHING):
        expand(config, [0], {"bonus.scale": [0.0]})


def state_of(config):
    """What a run has done, learnt and measured after some rollouts: all but the statistics that a normaliser keeps."""
    population = Population([config.algorithm()], [0])
    state = population.advance(population.init(), 0, 12)
    parts = (state.collector, state.explorer, state.exploiter, state.bonus, state.visits, state.totals)
    return [to_numpy(leaf) for leaf in jax.tree.leaves(parts)]


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("derl", {"explorer": "a2c", "explorer__correction": "vtrace"}),
        ("dedqn-count", {"exploiter__prioritised": True, "exploiter__priority_exponent": 0.5}),
        ("dedqn-count", {"decoupling__alpha_exploiter": 0.1, "exploiter__temperature": 0.5}),
        ("deppo-count", {"exploiter__correction": "retrace"}),
        ("deppo-count", {"exploiter__correction": "clipped", "exploiter__weight_value_loss": True}),
        ("dea2c-count-kl", {"decoupling__divergence": "mmd"}),
        ("dea2c-count", {"decoupling__replay_segments": 4, "decoupling__replay_batch": 2}),
        ("derl", {"decoupling__mixture_weight": 0.7}),
        ("a2c-count", {"bonus__increment": 0.1, "bonus__capped": False}),
        ("derl", {"explorer__collect_steps": 3, "explorer__epsilon_start": 0.2, "explorer__epsilon_steps": 7.0}),
        ("dea2c-count", {"explorer": "episodic-a2c", "explorer__correction": "clipped", "explorer__n_steps": 3}),
    ],
)
def test_a_setting_with_a_use_is_not_refused(recipe, settings):
    assert small(recipe, settings).check(shapes=False)


@pytest.mark.parametrize(
    ("recipe", "switch"),
    [
        ("derl", {"decoupling__mixture": 0.0}),
        ("derl", {"exploiter__averaged": False}),
        ("derl", {"protocol__steps": 400}),
        ("derl", {"explorer": "a2c", "decoupling__mixture": 0.0}),
        ("a2c-hash-count", {"num_envs": 1}),
    ],
)
def test_whoever_switches_something_off_need_not_undo_what_the_recipe_set_for_it(recipe, switch):
    config = small(recipe, switch).check(shapes=False)
    # Nor if the configuration is changed further, or was written down and read again.
    assert derl.configure(config, explorer__learning_rate=0.5).check(shapes=False)


def test_parts_made_by_hand_are_somebodys_choice():
    with pytest.raises(DerlError, match=r"explorer.epsilon_steps changes nothing with epsilon_start and epsilon_end"):
        small("dea2c-count", {"explorer": derl.DQN(epsilon_start=0.05, epsilon_steps=5.0)}).check(shapes=False)
    with pytest.raises(DerlError, match=r"explorer.correction changes nothing"):
        derl.Config("DeepSea-4", derl.A2C(correction="none"), derl.Count()).check(shapes=False)
    replaced = replace(small("derl", {}), bonus=derl.HashCount(simultaneous=True))
    with pytest.raises(DerlError, match=r"bonus.simultaneous changes nothing"):
        replaced.check(shapes=False)


@pytest.mark.parametrize("recipe", ["a2c-ride", "deppo-count", "dea2c-count-kl", "derl-rnd", "bootdqn"])
@pytest.mark.parametrize("exploiter", [None, "none", *AGENTS])
def test_parts_by_name_never_bring_what_is_refused(recipe, exploiter):
    for explorer, bonus in [*((kind, None) for kind in AGENTS), *((None, kind) for kind in BONUSES), ("dqn", "count")]:
        settings = {"explorer": explorer, "exploiter": exploiter, "bonus": bonus}
        config = small(recipe, settings)
        check_idle([config])
        # An agent by name has nothing that means something in the other seat alone.
        for seat in ("explorer", "exploiter"):
            if settings[seat] in AGENTS:
                agent = getattr(config, seat)
                idle = agent.idle(role_of(config, seat))
                assert all(getattr(agent, name) == getattr(type(agent)(), name) for name in idle), (settings, seat)


def test_a_number_that_is_varied_from_0_on_gives_its_companions_a_use():
    config = small("dea2c-count", {"decoupling__divergence": "mmd"})
    assert len(expand(config, [0], {"decoupling.alpha_explorer": [0.0, 0.1]})) == 2
    with pytest.raises(DerlError, match=r"decoupling.divergence changes nothing"):
        expand(config, [0], {"decoupling.alpha_explorer": [0.0]})
    with pytest.raises(DerlError, match=r"decoupling.mixture_weight changes nothing"):
        expand(small("dea2c-count", {}), [0], {"decoupling.mixture_weight": [0.5, 1.0]})


def test_a_sweep_is_refused_if_a_setting_does_nothing_in_all_of_it():
    grid = {"tasks": ["DeepSea-4"], "recipes": ["dea2c-count"], "set": {"decoupling.divergence": "mmd"}}
    assert from_data({**grid, "vary": {"decoupling.alpha_explorer": [0.0, 0.1]}}, "grid")
    with pytest.raises(DerlError, match=r"^dea2c-count: decoupling.divergence changes nothing"):
        from_data(grid, "grid")
