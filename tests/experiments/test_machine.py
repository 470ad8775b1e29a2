"""What planning asks of a machine: little memory makes small groups, and a GPU is left to the workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from derl.core.errors import DerlError
from derl.experiments import machine, planner
from derl.experiments.experiment import from_data, product
from derl.experiments.planner import MEMORY_BYTES_GPU, members_of, memory_for, plan
from derl.experiments.remaining import make_plan
from derl.experiments.sweep import Sweep
from derl.training.sizes import MEMORY_BYTES, MOST_RUNS_GPU, sizes

PLUGIN = """
import os
from jax._src import xla_bridge

def make():
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{os.getpid()} {os.environ.get('XLA_PYTHON_CLIENT_PREALLOCATE')}\\n")
    raise RuntimeError("no device")

def initialize():
    xla_bridge.register_backend_factory("pretend", make, priority=400, fail_quietly=True)
"""
SPEC = 'tasks = ["DeepSea-4"]\nrecipes = ["a2c"]\nseeds = 1\nprotocol = {episodes = 50, evaluate_every = 50}\n'
PLANNING = "import os, sys; from derl.cli.main import main; print(os.getpid()); sys.exit(main(sys.argv[1:]))"


def test_a_process_that_plans_does_not_take_hold_of_a_gpu(tmp_path):
    """A pretended accelerator notes who asks for it: never this process, and whoever looks takes no memory."""
    (tmp_path / "jax_plugins" / "pretend").mkdir(parents=True)
    (tmp_path / "jax_plugins" / "pretend" / "__init__.py").write_text(PLUGIN)
    (tmp_path / "mine.py").write_text("import jax.numpy as jnp\nnumbers = jnp.arange(3)\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "NOTES": str(tmp_path / "notes")}
    environment.pop("JAX_PLATFORMS", None)
    args = ["--import", "mine", "sweep", "spec.toml", "--dry-run", "--store", "store"]
    done = subprocess.run(
        [sys.executable, "-c", PLANNING, *args], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    notes = [line.split() for line in (tmp_path / "notes").read_text().splitlines()]
    assert notes
    assert done.stdout.split()[0] not in {process for process, _ in notes}
    assert {preallocate for _, preallocate in notes} == {"false"}


def test_jax_that_cannot_start_is_told_in_one_line(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    machine.accelerator.cache_clear()
    with pytest.raises(DerlError, match=r"JAX cannot start \(.*abacus.*JAX_PLATFORMS=cpu"):
        machine.accelerator()
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert machine.accelerator() is None
    machine.accelerator.cache_clear()


def test_little_memory_makes_small_groups_and_much_changes_nothing(monkeypatch):
    everyone = members_of([(case, seed) for case in product(["DeepSea-5"], ["dedqn-count"]) for seed in range(12)])
    monkeypatch.setattr(planner, "memory_bytes", lambda: 10**15)
    assert memory_for(1) == MEMORY_BYTES
    monkeypatch.setattr(planner, "memory_bytes", lambda: None)
    assert memory_for(1) == MEMORY_BYTES
    assert [len(job.members) for job in plan(everyone, workers=1, memory=memory_for(1))] == [12]
    monkeypatch.setattr(planner, "memory_bytes", lambda: 2 * 2 * 3 * sizes(everyone[0].config)[1])
    assert max(len(job.members) for job in plan(everyone, workers=2, memory=memory_for(2))) == 3


def test_a_gpus_own_memory_limits_its_populations():
    """Half of what JAX may use of a small card; on a large one, and on one that does not say, as many everywhere."""
    everyone = members_of([(case, seed) for case in product(["DeepSea-5"], ["dedqn-count"]) for seed in range(12)])
    whole = sizes(everyone[0].config)[1]
    gpus = [machine.understood(f"a warning\ngpu {limit}\n") for limit in (2 * 3 * whole, 10**15, 0)]
    assert [memory_for(1, gpu) for gpu in gpus] == [3 * whole, MEMORY_BYTES_GPU, MEMORY_BYTES_GPU]
    jobs = plan(everyone, workers=1, most=MOST_RUNS_GPU, memory=memory_for(1, gpus[0]))
    assert [len(job.members) for job in jobs] == [3] * 4
    assert machine.understood("cpu 0") is None


def test_workers_of_two_sweeps_do_not_share_a_core_while_another_is_free(tmp_path, monkeypatch):
    """A pretended machine of three cores on which other sweeps have workers, and other processes mention cores."""
    lines = [
        ("python", "-m", "derl.experiments.worker", "/store", "4", "60.0"),
        ("python", "-m", "derl.experiments.worker", "/other", "4", "60.0", "mine"),
        ("python", "-m", "derl.experiments.worker", "/other", "6", "60.0"),
        ("python", "-m", "derl.experiments.worker", "/gpu", "any", "60.0"),
        ("python", "-m", "another.worker", "/store", "5", "60.0"),
        ("",),
    ]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {4, 5, 6})
    assert machine.quiet_cores(2, tmp_path) == [4, 5]
    for number, words in enumerate(lines):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "cmdline").write_bytes("\0".join((*words, "")).encode())
    assert machine.quiet_cores(1, tmp_path) == [5]
    assert machine.quiet_cores(3, tmp_path) == [5, 6, 4]
    assert machine.quiet_cores(4, tmp_path) == []


def test_a_folder_of_somebody_else_is_told_in_one_line(tmp_path, monkeypatch):
    """Python raises where a folder may not be looked into."""

    def refuse(self, **options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(DerlError, match=r"cannot use .*x/y: Permission denied; choose another folder"):
        machine.enough_room(tmp_path / "x" / "y")


@pytest.mark.parametrize(
    ("recipe", "change", "remedy"),
    [
        ("a2c", {"num_envs": 10**8}, r"set num_envs or .* lower \(83% of it is room for rollouts\)"),
        ("a2c", {"explorer.n_steps": 10**8}, r"set num_envs or .* lower \(100% of it is room for rollouts\)"),
        ("a2c", {"explorer.hidden": [10**6, 10**6]}, r"make the layers of the explorer smaller \(100%"),
        ("dedqn-count", {"exploiter.capacity": 10**12}, r"set exploiter.capacity lower \(100%"),
        ("dea2c-count", {"decoupling.replay_segments": 10**9}, r"set decoupling.replay_segments lower \(100%"),
    ],
)
def test_a_run_that_no_worker_could_train_is_refused_before_any_work(recipe, change, remedy, tmp_path, monkeypatch):
    """The system would kill the worker, without a word, as often as it is tried."""
    monkeypatch.setattr("derl.experiments.remaining.memory_bytes", lambda: 8_000_000_000)
    data = {"tasks": ["DeepSea-4"], "recipes": [recipe], "seeds": 1, "protocol": {"episodes": 100}}
    usual = from_data(data, "usual")
    assert len(make_plan(usual, tmp_path, 1).jobs) == 1
    mine = from_data({**data, "set": change}, "mine")
    said = rf"^{recipe} on DeepSea-4 with .*: 1 run needs [\d.,]+ GB of memory and there are 8.0 GB: {remedy}"
    with pytest.raises(DerlError, match=said):
        make_plan(mine, tmp_path, 1)
    with pytest.raises(DerlError, match=said):
        Sweep(mine, tmp_path / "store", workers=1)
    assert not list((tmp_path / "store").glob("jobs"))
