"""Plays given actions in an environment, compiled."""

import jax
import numpy as np


# Not `filter_jit`: it would compile anew for every value of a plain Python number in the environment.
@jax.jit
def _play(env, reset_keys, step_keys, actions):
    def episode(reset_key, step_keys, actions):
        def step(state, inputs):
            following, answer = env.step(inputs[0], state, inputs[1])
            return following, (following, answer)

        state, obs = env.reset(reset_key)
        _, (states, answers) = jax.lax.scan(step, state, (step_keys, actions))
        return obs, states, answers

    return jax.vmap(episode)(reset_keys, step_keys, actions)


def keys_of(shape, seed):
    """Random keys, made without JAX's own splitting because that would be compiled for every shape."""
    data = np.random.default_rng(seed).integers(0, 2**32, (*shape, 2), np.uint32)
    return jax.random.wrap_key_data(data, impl="threefry2x32")


def play(env, actions, seed=0):
    """First observation, states after each step and answers to `actions` (time last), as NumPy arrays."""
    actions = np.asarray(actions, np.int32)
    batch = np.atleast_2d(actions)
    played = _play(env, keys_of(batch.shape[:1], seed), keys_of(batch.shape, seed + 1), batch)
    return jax.tree.map(lambda x: np.asarray(x if actions.ndim == 2 else x[0]), played)


def check_vmap_and_jit_change_nothing(env, actions):
    """Episodes stepped by hand, compared with the same episodes within a compiled batch."""
    obs, _, batch = play(env, actions, seed=3)
    reset_keys, step_keys = keys_of(actions.shape[:1], 3), keys_of(actions.shape, 4)
    for i, episode in enumerate(np.asarray(actions, np.int32)):
        state, first = env.reset(reset_keys[i])
        assert int(first) == obs[i]
        for t, action in enumerate(episode):
            state, answer = env.step(step_keys[i, t], state, action)
            for single, batched in zip(answer, batch, strict=True):
                np.testing.assert_allclose(np.asarray(single), batched[i, t], rtol=1e-6)
                assert single.dtype == batched.dtype
                assert not single.weak_type, "a weakly typed answer would change type in a loop"
