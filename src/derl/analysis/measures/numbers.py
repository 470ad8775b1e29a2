"""Numbers as they are printed, on pages, in figures and in terminals."""


def signed(value: float, form: str = ".2f") -> str:
    """A number with a true minus sign, and none before a zero."""
    text = f"{value:{form}}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")
