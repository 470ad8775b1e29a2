"""Whether an environment is what its contract says, as far as that shows without computing anything."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from derl.core.errors import DerlError, require
from derl.core.leaves import as_leaves
from derl.core.types import Box, Discrete, Spec
from derl.envs.base import AnyEnvironment, Environment, Step
from derl.envs.checks import whole_number


def check_declarations(env: AnyEnvironment) -> None:
    """Raise a `DerlError` unless what an environment says of itself makes sense."""
    hint = f"an object: {env.__name__}(...)" if isinstance(env, type) else "a derl.Environment"
    require(isinstance(env, Environment), f"check_env takes {hint}, not {env!r}")
    name, spec = type(env).__name__, env.spec
    require(isinstance(env.name, str) and env.name != "", f"{name}: name must be a text, not {env.name!r}")
    require(isinstance(spec, Spec), f"{name}: spec must be Spec(observation, num_actions), not {spec!r}")
    _check_space(name, spec.observation)
    whole_number(f"num_actions in the spec of {name}", spec.num_actions, 1)
    truncates = spec.truncates
    require(isinstance(truncates, bool), f"{name}: truncates in its spec must be true or false, not {truncates!r}")
    longest = whole_number(f"max_episode_steps of {name}", env.max_episode_steps, 1)
    if env.episode_length is not None:
        length = whole_number(f"episode_length of {name}", env.episode_length, 1)
        same = f"{name}: episode_length is {length} and max_episode_steps {longest}"
        require(length == longest, f"{same}: make them the same, or leave episode_length out if episodes differ")


def _check_space(name: str, space: Any) -> None:
    if isinstance(space, Discrete):
        whole_number(f"the size of the observations of {name}", space.size, 1)
        return
    wrong = f"{name}: observations are Discrete(size) or Box(shape), with a tuple of lengths, not {space!r}"
    require(isinstance(space, Box) and isinstance(space.shape, tuple), wrong)
    for length in space.shape:
        whole_number(f"a length in the shape of the observations of {name}", length, 1)


def check_shapes(env: AnyEnvironment) -> None:
    """Raise a `DerlError` unless `reset`, `restart` and `step` give what they should, all in the same shapes.

    They are traced, as compiling begins, but not compiled.
    """
    name, spec = type(env).__name__, env.spec
    key = jax.eval_shape(lambda: jax.random.key(0))
    action = jax.ShapeDtypeStruct((), jnp.int32)
    begun = _traced(env, "reset", key)
    state, obs = _pair(name, "reset", begun, "(state, observation)")
    _check_observation(name, "reset", spec, obs)
    again = _pair(name, "restart", _traced(env, "restart", key, state), "(state, observation)")
    following, answer = _pair(name, "step", _traced(env, "step", key, state, action), "(state, Step(...))")
    _check_answer(name, spec, answer)
    for other, (its_state, its_obs) in (("restart", again), ("step", (following, answer.obs))):
        _require_alike(name, "state", "reset", state, other, its_state)
        _require_alike(name, "observation", "reset", obs, other, its_obs)
    _check_varying(env, state, action)


def _traced(env: AnyEnvironment, method: str, *given: Any) -> Any:
    """The shapes of what a method gives."""
    try:
        return jax.eval_shape(getattr(env, method), *given)
    except jax.errors.JAXTypeError as error:
        said = str(error).splitlines()[0].rstrip(".")
        remedy = "where a branch or a number depends on the state, the action or a key, write jnp.where or lax.cond"
        raise DerlError(f"{type(env).__name__}: {method} cannot be compiled ({said}): {remedy}") from error


def _pair(name: str, method: str, given: Any, wanted: str) -> Sequence[Any]:
    good = isinstance(given, tuple | list) and len(given) == 2
    got = f"{len(given)} values" if isinstance(given, tuple | list) else f"one {type(given).__name__}"
    require(good, f"{name}: {method} must return {wanted}, not {got}")
    return given


def _check_answer(name: str, spec: Spec, answer: Any) -> None:
    """What `step` gives beside the state."""
    wrong = f"{name}: step must return (state, Step(obs, reward, terminated, truncated)), not a {type(answer).__name__}"
    require(isinstance(answer, Step), f"{wrong} second")
    _check_observation(name, "step", spec, answer.obs)
    for field, kinds, wish in (
        ("reward", "biuf", "one number"),
        ("terminated", "b", "one boolean"),
        ("truncated", "b", "one boolean"),
    ):
        given = getattr(answer, field)
        good = _is_array(given) and given.shape == () and _kind(given) in kinds
        require(good, f"{name}: {field} in what step returns must be {wish}, not {_show(given)}")


def _check_observation(name: str, method: str, spec: Spec, obs: Any) -> None:
    space = spec.observation
    shape, kinds = ((), "iu") if isinstance(space, Discrete) else (space.shape, "biuf")
    wish = "one integer" if isinstance(space, Discrete) else f"numbers of shape {shape}"
    good = _is_array(obs) and obs.shape == shape and _kind(obs) in kinds
    said = f"{name}: the observation of {method} is {_show(obs)}, and its spec says {space}"
    require(good, f"{said}: return {wish}, or change the spec")


def _require_alike(name: str, what: str, one: str, first: Any, other: str, second: Any) -> None:
    """The same tree of the same shapes and types, or it could not be carried from step to step."""
    remedy = "make them the same (astype changes a type)"
    trees = jax.tree.structure(first), jax.tree.structure(second)
    same = f"{name}: the {what} is {type(first).__name__} after {one} and {type(second).__name__} after {other}"
    require(trees[0] == trees[1], f"{same}, or has other parts: return the same fields from both")
    leaves = zip(jax.tree.leaves_with_path(first), jax.tree.leaves(second), strict=True)
    for (path, a), b in leaves:
        part = f"{what}{jax.tree_util.keystr(path)}"
        alike = a.shape == b.shape and a.dtype == b.dtype
        require(alike, f"{name}: {part} is {_show(a)} after {one} and {_show(b)} after {other}: {remedy}")


def _check_varying(env: AnyEnvironment, state: Any, action: Any) -> None:
    """Numbers among the fields may differ from run to run, so they are traced as well."""
    name = type(env).__name__
    for path, leaf in jax.tree.leaves_with_path(env):
        field = jax.tree_util.keystr(path).removeprefix(".")
        good = isinstance(leaf, bool | int | float) or hasattr(leaf, "dtype")
        require(good, f"{name}: its field {field} is no number ({leaf!r}): mark it eqx.field(static=True)")

    def everything(env: AnyEnvironment, key: Any, state: Any, action: Any) -> Any:
        described.extend(jax.tree.leaves((env.spec, env.max_episode_steps, env.episode_length)))
        return env.reset(key), env.restart(key, state), env.step(key, state, action)

    described: list[Any] = []
    try:
        # What it does with plain numbers works already: whatever fails now does so because they are traced.
        jax.eval_shape(everything, as_leaves(env), jax.eval_shape(lambda: jax.random.key(0)), state, action)
        failed = None
    except Exception as error:
        failed = error
    if failed is not None or any(isinstance(value, Tracer) for value in described):
        why = "a number among its fields shapes the program or decides a branch, and fields that are numbers may vary"
        raise DerlError(f"{name}: {why}: mark it eqx.field(static=True){_candidates(env)}") from failed


def _candidates(env: AnyEnvironment) -> str:
    """Fields that are whole numbers and could vary: mostly they are meant to be fixed."""
    fields = [field.name for field in dataclasses.fields(env) if not field.metadata.get("static")]
    whole = [name for name in fields if isinstance(getattr(env, name), int)]
    return f" ({', '.join(whole)})" if whole else ""


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.ShapeDtypeStruct)


def _kind(array: jax.ShapeDtypeStruct) -> str:
    """Its kind of number, as NumPy calls it; bfloat16 and its like are floats as well."""
    return "f" if jnp.issubdtype(array.dtype, jnp.floating) else getattr(array.dtype, "kind", "?")


def _show(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if _is_array(value) else f"a {type(value).__name__}"
