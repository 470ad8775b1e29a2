"""Elements of a page as text. Whatever is not `Html` already is escaped, so data can never become markup."""

import json
from html import escape
from importlib import resources
from typing import Any

from derl.analysis.measures.numbers import grouped, signed


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def asset(name: str) -> str:
    """A file of the assets folder."""
    return resources.files("derl.analysis.report").joinpath("assets", name).read_text("utf-8")


VOID = {"br", "hr", "img", "input", "link", "meta"}


def h(tag: str, *children: Any, **attributes: Any) -> Html:
    """An element. Attributes lose an underscore at their end and have hyphens for the others: class_, data_case.

    None and False leave an attribute or a child out, True gives it without a value.
    """
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        words.append(name if value is True else f'{name}="{escape(str(value))}"')
    start = f"<{' '.join(words)}>"
    return Html(start if tag in VOID else f"{start}{join(*children)}</{tag}>")


def join(*children: Any) -> Html:
    """Children one after the other; lists are flattened."""
    texts = []
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, list | tuple):
            texts.append(join(*child))
        else:
            texts.append(child if isinstance(child, Html) else escape(str(child)))
    return Html("".join(texts))


def embed_json(identity: str, value: Any) -> Html:
    """Data for the page's scripts. No `<` survives, so nothing in it can end the element or start a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"), sort_keys=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{escape(identity)}">{text}</script>')


def number(value: float | None, digits: int = 2) -> str:
    """A number; a dash if it is unknown."""
    return "–" if value is None or value != value else signed(value, f".{digits}f")


def large(value: float) -> str:
    """A number too long to be read digit by digit: 3.04 billion."""
    for limit, word in ((1e9, "billion"), (1e6, "million")):
        if value >= limit:
            return f"{value / limit:.3g} {word}"
    return grouped(value)


def long_duration(seconds: float) -> str:
    """Seconds in the two largest units that matter: 7 h 12 min."""
    seconds = round(seconds)
    sizes = {"d": 86400, "h": 3600, "min": 60, "s": 1}
    units = [unit for unit, size in sizes.items() if seconds >= size] or ["s"]
    shown = []
    for unit in units[:2]:
        count, seconds = divmod(seconds, sizes[unit])
        shown.append(f"{count} {unit}")
    return " ".join(shown)
