"""Numbers as they are printed, on pages, in figures and in terminals."""


def signed(value: float, form: str = ".2f") -> str:
    """A number with a true minus sign, and none before a zero."""
    text = f"{value:{form}}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def grouped(value: float) -> str:
    """A count with its thousands apart."""
    return f"{round(value):,}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 run`, `2 runs`."""
    return f"{grouped(count)} {one if count == 1 else many or one + 's'}"
