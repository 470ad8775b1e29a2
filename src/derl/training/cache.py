"""Compiled programs, kept between processes."""

from pathlib import Path

import jax


def use_compilation_cache() -> None:
    """Keep compiled programs between processes, unless the user has said where (or not to)."""
    if jax.config.jax_compilation_cache_dir is None:  # pyright: ignore[reportAttributeAccessIssue]
        jax.config.update("jax_compilation_cache_dir", str(Path.home() / ".cache" / "derl" / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)
