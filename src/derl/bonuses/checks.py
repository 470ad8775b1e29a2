"""One-line complaints about hyper-parameters that make no sense."""

from typing import Any

from derl.core.errors import require


def require_not_negative(settings: Any, *fields: str) -> None:
    """Each of the named fields of `settings` is at least 0 (NaN is refused too)."""
    for field in fields:
        value = getattr(settings, field)
        require(value >= 0, f"{field} must be at least 0, got {value}")


def require_positive(settings: Any, *fields: str) -> None:
    """Each of the named fields of `settings` is above 0 (NaN is refused too)."""
    for field in fields:
        value = getattr(settings, field)
        require(value > 0, f"{field} must be greater than 0, got {value}")


def require_widths(settings: Any, *fields: str) -> None:
    """Each of the named fields of `settings` lists layer widths: every one at least 1, possibly none."""
    for field in fields:
        value = getattr(settings, field)
        require(all(width >= 1 for width in value), f"every layer width in {field} must be at least 1, got {value}")
