"""Ctrl-C, politely."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) set `stop`, for whoever works here to end well; a second one acts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number, frame):
        stop.set()
        signal.signal(number, old[number])

    signals = (signal.SIGINT, signal.SIGTERM)
    old = {s: signal.signal(s, handle) for s in signals}
    try:
        yield
    finally:
        for s, handler in old.items():
            signal.signal(s, handler)
