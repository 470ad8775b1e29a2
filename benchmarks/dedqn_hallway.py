"""Why the paper's DeDQN ends at about -0.15 in Hallway-10-10; see docs/algorithms/dedqn-in-hallway.md.

    python benchmarks/dedqn_hallway.py          # prints the tables and draws the figure: a few minutes of one core

The recipe `dedqn-count` is trained as it is. Hallway is deterministic, so the actions in the replay memory give back
whole episodes, with what the agent does not see: whether the goal was reached, the stays there, the time. On these
episodes it is worked out exactly what each kind of target leads to (`hallway_tables.py`). `dedqn_hallway_fixes.py`
trains what could repair it.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from hallway_tables import (
    CELLS,
    GOAL,
    HORIZON,
    VIEWS,
    Episodes,
    corrected,
    fixed_point,
    greedy_return,
    mean_by,
    noisy_return,
    simulate,
    vtrace,
)

from derl.agents import DQN
from derl.analysis.figures import style
from derl.analysis.measures.numbers import signed
from derl.api import configure, use_compilation_cache
from derl.training.config import Config
from derl.training.population import Population

MOMENTS = (5_000, 20_000)
"""Training episodes after which to look. The memory holds the last 5,000."""
ENOUGH = 100
"""Samples from which on the mean of an action's targets is compared with the network."""
TABLES = {"1-step": 1, "2-step": 2, "5-step": 5, "10-step": 10}
TABLE_CELLS = CELLS * 2 * 10 * (HORIZON + 1)
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "dedqn-in-hallway.png"


class Snapshot(NamedTuple):
    """A run at one moment: its Q-network, its replay memory as whole episodes, and the targets stored in it."""

    seed: int
    trained: int
    q: np.ndarray
    episodes: Episodes
    targets: np.ndarray


def unroll(config: Config, replay, clock: int) -> tuple[Episodes, np.ndarray]:
    """The whole episodes in a replay memory (of one run), and the targets of their steps."""
    assert isinstance(config.exploiter, DQN)
    wait = config.exploiter.n_steps - 1
    rows, written = replay.rows, clock * replay.stride
    # A step is written once the rewards of its target are in, n - 1 steps later.
    row = np.arange(max(written - rows, wait), written)
    row = row[-(row[0] - wait) % HORIZON :]
    row = row[: len(row) // HORIZON * HORIZON] % rows
    obs, action, target = (
        np.asarray(x)[row].T.reshape(-1, HORIZON) for x in (replay.data.obs, replay.data.action, replay.data.reward)
    )
    episodes = simulate(lambda now: action[:, now.time[0]], len(action))
    assert np.array_equal(episodes.position[:, :-1], obs)
    return episodes, target


def gather(seeds: int) -> list[Snapshot]:
    """Train the paper's recipe and look at it at every moment."""
    config = configure("Hallway-10-10", "dedqn-count").check()
    population = Population([config.algorithm()] * seeds, range(seeds))
    state, clock, found = population.init(), 0, []
    steps = population.algorithm.num_envs * config.explorer.rollout_length
    for moment in MOMENTS:
        stop = moment * HORIZON // steps
        state, clock = population.advance(state, clock, stop), stop
        for seed in range(seeds):
            one = jax.tree.map(lambda x, seed=seed: x[seed], state.exploiter)
            q = np.asarray(one.learner.network(jnp.arange(CELLS)))
            found.append(Snapshot(seed, moment, q, *unroll(config, one.replay, clock)))
    return found


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def networks(found: list[Snapshot]) -> str:
    """Where the trained networks' greedy policy is not right, what noise does to it, and how exact they are."""
    header = ["episodes", "seed", "return", "not right in (by)", "right forced in 0 to 9", "epsilon 0.05", "0.1"]
    header += ["softmax 0.02", "0.1", "table of the stored targets", "network's largest error"]
    rows = []
    for s in found:
        gap = s.q.max(-1) - s.q[:, 2]
        wrong = [f"{c} {'LSR'[s.q[c].argmax()]} {gap[c]:.2f}" for c in range(GOAL) if gap[c] > 0]
        forced = s.q.copy()
        forced[:GOAL, 2] = 9.0
        now, ones = s.episodes.position[:, :-1], np.ones_like(s.targets)
        stored = mean_by(now, s.episodes.action, s.targets, CELLS)
        count = np.bincount((now * 3 + s.episodes.action).ravel(), ones.ravel(), 3 * CELLS).reshape(CELLS, 3)
        error = np.abs(s.q - stored)[count >= ENOUGH].max()
        noise = [noisy_return(s.q, epsilon=e) for e in (0.05, 0.1)]
        noise += [noisy_return(s.q, temperature=t) for t in (0.02, 0.1)]
        numbers = [greedy_return(forced), *noise, greedy_return(stored), error]
        row = [f"{s.trained:,}", str(s.seed), signed(greedy_return(s.q)), ", ".join(wrong), *map(signed, numbers)]
        rows.append(row)
    return markdown(header, rows)


def beside_goal(s: Snapshot) -> dict[str, list[tuple[int, float]]]:
    """Samples and mean stored target of left, stay and right in the cell left of the goal, by what is hidden."""
    here = s.episodes.position[:, :-1] == GOAL - 1
    reached = s.episodes.reached[:, :-1] == 1
    cases = {"before the goal was reached": here & ~reached, "after": here & reached, "all": here}
    chosen = {name: [s.targets[case & (s.episodes.action == a)] for a in range(3)] for name, case in cases.items()}
    return {name: [(x.size, float(x.mean()) if x.size else np.nan) for x in xs] for name, xs in chosen.items()}


def arrivals(found: list[Snapshot]) -> str:
    """The cell left of the goal, before and after the goal was reached, all, and all if stay and left were taken
    before it as often as right was: what remains of the difference is not due to when the actions were taken."""
    rows = []
    for s in found:
        parts = beside_goal(s)
        (before, after, _) = parts.values()
        share = before[2][0] / (before[2][0] + after[2][0])
        even = [share * b[1] + (1 - share) * a[1] for b, a in zip(before, after, strict=True)]
        for name, values in parts.items():
            cells = [f"{mean:.2f} ({size:,})" if size else "none" for size, mean in values]
            rows.append([f"{s.trained:,}", str(s.seed), name, *cells])
        cells = ["unknown" if np.isnan(mean) else f"{mean:.2f}" for mean in even]
        rows.append([f"{s.trained:,}", str(s.seed), "all, were all as often before as right", *cells])
    return markdown(["episodes", "seed", "cell 9", "left", "stay", "right"], rows)


def methods(found: list[Snapshot]) -> str:
    """The greedy return of what each method learns from each memory, by what the table may know."""
    rows = []
    for known, view in VIEWS.items():
        kinds = [*TABLES, *(["Retrace, whole episodes", "V-trace, whole episodes"] if known.count(",") < 2 else [])]
        for kind in kinds:
            row = [known, kind]
            for moment in MOMENTS:
                returns = []
                for s in (s for s in found if s.trained == moment):
                    data = (view(s.episodes), s.episodes.action, s.episodes.reward)
                    if kind in TABLES:
                        tables = [fixed_point(*data, TABLES[kind], TABLE_CELLS)]
                    else:
                        tables = (vtrace if kind.startswith("V-trace") else corrected)(*data, 2 * CELLS)
                    returns.append(signed(float(np.mean([greedy_return(q, view) for q in tables]))))
                row.append(" ".join(returns))
            rows.append(row)
    return markdown(["the table knows", "targets", *(f"memory after {m:,}, by seed" for m in MOMENTS)], rows)


def draw(s: Snapshot) -> None:
    """Left: the values on the way to the goal. Right: the reversal in the cell beside it."""
    table = fixed_point(s.episodes.position, s.episodes.action, s.episodes.reward, 5, CELLS)
    with style.styled():
        figure = style.new_figure(10.0, 3.8)
        left, right = figure.subplots(1, 2, width_ratios=(5, 4))
        way = np.arange(GOAL)
        for trap in (4, 9):
            left.axvspan(trap - 0.3, trap + 0.3, color=style.UNSEEN)
        for action, name, colour in ((2, "right", style.BLUE), (1, "stay", style.VERMILLION), (0, "left", style.GREEN)):
            left.plot(way, s.q[:GOAL, action], "o-", color=colour, label=f"{name}, network")
            left.plot(way, table[:GOAL, action], ":", color=colour, label=f"{name}, fixed point")
        left.set(xlabel="Cell (the goal is cell 10)", ylabel="Q", xticks=way)
        left.set_title(f"On the way, after {s.trained:,} episodes", loc="left")
        left.legend(fontsize=8, ncols=3, loc="upper left")
        left.set_ylim(top=1.25 * max(s.q[:GOAL].max(), table[:GOAL].max()))
        for i, values in enumerate(beside_goal(s).values()):
            for shift, action, colour in ((-0.2, 1, style.VERMILLION), (0.2, 2, style.BLUE)):
                size, mean = values[action]
                right.bar(i + shift, mean, 0.38, color=colour, label="stay" if action == 1 else "right")
                right.text(i + shift, mean + 0.01, f"{mean:.2f}\n({size:,})", ha="center", va="bottom", fontsize=7.5)
        right.set_xticks(range(3), ["goal not\nyet reached", "goal\nreached", "all: what the\nagent learns"])
        right.set_ylim(0, 1.3)
        right.set_ylabel("Target (samples in brackets)")
        right.set_title("Cell 9: mean targets of stay and right", loc="left")
        right.legend(*(x[:2] for x in right.get_legend_handles_labels()), fontsize=8)
        figure.savefig(FIGURE, dpi=130, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    use_compilation_cache()
    found = gather(options.seeds)
    for part in (networks, arrivals, methods):
        print(part(found), end="\n\n", flush=True)
    draw(found[0])


if __name__ == "__main__":
    main()
