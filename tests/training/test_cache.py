"""Compiled programs must not pile up in a process that goes from one to the next."""

import io
import json
import sys

import pytest

from derl.cli import bench
from derl.experiments import worker


def held() -> int:
    """The pieces of memory this process has mapped, of which Linux allows 65,530."""
    with open("/proc/self/maps") as maps:
        return sum(1 for _ in maps)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux about its process")
def test_a_benchmark_of_many_lines_holds_one_program_at_a_time(monkeypatch):
    seen = []

    def measure(config, population, seconds):
        seen.append(held())
        return old(config, population, seconds)

    old = bench.measure
    monkeypatch.setattr(bench, "measure", measure)
    flags = ["--recipes", "a2c", "--tasks", "DeepSea-3", "--populations", "1", "2", "3", "4", "--seconds", "0.01"]
    bench.main(flags)
    # A program alone is nearly a thousand.
    assert max(seen[1:]) - min(seen[1:]) < 300


def test_a_worker_forgets_the_programs_of_jobs_done(monkeypatch, tmp_path):
    """After every eighth job those of the eight are forgotten."""
    told = []
    monkeypatch.setattr(worker, "from_data", lambda data: data)
    monkeypatch.setattr(worker, "execute", lambda store, job, *rest: told.append(job["job"]))
    monkeypatch.setattr(worker, "forget_programs", lambda: told.append("forget"))
    for name in ("stop_with_parent", "use_compilation_cache"):
        monkeypatch.setattr(worker, name, lambda: None)
    monkeypatch.setattr(worker, "speaker", lambda: lambda **message: None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(json.dumps({"job": k}) + "\n" for k in range(17))))
    assert worker.main([str(tmp_path), "any", "60"]) == 0
    assert told == [*range(8), "forget", *range(8, 16), "forget", 16]
