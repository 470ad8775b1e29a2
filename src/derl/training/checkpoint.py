"""A run's whole state in one safetensors file, written atomically. No pickle: a checkpoint is safe to load.

What a memory does not hold yet is not written: a memory of a million steps costs what is in it.
"""

import contextlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from derl.core.errors import DerlError
from derl.core.files import write_atomically

FORMAT = "derl-checkpoint"
VERSION = 2
ATTACHED = "attached"
"""The name of what lies beside the state in a checkpoint: bytes that have to be of the same moment."""


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


def filled(value: np.ndarray) -> np.ndarray:
    """What is written of an array: without the zeros that end its second dimension, the rows of a memory not full yet.

    The first dimension is that of the runs. Zeros of bits, not of value: -0.0 is kept.
    """
    if value.ndim < 2 or value.size == 0:
        return value
    used = np.asarray(value.view(np.uint8).reshape(*value.shape[:2], -1).any(axis=(0, 2)))
    last = np.flatnonzero(used[::-1])
    return np.ascontiguousarray(value[:, : len(used) - last[0] if len(last) else 0])


def whole(value: np.ndarray, length: int) -> np.ndarray:
    """The array of which `filled` left the beginning."""
    missing = [(0, 0)] * value.ndim
    missing[1] = (0, length - value.shape[1])
    return np.pad(value, missing)


def save_checkpoint(path: Path, tree: Any, metadata: dict[str, Any], attached: bytes = b"") -> None:
    """Write every array of `tree`, `metadata` (anything JSON can hold), and some bytes."""
    arrays = {name: to_numpy(leaf) for name, leaf in flatten(tree).items()}
    arrays |= {ATTACHED: np.frombuffer(attached, np.uint8)} if attached else {}
    kept = {name: filled(value) for name, value in arrays.items()}
    lengths = {name: value.shape[1] for name, value in arrays.items() if value.shape != kept[name].shape}
    header = {"format": FORMAT, "version": str(VERSION), "metadata": json.dumps(metadata)}
    header["lengths"] = json.dumps(lengths)
    sums = {name: checksum(value.tobytes()) for name, value in kept.items()}
    header["checksums"] = json.dumps(sums | {"": checksum((header["metadata"] + header["lengths"]).encode())})
    write_atomically(path, save(kept, metadata=header))


def checksum(data: bytes) -> int:
    """What tells damaged bytes from those that were written."""
    return zlib.crc32(data)


def read_metadata(path: Path) -> dict[str, Any]:
    """The metadata of a checkpoint, after checking that it is one of ours."""
    with _opened(path) as file:
        return json.loads(_header(path, file)["metadata"])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An open file: it stays what it is if whoever trains replaces it meanwhile."""
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except FileNotFoundError:
        raise DerlError(f"there is no checkpoint at {path}") from None
    except (SafetensorError, OSError, ValueError, LookupError, TypeError) as error:
        raise DerlError(f"{path} is damaged or not a checkpoint ({error}); nothing was changed") from None


def _header(path: Path, file: Any) -> dict[str, str]:
    header = file.metadata() or {}
    if header.get("format") != FORMAT:
        raise DerlError(f"{path} was not written by derl; nothing was changed")
    if header.get("version") != str(VERSION):
        raise DerlError(
            f"{path} has format {header.get('version')}, this derl reads {VERSION}; use the derl that wrote it"
        )
    if _checksums(path, header).get("") != checksum((header.get("metadata", "") + header.get("lengths", "")).encode()):
        raise DerlError(f"{path} is damaged (its header is not what was written); nothing was changed")
    return header


def _checksums(path: Path, header: dict[str, str]) -> dict[str, int]:
    """The checksum of each array, and of the header as that of ""."""
    try:
        return dict(json.loads(header.get("checksums", "{}")))
    except (ValueError, TypeError) as error:
        raise DerlError(f"{path} is damaged ({error}); nothing was changed") from None


def load_checkpoint(path: Path, template: Any) -> tuple[Any, dict[str, Any]]:
    """The saved tree and its metadata; `template` (arrays or shapes) says what the tree must look like."""
    expected = flatten(template)
    with _opened(path) as file:
        header = _header(path, file)
        names, sums = set(file.keys()) - {ATTACHED}, _checksums(path, header)
        if names != set(expected):
            odd = sorted(names ^ set(expected))[0]
            raise DerlError(f"{path} belongs to another configuration or version of derl (it differs at {odd})")
        values = {name: file.get_tensor(name) for name in expected}
        odd = [name for name, value in values.items() if sums.get(name) != checksum(value.tobytes())]
        if odd:
            raise DerlError(f"{path} is damaged ({odd[0]} is not what was written); nothing was changed")
        lengths = json.loads(header.get("lengths", "{}"))
        values |= {name: whole(values[name], length) for name, length in lengths.items()}
        leaves = [_restore(path, name, values[name], leaf) for name, leaf in expected.items()]
        return jax.tree.unflatten(jax.tree.structure(template), leaves), json.loads(header["metadata"])


def read_attached(path: Path) -> bytes:
    """The bytes that were saved with a checkpoint; none if there are none."""
    with _opened(path) as file:
        names, sums = set(file.keys()), _checksums(path, _header(path, file))
        data = file.get_tensor(ATTACHED).tobytes() if ATTACHED in names else b""
    if data and sums.get(ATTACHED) != checksum(data):
        raise DerlError(f"{path} is damaged (its results are not what was written); nothing was changed")
    return data


def _restore(path: Path, name: str, value: np.ndarray, leaf: Any) -> Any:
    array = from_numpy(value, leaf)
    if array.shape != leaf.shape or array.dtype != leaf.dtype:
        raise DerlError(f"{path} belongs to another configuration or version of derl (it differs at {name})")
    return array
