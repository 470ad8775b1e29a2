"""Slow, plain implementations that the library is compared with."""
