"""As for the agents: many small programs, each run for a moment."""

from agents.conftest import compile_quickly  # noqa: F401
