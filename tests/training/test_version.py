"""Numbers that change when the engine computes something else: then `ENGINE` has to be raised, and these with it.

They are what `fingerprint` gave when ENGINE was last raised. Results in stores are found by ENGINE, so a change that
goes unnoticed would mix results of different algorithms.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from derl.experiments.cases import Case, Setting
from derl.training.loop import init_run, step_run
from derl.training.version import ENGINE, code_version, versions

ITERATIONS = 40
NUMBERS: dict[tuple[str, str], tuple[float, float, float]] = {
    ("a2c-count", "DeepSea-5"): (1629.38, 0.0, 97.938),
    ("a2c-hash-count", "Hallway-4-2"): (1300.29, 0.0, 109.019),
    ("a2c-rnd", "DeepSea-5"): (1627.83, 0.0, 53.9796),
    ("a2c-ride", "Hallway-4-2"): (1299.15, 0.0, 77.0563),
    ("ppo-icm", "Hallway-4-2"): (1353.22, 0.0, 521.037),
    ("dea2c-count-kl", "DeepSea-5"): (1630.08, 1627.17, 172.138),
    ("deppo-count", "Hallway-4-2"): (1300.32, 1303.26, 243.564),
    ("dedqn-icm", "DeepSea-5"): (1626.51, 1683.87, 153.675),
    ("derl", "DeepSea-5"): (1889.79, 3383.26, 460.275),
    ("derl-hash-count", "Hallway-4-2"): (1695.53, 2739.52, 487.778),
    ("derl-rnd", "DeepSea-5"): (4103.99, 3253.18, 575.168),
    ("bootdqn", "Hallway-4-2"): (29257.7, 0.0, 69.2262),
}


LOUD: dict[str, tuple[dict[str, Setting], tuple[float, float, float]]] = {
    "a2c-rnd": (
        {"explorer.entropy_coef": 0.3, "bonus.learning_rate": 1e-2, "explorer.max_grad_norm": 0.05},
        (1622.09, 0.0, 41.7731),
    ),
    "dea2c-count": (
        {"exploiter.entropy_coef": 0.3, "explorer.learning_rate": 0.01, "exploiter.learning_rate": 0.01},
        (1676.57, 1657.94, 169.402),
    ),
    "dedqn-count": (
        {"exploiter.target_rate": 0.3, "exploiter.learning_rate": 0.01}
        | {"exploiter.frozen_targets": False, "exploiter.n_steps": 1},
        (1629.38, 2259.29, 215.641),
    ),
}
"""With settings as large as no recipe has them: what changes nothing visible in 40 iterations otherwise (an entropy
bonus, the clip of gradients, a bonus that learns, which policy weights divide by, the target network, double Q)."""
CLOSE, CLOSE_PPO = 1e-4, 1e-3
"""The same code on another processor agrees more closely; PPO's many steps on a rollout make more of rounding."""


def fingerprint(name: str, task: str, changes: Mapping[str, Setting] = MappingProxyType({})):
    """The size of the explorer's and the exploiter's weights and all metrics together, after a short training."""
    algorithm = Case.of(name, task, changes).config().algorithm()

    @eqx.filter_jit
    def train(state):
        return jax.lax.fori_loop(0, ITERATIONS, lambda clock, s: step_run(algorithm, s, clock), state)

    state = train(init_run(algorithm, jax.random.key(7)))

    def size(tree) -> float:
        weights = [x for x in jax.tree.leaves(tree) if eqx.is_inexact_array(x)]
        return float(sum(jnp.abs(x).sum() for x in weights))

    return size(state.explorer), size(state.exploiter), float(jnp.abs(state.totals).sum())


SLOW = {"ppo-icm", "derl-hash-count", "derl-rnd", "bootdqn"}
CASES = [pytest.param(n, t, marks=pytest.mark.slow if n in SLOW else ()) for n, t in NUMBERS]


@pytest.mark.parametrize(("name", "task"), CASES)
def test_the_engine_computes_what_its_version_says(name, task):
    assert ENGINE == 1
    close = CLOSE_PPO if "ppo" in name else CLOSE
    assert fingerprint(name, task) == pytest.approx(NUMBERS[name, task], rel=close), (
        "the engine computes something else now: raise ENGINE in derl/training/version.py (or the version of the part "
        "that changed) and renew these numbers"
    )


@pytest.mark.parametrize("name", LOUD)
def test_the_engine_computes_what_its_version_says_where_it_is_hard_to_see(name):
    changes, numbers = LOUD[name]
    assert fingerprint(name, "DeepSea-5", changes) == pytest.approx(numbers, rel=CLOSE), "see above"


def test_parts_may_carry_versions_of_their_own():
    class Mine:
        version = 3

    assert versions(Mine(), object()) == {"engine": ENGINE, "Mine": 3}


def test_the_code_behind_a_result_has_a_name_of_its_own(monkeypatch):
    now = code_version()
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{10}", now)
    assert code_version.__wrapped__() == now
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + (b"#" if path.name == "a2c.py" else b""))
    assert code_version.__wrapped__() != now
