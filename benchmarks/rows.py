"""What steps on visited rows save PPO and learned bonuses: `python benchmarks/rows.py [RECIPE:TASK ...]`.

Whole training, once as it is and once with every gradient step on all of the networks (and PPO's two networks not side
by side, gradients of weights as plain products). Both are compiled first and then timed in turns on one core, so that
the ratio means something on a busy machine.
"""

import contextlib
import dataclasses
import os
import sys
import time
from unittest import mock

TASKS = ("DeepSea-10", "DeepSea-30", "Hallway-10-10", "Hallway-30-30")
CASES = tuple(f"{recipe}:{task}" for recipe in ("ppo-count", "a2c-icm") for task in TASKS)
SEEDS, ITERATIONS, TURNS = 5, 100, 8


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


@contextlib.contextmanager
def plainly():
    """While programs are traced: no rows are left idle, and products of small batches are like any other."""
    with (
        mock.patch("derl.core.rows.MOST_STEPS", 1),
        mock.patch("derl.core.networks.small_batch_product", lambda x, weight: x @ weight),
    ):
        yield


def make(recipe: str, task: str, fast: bool):
    """A population and its state after a few iterations."""
    import derl
    from derl.agents import PPO
    from derl.training.population import Population

    config = derl.recipe(recipe, task)
    if not fast and isinstance(config.explorer, PPO):
        config = dataclasses.replace(config, explorer=plain(config.explorer))
    with contextlib.nullcontext() if fast else plainly():
        runs = Population([config.algorithm()] * SEEDS, range(SEEDS))
        # Programs of one shape are shared by all populations, but not by these two.
        advance = jax_compiled(runs)
        return advance, runs.algorithm, advance(runs.algorithm, runs.init(), 0, ITERATIONS)


def jax_compiled(runs):
    """Training of a population, compiled anew."""
    import jax
    import jax.numpy as jnp

    from derl.training.population import advance_population

    zero = jnp.asarray(0, jnp.int32)
    jax.clear_caches()
    program = advance_population.lower(runs.algorithm, runs.shapes(), zero, zero).compile()
    return lambda algorithm, state, *ends: program(algorithm, state, *(jnp.asarray(end, jnp.int32) for end in ends))


def main() -> None:
    """Steps per second of all runs together, each way."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import derl

    for case in sys.argv[1:] or CASES:
        recipe, task = case.split(":")
        ways = {fast: make(recipe, task, fast) for fast in (False, True)}
        best = dict.fromkeys(ways, 0.0)
        steps = SEEDS * ITERATIONS * derl.recipe(recipe, task).algorithm().steps_per_iteration
        for turn in range(1, TURNS + 1):
            for way, (advance, algorithm, state) in ways.items():
                begun = time.perf_counter()
                state = advance(algorithm, state, turn * ITERATIONS, (turn + 1) * ITERATIONS)
                state.key.block_until_ready()
                best[way] = max(best[way], steps / (time.perf_counter() - begun))
                ways[way] = (advance, algorithm, state)
        ratio = best[True] / best[False]
        print(f"{case:<24} {best[False]:,.0f} steps/s, as it is {best[True]:,.0f}: {ratio:.1f} times", flush=True)


if __name__ == "__main__":
    main()
