"""Compiled programs: kept between processes, and forgotten within one."""

import gc
from pathlib import Path

import jax


def use_compilation_cache() -> None:
    """Keep compiled programs between processes, unless the user has said where (or not to)."""
    if jax.config.jax_compilation_cache_dir is None:  # pyright: ignore[reportAttributeAccessIssue]
        jax.config.update("jax_compilation_cache_dir", str(Path.home() / ".cache" / "derl" / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


def forget_programs() -> None:
    """Let go of every compiled program of this process.

    Each holds a thousand or two of the 65,530 pieces of memory that Linux allows a process. A process that goes from
    program to program would come to an end after some forty: "LLVM compilation error: Cannot allocate memory".
    """
    jax.clear_caches()
    gc.collect()
