"""These tests compile many small programs and run each for a moment."""

import jax
import pytest


@pytest.fixture(scope="package", autouse=True)
def compile_quickly():
    """Without most of XLA's optimisations: a third of the time to compile, the same results."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
