"""A run's whole state in one safetensors file, written atomically. No pickle: a checkpoint is safe to load."""

import json
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from derl.core.errors import DerlError

FORMAT = "derl-checkpoint"
VERSION = 1


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data` whole or, if anything goes wrong, leave it as it was."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DerlError(f"cannot write {path}: {error.strerror or error}; what was saved before is intact") from None


def flatten(tree: Any) -> dict[str, Any]:
    """Leaves by name; the name is the path to the leaf."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}


def is_key(leaf: Any) -> bool:
    """Whether a leaf is a typed random key, which is stored as its numbers."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def to_numpy(leaf: Any) -> np.ndarray:
    """A leaf as plain numbers."""
    return np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf, order="C")


def from_numpy(value: np.ndarray, leaf: Any) -> Any:
    """Plain numbers as an array of the kind `leaf` is."""
    return jax.random.wrap_key_data(jnp.asarray(value)) if is_key(leaf) else jnp.asarray(value)


def save_checkpoint(path: Path, tree: Any, metadata: dict[str, Any]) -> None:
    """Write every array of `tree`, and `metadata` (anything JSON can hold)."""
    header = {"format": FORMAT, "version": str(VERSION), "metadata": json.dumps(metadata)}
    write_atomically(path, save({name: to_numpy(leaf) for name, leaf in flatten(tree).items()}, metadata=header))


def read_metadata(path: Path) -> dict[str, Any]:
    """The metadata of a checkpoint, after checking that it is one of ours."""
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
    except FileNotFoundError:
        raise DerlError(f"there is no checkpoint at {path}") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise DerlError(f"{path} is damaged or not a checkpoint ({error}); nothing was changed") from None
    if header.get("format") != FORMAT:
        raise DerlError(f"{path} was not written by derl; nothing was changed")
    if header.get("version") != str(VERSION):
        raise DerlError(
            f"{path} has format {header.get('version')}, this derl reads {VERSION}; use the derl that wrote it"
        )
    return json.loads(header["metadata"])


def load_checkpoint(path: Path, template: Any) -> Any:
    """The saved tree; `template` (arrays or shapes) says what it must look like."""
    read_metadata(path)
    expected = flatten(template)
    try:
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            if names != set(expected):
                odd = sorted(names ^ set(expected))[0]
                raise DerlError(f"{path} belongs to another configuration or version of derl (it differs at {odd})")
            leaves = [_restore(path, name, file.get_tensor(name), leaf) for name, leaf in expected.items()]
    except (SafetensorError, OSError, ValueError) as error:
        raise DerlError(f"{path} is damaged ({error}); nothing was changed") from None
    return jax.tree.unflatten(jax.tree.structure(template), leaves)


def _restore(path: Path, name: str, value: np.ndarray, leaf: Any) -> Any:
    array = from_numpy(value, leaf)
    if array.shape != leaf.shape or array.dtype != leaf.dtype:
        raise DerlError(f"{path} belongs to another configuration or version of derl (it differs at {name})")
    return array
