"""Environments with one thing wrong each, and the words with which `derl.check_env` should tell it."""

import jax
import jax.numpy as jnp
import numpy as np

from derl.core.types import Box, Discrete, Spec
from derl.envs import Environment, Step


class Walk(Environment):
    """Counts to 4, by 1 or by 0 (then it pays 1), and is cut off after 6 steps. Nothing is wrong with it."""

    pay: float = 1.0

    @property
    def name(self):
        return "Walk"

    @property
    def spec(self):
        return Spec(Discrete(4), 2, truncates=True)

    @property
    def max_episode_steps(self):
        return 6

    @property
    def lowest_return(self):
        return 0.0

    @property
    def optimal_return(self):
        return 6.0

    def look(self, place):
        return place

    def reset(self, key):
        state = (jnp.asarray(0), jnp.asarray(0))
        return state, self.look(state[0])

    def step(self, key, state, action):
        place, time = state[0] + action, state[1] + 1
        reward = jnp.where(action == 0, self.pay, 0.0)
        return (place, time), Step(self.look(place), reward, place >= 4, (place < 4) & (time >= 6))

    def answer(self, key, state, action, **changes):
        """What another kind of walk says in place of the same."""
        state, answer = Walk.step(self, key, state, action)
        return state, answer._replace(**{name: change(answer, state) for name, change in changes.items()})


def saying(**declared) -> Walk:
    """A walk that declares something else."""
    members = {name: property(lambda self, value=value: value) for name, value in declared.items()}
    return type("Walk", (Walk,), members)()


def stepping(**changes) -> Walk:
    """A walk whose steps have something else in them, made of what it would be and of the state."""
    return type("Walk", (Walk,), {"step": lambda self, *given: self.answer(*given, **changes)})()


class Broken(Walk):
    """The base of what is wrong in other ways."""


class Swapped(Broken):
    def reset(self, key):
        state, obs = super().reset(key)
        return obs, state


class Alone(Broken):
    def reset(self, key):
        return super().reset(key)[1]


class Gymnasium(Broken):
    def step(self, key, state, action):
        state, answer = super().step(key, state, action)
        return answer.obs, answer.reward, answer.terminated, answer.truncated, {}


class Plain(Broken):
    def step(self, key, state, action):
        state, answer = super().step(key, state, action)
        return state, tuple(answer)


class OtherParts(Broken):
    def step(self, key, state, action):
        state, answer = super().step(key, state, action)
        return (*state, jnp.asarray(0)), answer


class OtherType(Broken):
    def step(self, key, state, action):
        (place, time), answer = super().step(key, state, action)
        return (place, time.astype(jnp.float32)), answer


class OtherRestart(Broken):
    def restart(self, key, last):
        (place, time), obs = super().reset(key)
        return (place, time[None]), obs


class OtherObservation(Broken):
    def restart(self, key, last):
        state, obs = super().reset(key)
        return state, obs.astype(jnp.int8)


class Branching(Broken):
    def step(self, key, state, action):
        return super().step(key, state, 1 if action > 0 else 0)


class Shaping(Broken):
    steps: int = 6

    @property
    def max_episode_steps(self):
        return self.steps


class Deciding(Broken):
    generous: bool = True

    def reset(self, key):
        state, obs = super().reset(key)
        return state, obs if self.generous else obs + 1


class Named(Broken):
    label: str = "walk"


class Beyond(Broken):
    def restart(self, key, last):
        state, obs = super().reset(key)
        return state, obs + 4


class Guessing(Broken):
    def step(self, key, state, action):
        # Of two numbers each tracing would draw the same one half of the time.
        return super().step(key, state, jnp.minimum(action, 1 + int(np.random.randint(2**30))))


class Calling(Broken):
    def step(self, key, state, action):
        def draw(place):
            return np.random.randint(0, 2, np.shape(place)).astype(np.int32)

        shape = jax.ShapeDtypeStruct((), jnp.int32)
        return super().step(key, state, jax.pure_callback(draw, shape, state[0], vmap_method="expand_dims"))


BROKEN = {
    "no name": (saying(name=""), "name must be a text, not ''"),
    "no spec": (saying(spec=(4, 2)), r"spec must be Spec\("),
    "no box": (saying(spec=Spec(Box(4), 2)), r"with a tuple of lengths, not Box\(shape=4\)"),  # pyright: ignore
    "no size": (saying(spec=Spec(Discrete(0), 2)), "size of the observations of Walk must be a whole number"),
    "no length": (saying(spec=Spec(Box((0,)), 2)), "a length in the shape of the observations of Walk must be"),
    "no actions": (saying(spec=Spec(Discrete(4), 0)), "num_actions in the spec of Walk must be a whole number"),
    "no truth": (saying(spec=Spec(Discrete(4), 2, 1)), "truncates in its spec must be true or false, not 1"),  # pyright: ignore
    "no limit": (saying(max_episode_steps=0), "max_episode_steps of Walk must be a whole number of at least 1"),
    "two lengths": (saying(episode_length=5), "episode_length is 5 and max_episode_steps 6: make them the same"),
    "observation first": (Swapped(), r"observation of reset is a tuple, and its spec says Discrete\(size=4\)"),
    "state alone": (Alone(), r"reset must return \(state, observation\), not one"),
    "five values": (Gymnasium(), r"step must return \(state, Step\(...\)\), not 5 values"),
    "a plain tuple": (Plain(), r"step must return \(state, Step\(obs, .*, not a tuple second"),
    "other fields": (OtherParts(), "state is tuple after reset and tuple after step, or has other parts"),
    "other type": (OtherType(), r"state\[1\] is int32\[\] after reset and float32\[\] after step: make them the same"),
    "other shape": (OtherRestart(), r"state\[1\] is int32\[\] after reset and int32\[1\] after restart"),
    "other observation": (OtherObservation(), r"observation is int32\[\] after reset and int8\[\] after restart"),
    "a vector": (stepping(obs=lambda a, s: a.obs[None]), r"observation of step is int32\[1\], .*: return one integer"),
    "a float": (stepping(obs=lambda a, s: 1.0 * a.obs), r"observation of step is float32\[\], .*: return one integer"),
    "no vector": (
        saying(spec=Spec(Box((2,)), 2)),
        r"reset is int32\[\], .*: return numbers of shape \(2,\)",
    ),
    "two rewards": (stepping(reward=lambda a, s: jnp.zeros(2)), r"reward in .* one number, not float32\[2\]"),
    "no reward": (stepping(reward=lambda a, s: None), "reward in .* must be one number, not a NoneType"),
    "an end as number": (stepping(terminated=lambda a, s: 1.0 * a.terminated), r"terminated in .* one boolean, not fl"),
    "a cut as number": (
        stepping(truncated=lambda a, s: 1 * a.truncated),
        r"truncated in .* one boolean, not int",
    ),
    "a branch": (Branching(), r"step cannot be compiled \(Attempted boolean conversion.*write jnp.where or lax.cond"),
    "a size that varies": (Shaping(), r"shapes the program .*: mark it eqx.field\(static=True\) \(steps\)"),
    "a switch that varies": (Deciding(), r"decides a branch, .*: mark it eqx.field\(static=True\) \(generous\)"),
    "a text that varies": (Named(), r"its field label is no number \('walk'\): mark it eqx.field\(static=True\)"),
    "too high": (stepping(obs=lambda a, s: a.obs + 1), r"an observation of step is 4, and .* Discrete\(4\), 0 to 3"),
    "below 0": (stepping(obs=lambda a, s: a.obs - 1), "an observation of step is -1, and"),
    "beyond the end": (stepping(obs=lambda a, s: a.obs + a.terminated), "an observation of step is 5, and"),
    "too high again": (Beyond(), "an observation of restart is 4, and"),
    "no number paid": (stepping(reward=lambda a, s: a.reward / (s[1] - 3)), "a reward is inf: rewards must be finite"),
    "a hidden limit": (
        saying(spec=Spec(Discrete(4), 2)),
        "step truncates an episode, .*set truncates=True",
    ),
    "too long": (saying(max_episode_steps=5), "an episode has 6 steps or more, and max_episode_steps is 5"),
    "not of one length": (saying(episode_length=6), "an episode has [45] steps, and episode_length says that all have"),
    "no end": (
        stepping(obs=lambda a, s: 0 * a.obs, terminated=lambda a, s: s[1] < 0, truncated=lambda a, s: s[1] < 0),
        "an episode has 25 steps or more",
    ),
    "a draw of its own": (Guessing(), "tracing it twice gave two programs: random numbers must come from the keys"),
    "a draw while it runs": (Calling(), "the same keys gave other steps the second time: random numbers must come"),
    "more than best": (saying(optimal_return=5.0), "an episode returned 6, and optimal_return is 5: correct it"),
    "less than least": (saying(lowest_return=3.0), "an episode returned [012], and lowest_return is 3: correct it"),
}
