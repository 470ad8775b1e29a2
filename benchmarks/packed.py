"""What packed networks and idle rows save PPO: `python benchmarks/packed.py [TASK ...]`.

Whole training of ppo-count, once as it is and once with its gradient steps taken on the two networks as they are. Both
are compiled first and then timed in turns on one core, so that the ratio means something on a busy machine.
"""

import dataclasses
import os
import sys
import time

TASKS = ("DeepSea-10", "DeepSea-30", "Hallway-10-10", "Hallway-30-30")
SEEDS, ITERATIONS, TURNS = 5, 25, 6


def plain(agent):
    """The same PPO, with every gradient step on all of the two networks."""
    import equinox as eqx
    import jax

    from derl.agents import PPO
    from derl.agents.actor_critic import ActorCriticState
    from derl.core.optimiser import apply_gradient

    class PlainPPO(PPO):
        def learn(self, state, key, spec, clock, experience):
            batch, metrics = self.samples(state.network, spec, experience)

            def step(state, minibatch):
                gradient, _ = eqx.filter_grad(self.loss, has_aux=True)(state.network, minibatch, experience.constraint)
                network, opt_state, norm = apply_gradient(self.optimiser, state.network, state.opt_state, gradient)
                return ActorCriticState(network, opt_state), norm

            state, norms = jax.lax.scan(step, state, self.minibatch_sequence(key, batch))
            losses = self.loss(state.network, batch, experience.constraint)[1]
            return state, metrics | losses | {"grad_norm": norms.mean()}

    return PlainPPO(**{field.name: getattr(agent, field.name) for field in dataclasses.fields(agent)})


def make(task: str, packed: bool):
    """A population and its state after a few iterations."""
    import derl
    from derl.training.population import Population

    config = derl.recipe("ppo-count", task)
    if not packed:
        config = dataclasses.replace(config, explorer=plain(config.explorer))
    runs = Population([config.algorithm()] * SEEDS, range(SEEDS))
    return runs, runs.advance(runs.init(), 0, ITERATIONS)


def main() -> None:
    """Steps per second of all runs together, each way."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import derl

    for task in sys.argv[1:] or TASKS:
        ways = {packed: make(task, packed) for packed in (False, True)}
        best = dict.fromkeys(ways, 0.0)
        steps = SEEDS * ITERATIONS * derl.recipe("ppo-count", task).algorithm().steps_per_iteration
        for turn in range(1, TURNS + 1):
            for way, (runs, state) in ways.items():
                begun = time.perf_counter()
                state = runs.advance(state, turn * ITERATIONS, (turn + 1) * ITERATIONS)
                state.key.block_until_ready()
                best[way] = max(best[way], steps / (time.perf_counter() - begun))
                ways[way] = (runs, state)
        ratio = best[True] / best[False]
        print(f"{task:<14} {best[False]:,.0f} steps/s, packed {best[True]:,.0f}: {ratio:.1f} times", flush=True)


if __name__ == "__main__":
    main()
