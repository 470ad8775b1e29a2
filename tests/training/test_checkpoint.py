"""Checkpoints: whole or not at all, ours or refused."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import save_file

from derl.core.errors import DerlError
from derl.training.checkpoint import (
    checksum,
    filled,
    load_checkpoint,
    read_metadata,
    save_checkpoint,
    to_numpy,
    whole,
)

TREE = {
    "key": jax.random.key(7),
    "flag": jnp.asarray([True, False]),
    "count": jnp.arange(6, dtype=jnp.int32).reshape(2, 3),
    "nested": (jnp.asarray(1.5), [jnp.zeros((0, 4))]),
}


def test_everything_comes_back_bit_for_bit(tmp_path):
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, TREE, {"clock": 12})
    back = load_checkpoint(path, jax.eval_shape(lambda: TREE))[0]
    assert read_metadata(path) == {"clock": 12}
    assert jax.tree.structure(back) == jax.tree.structure(TREE)
    np.testing.assert_array_equal(jax.random.key_data(back["key"]), jax.random.key_data(TREE["key"]))
    for name in ("flag", "count"):
        np.testing.assert_array_equal(back[name], TREE[name])
        assert back[name].dtype == TREE[name].dtype
    assert float(back["nested"][0]) == 1.5


@given(
    arrays(
        st.sampled_from([np.float32, np.int32, np.bool_]),
        st.tuples(*[st.integers(0, 3)] * 3),
        elements=st.sampled_from([0, 0, 0, 1]),
    )
)
def test_what_is_not_written_comes_back(value):
    kept = filled(value)
    if value.size:
        assert kept.shape[1] == max((i + 1 for i in range(value.shape[1]) if value[:, i].any()), default=0)
    np.testing.assert_array_equal(whole(kept, value.shape[1]), value)


def test_the_empty_part_of_a_memory_is_not_written(tmp_path):
    path = tmp_path / "c.safetensors"
    memory = jnp.zeros((2, 100_000)).at[1, 2].set(-0.0).at[0, 0].set(5.0)
    save_checkpoint(path, {"memory": memory}, {})
    assert path.stat().st_size < 1_000
    back = load_checkpoint(path, jax.eval_shape(lambda: {"memory": memory}))[0]
    assert np.asarray(back["memory"]).tobytes() == np.asarray(memory).tobytes()
    with pytest.raises(DerlError, match=r"another configuration.*memory"):
        load_checkpoint(path, {"memory": jnp.zeros((2, 99_999))})


@pytest.mark.parametrize("lengths", [{"other": 3}, {"memory": 1}, {"memory": "x"}])
def test_lengths_that_make_no_sense_are_refused(tmp_path, lengths):
    path = tmp_path / "c.safetensors"
    memory = np.zeros((2, 5), np.float32)
    header = {"format": "derl-checkpoint", "version": "2", "metadata": "{}", "lengths": json.dumps(lengths)}
    sums = {"memory": checksum(memory.tobytes()), "": checksum(("{}" + header["lengths"]).encode())}
    save_file({"memory": memory}, path, metadata=header | {"checksums": json.dumps(sums)})
    with pytest.raises(DerlError, match="damaged"):
        load_checkpoint(path, {"memory": jnp.ones((2, 5))})


def test_a_missing_file(tmp_path):
    with pytest.raises(DerlError, match="no checkpoint"):
        read_metadata(tmp_path / "none")


@pytest.mark.parametrize("cut", [0, 3, 40, -1])
def test_a_truncated_file_is_refused(tmp_path, cut):
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, TREE, {})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DerlError, match="damaged"):
        load_checkpoint(path, TREE)


def test_garbage_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    path.write_bytes(b"\x80\x04 not a checkpoint" * 10)
    with pytest.raises(DerlError, match="damaged or not a checkpoint"):
        load_checkpoint(path, TREE)
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(DerlError, match="not written by derl"):
        load_checkpoint(path, TREE)
    save_file({"a": np.zeros(3)}, path, metadata={"format": "derl-checkpoint", "version": "999", "metadata": "{}"})
    with pytest.raises(DerlError, match="format 999"):
        load_checkpoint(path, TREE)


def test_another_shape_or_structure_is_refused(tmp_path):
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, TREE, {})
    with pytest.raises(DerlError, match=r"another configuration.*count"):
        load_checkpoint(path, TREE | {"count": jnp.zeros((2, 4), jnp.int32)})
    with pytest.raises(DerlError, match=r"another configuration.*extra"):
        load_checkpoint(path, TREE | {"extra": jnp.zeros(1)})


def test_no_damaged_byte_is_taken_for_what_was_written(tmp_path):
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, TREE, {"clock": 1, "rows": 12})
    written = path.read_bytes()
    accepted = 0
    for place in range(len(written)):
        path.write_bytes(written[:place] + bytes([written[place] ^ 1]) + written[place + 1 :])
        try:
            tree, metadata = load_checkpoint(path, TREE)
        except DerlError:
            continue
        # Some bytes mean nothing: the name under which checksums are kept, say.
        accepted += 1
        assert metadata == {"clock": 1, "rows": 12}
        jax.tree.map(lambda ours, theirs: np.testing.assert_array_equal(to_numpy(ours), to_numpy(theirs)), TREE, tree)
    assert accepted < 0.05 * len(written)
