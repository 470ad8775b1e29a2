"""Data that comes with the package: the numbers the paper published."""
