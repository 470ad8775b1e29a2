"""Traces recipes with every annotation of the engine checked at every call; tests/test_shapes.py runs it.

It needs a process of its own: modules are checked only if they are loaded while the hook is there.
"""

from jaxtyping import TypeCheckError, install_import_hook

with install_import_hook(
    [f"derl.{room}" for room in ("core", "envs", "bonuses", "agents", "training")], "beartype.beartype"
):
    import jax
    import jax.numpy as jnp

    from derl.agents.returns import double_q_target
    from derl.training.algorithm import Algorithm
    from derl.training.loop import init_run, step_run
    from derl.training.recipes import recipe

TRACED = {
    "DeepSea-5": (
        "a2c",
        "a2c-icm",
        "a2c-rnd",
        "ppo-count",
        "dea2c-count-kl",
        "dedqn-icm",
        "derl",
        "derl-rnd",
        "bootdqn",
    ),
    "Hallway-5-5": ("a2c-hash-count", "a2c-ride", "ppo-rnd", "dea2c-icm", "deppo-icm", "dedqn-count", "derl"),
}
"""Every agent, bonus and kind of observation; nothing is compiled."""


def trace(algorithm: Algorithm) -> None:
    """The shapes of one iteration."""
    state = jax.eval_shape(lambda key: init_run(algorithm, key), jax.random.key(0))
    jax.eval_shape(lambda s, clock: step_run(algorithm, s, clock), state, jax.ShapeDtypeStruct((), jnp.int32))


for task, names in TRACED.items():
    for name in names:
        trace(recipe(name, task).algorithm())
        print(name, task)
try:
    double_q_target(jnp.zeros(3), jnp.zeros(4), jnp.zeros((3, 2)), jnp.zeros((3, 2)))
except TypeCheckError:
    print("a wrong shape is noticed")
