"""Networks with chosen or random numbers, made without compiling their initialisation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from derl.core.networks import MLP
from derl.core.types import Box, Discrete

KEY = jax.random.key(0)


def random_mlp(observation: Discrete | Box, hidden, outputs: int, seed: int = 0, scale: float = 0.6, **options) -> MLP:
    """A network whose weights and biases are all random."""
    rng = np.random.default_rng(seed)
    shapes = eqx.filter_eval_shape(MLP, KEY, observation, hidden, outputs, **options)
    return jax.tree.map(lambda x: jnp.asarray(rng.normal(0, scale, x.shape), x.dtype), shapes)
