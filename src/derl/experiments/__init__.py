"""Experiments as data: what to run, where its results are kept, and how a whole paper gets run."""
