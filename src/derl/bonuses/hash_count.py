"""Hash-Count: counts locality-sensitive hashes of observations instead of the observations themselves.

SimHash (Charikar 2002; Tang et al. 2017): draw `bits` random directions; an observation's code is on which side of
each it lies, so observations at a small angle tend to share their code.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped, UInt32

from derl.bonuses.base import Bonus, Looks, looked_at, looked_at_again
from derl.bonuses.count import UNCAPPED, count_visits, inverse_root_count
from derl.core.checks import require_positive
from derl.core.types import Box, Discrete, Rollout, Spec

LARGEST_TABLE_BITS = 20


def sign_bits(directions: Float[Array, "d bits"], obs: Float[Array, "*batch d"]) -> Bool[Array, "*batch bits"]:
    """SimHash: bit j says whether obs . A_j > 0."""
    return obs @ directions > 0


def scramble(word: UInt32[Array, "*batch"]) -> UInt32[Array, "*batch"]:
    """A bijection of 32-bit words in which every input bit changes about half of the output bits (MurmurHash3's)."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x85EBCA6B)
    word = (word ^ (word >> 13)) * jnp.uint32(0xC2B2AE35)
    return word ^ (word >> 16)


def pack_words(bits: Bool[Array, "*batch bits"]) -> UInt32[Array, "*batch words"]:
    """Bits as 32-bit words, the first bit of each 32 the least significant."""
    *batch, size = bits.shape
    padded = jnp.pad(bits, [(0, 0)] * len(batch) + [(0, -size % 32)]).reshape(*batch, -1, 32)
    return jnp.sum(padded.astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32), axis=-1, dtype=jnp.uint32)


def table_index(bits: Bool[Array, "*batch bits"]) -> Int[Array, "*batch"]:
    """Where a code is counted: codes of up to 20 bits have a place each; longer ones are scrambled into 2^20 places."""
    words = pack_words(bits)
    if bits.shape[-1] <= LARGEST_TABLE_BITS:
        return words[..., 0].astype(jnp.int32)
    mixed = jnp.zeros(words.shape[:-1], jnp.uint32)
    for i in range(words.shape[-1]):
        # The added constant keeps an all-zero word from leaving the sum as it was.
        mixed = scramble((mixed ^ words[..., i]) + jnp.uint32(0x9E3779B9))
    return (mixed >> (32 - LARGEST_TABLE_BITS)).astype(jnp.int32)


class SimHash(eqx.Module):
    """Numbers observations 0 .. table_size-1, equal for observations with equal codes.

    Holds random directions for vectors; for discrete observations, whose codes are known beforehand, their numbers.
    """

    directions: Float[Array, "d bits"] | None
    numbers: Int[Array, " states"] | None
    table_size: int = eqx.field(static=True)
    dimensions: int = eqx.field(static=True)
    """Of one observation's array; those before are batch."""

    def __init__(self, key: PRNGKeyArray, observation: Discrete | Box, bits: int):
        directions = jax.random.normal(key, (observation.size, bits))
        if isinstance(observation, Discrete):
            # A times a one-hot vector is a row of A, and A times the terminal zero vector is zero.
            codes = table_index(jnp.concatenate([directions > 0, jnp.zeros((1, bits), bool)]))
            self.table_size = observation.size + 1
            # At most that many codes ever occur. Numbering them afresh keeps the table as small as the state space.
            self.numbers = jnp.unique(codes, return_inverse=True, size=self.table_size)[1].astype(jnp.int32)
            self.directions, self.dimensions = None, 0
        else:
            self.table_size = 2 ** min(bits, LARGEST_TABLE_BITS)
            self.numbers = None
            self.directions, self.dimensions = directions, len(observation.shape)

    def __call__(self, obs: Shaped[Array, "*b_obs"]) -> Int[Array, "*b"]:
        if self.numbers is not None:
            return self.numbers[obs]
        assert self.directions is not None
        batch = obs.shape[: obs.ndim - self.dimensions]
        return table_index(sign_bits(self.directions, obs.reshape(*batch, -1)))


class HashCountState(eqx.Module):
    """How often each code was seen, over all environments and all time, and what gives the codes."""

    visits: Int[Array, " codes"]
    simhash: SimHash


class HashCount(Bonus[HashCountState]):
    """r^i = 1 / sqrt(N(code of s)) with SimHash codes; for any observations."""

    increment: float = 1.0
    """How much one visit adds to N: below 1 the bonus decays more slowly, above 1 faster."""
    key_bits: int = eqx.field(default=16, static=True)
    """Length of a code. Longer codes tell more states apart; beyond 20 bits codes share 2^20 table entries."""
    simultaneous: bool = eqx.field(default=False, static=True)
    """Count all environments of a time step before rewarding any, as the authors' code does; else one after another."""
    looks: Looks = eqx.field(default="state", static=True)
    """Which state of a transition is counted and rewarded."""
    capped: bool = eqx.field(default=True, static=True)
    """Cap the bonus at 1 while N < 1. If off, the increment only rescales the bonus, which normalisation cancels."""

    def init(self, key: PRNGKeyArray, spec: Spec, num_envs: int) -> HashCountState:
        simhash = SimHash(key, spec.observation, self.key_bits)
        return HashCountState(jnp.zeros(simhash.table_size, jnp.int32), simhash)

    def step(self, state: HashCountState, rollout: Rollout) -> tuple[HashCountState, Float[Array, "T E"]]:
        codes = state.simhash(looked_at(rollout, self.looks))
        visits, by_then = count_visits(state.visits, codes, self.simultaneous)
        return HashCountState(visits, state.simhash), self.reward(by_then)

    def reward(self, visits: Int[Array, "*b"]) -> Float[Array, "*b"]:
        """r^i of a code seen so often."""
        return inverse_root_count(self.increment * visits, self.capped)

    @property
    def needs_resets(self) -> bool:
        return self.looks == "successor_after_reset"

    def current(self, state: HashCountState, obs: Array, action: Array, next_obs: Array) -> Float[Array, "*b"]:
        codes = state.simhash(looked_at_again(obs, next_obs, self.looks))
        return self.reward(jnp.maximum(1, state.visits[codes]))

    def idle(self, spec: Spec, num_envs: int) -> dict[str, str]:
        found = {"capped": UNCAPPED} if self.increment >= 1 else {}
        return found | ({"simultaneous": "with a single environment (num_envs 1)"} if num_envs == 1 else {})

    def check(self) -> None:
        super().check()
        require_positive(self, "increment", "key_bits")
