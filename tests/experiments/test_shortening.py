"""Shorter training with as many evaluations, and how short it can be."""

import pytest

from derl.cli.reproduce import Reproduce, is_shorter
from derl.core.errors import DerlError
from derl.experiments.builtin import experiment
from derl.experiments.cases import Case
from derl.experiments.experiment import Experiment, Part, product
from derl.experiments.shortening import evaluations_of, shortened
from derl.training.members import Run
from derl.training.trainer import Trainer


def test_fewer_episodes_keep_the_number_of_evaluations():
    case = Experiment("x", (Part(product(["DeepSea-10"], ["a2c"]), (0,)),)).narrowed(episodes=5000).cases[0]
    protocol = case.config().protocol
    assert (protocol.episodes, protocol.evaluate_every) == (5000, 50)


@pytest.mark.parametrize(("episodes", "trained"), [(100, 100), (150, 100), (1975, 1900), (20_000, 20_000), (7, 7)])
def test_any_length_has_as_many_evaluations_as_the_whole(episodes, trained):
    protocol = shortened(Case.of("a2c", "DeepSea-10"), episodes).config().protocol
    assert protocol.episodes == trained
    assert protocol.episodes / protocol.evaluate_every == min(100, episodes)


def test_what_is_no_longer_anyway_stays_as_it_is():
    """The constraints are trained for 20,000 episodes, their sensitivity for 100,000."""
    part = experiment("kl").narrowed(only=["DeepSea-10", "bonus.scale=1"])
    assert part.narrowed(episodes=1_000_000).cases == part.cases
    lengths = {case.config().protocol.episodes for case in part.narrowed(episodes=50_000).cases}
    assert lengths == {20_000, 50_000}


@pytest.mark.parametrize(
    ("name", "task"), [("a2c-count", "DeepSea-10"), ("dedqn-count", "Hallway-20-20"), ("ppo", "DeepSea-14")]
)
@pytest.mark.parametrize("episodes", [100, 200, 700])
def test_evaluations_are_counted_as_the_trainer_makes_them(name, task, episodes):
    case = shortened(Case.of(name, task), episodes)
    trainer = Trainer([Run(0, {}, case.config())], cores=1)
    assert evaluations_of(case.config()) == len(trainer.evaluations)


def test_training_too_short_for_its_evaluations_is_refused_with_what_is_enough():
    """An iteration is 20 steps, two episodes of DeepSea-10: 100 episodes have 50 evaluations, 200 have 100."""
    only = ("a2c-count", "dea2c-count", "DeepSea-10")
    with pytest.raises(DerlError, match=r"50 evaluations in 100 episodes, not 100: --episodes must be at least 200$"):
        Reproduce(name="table-1", only=only, episodes=100).chosen()
    chosen, _ = Reproduce(name="table-1", only=only, episodes=200).chosen()
    assert {evaluations_of(case.config()) for case in chosen.cases} == {100}


def test_only_shorter_training_is_called_shorter():
    for episodes, shorter in ((None, False), (99_999, True)):
        assert is_shorter(*Reproduce(name="table-1", only=("DeepSea-10",), episodes=episodes).chosen()) is shorter
    for episodes in (1_000_000, 100_000):
        with pytest.raises(DerlError, match=f"--episodes {episodes} shortens nothing of table-1"):
            Reproduce(name="table-1", only=("DeepSea-10",), episodes=episodes).chosen()


def test_a_budget_in_steps_is_not_shortened_by_episodes():
    with pytest.raises(DerlError, match="budget in steps"):
        shortened(Case.of("a2c", "DeepSea-10", {"protocol.steps": 1000}), 100)


@pytest.mark.parametrize("name", ["table-1", "lambda", "kl", "beyond"])
def test_short_versions_find_their_way_back_to_the_papers_cases(name):
    chosen, names = Reproduce(name=name, quick=True).chosen()
    whole = set(experiment(name).cases)
    assert {case for cases in names.values() for case in cases} == whole
    assert all(case in names for case in chosen.cases)


def test_a_short_version_of_a_short_version_finds_its_way_back_too():
    chosen, names = Reproduce(name="beyond", quick=True, only=("DeepSea-50",), episodes=1500).chosen()
    assert all(case in names for case in chosen.cases)
