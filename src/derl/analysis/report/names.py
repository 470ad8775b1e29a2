"""How cases are called on the page: the paper's names, and settings by the paper's symbols."""

from derl.experiments.paper import BONUS_NAMES

SYMBOLS = {
    "bonus.scale": "λ",
    "bonus.increment": "increment",
    "bonus.learning_rate": "learning rate",
    "decoupling.alpha_explorer": "αᵦ",
    "decoupling.alpha_exploiter": "αₑ",
    "explorer_reward": "explorer's reward",
    "protocol.episodes": "episodes",
}
METRICS = {
    "return": "Evaluation return",
    "explorer_return": "Explorer's return",
    "log_importance_weight": "Log importance weight",
    "importance_weight": "Importance weight",
    "kl": "KL divergence",
    "bonus": "Intrinsic reward",
    "coverage": "States visited",
}
"""The columns of results that are drawn, and their names."""
VALUES = {"both": "rᵉ + λ rⁱ", "intrinsic": "λ rⁱ"}


def bonus_label(recipe: str) -> str:
    """The bonus of a recipe, by the paper's name."""
    bonus = recipe.removesuffix("-kl").partition("-")[2]
    return BONUS_NAMES.get(bonus, bonus)


def setting_label(setting: str) -> str:
    """`bonus.scale=0.1` as "λ = 0.1"."""
    parts, given = [], [*filter(None, setting.split(", "))]
    if any(part.startswith("protocol.episodes=") for part in given):
        # Shorter training is evaluated as often, and so more frequently: the one follows from the other.
        given = [part for part in given if not part.startswith("protocol.evaluate_every=")]
    for part in given:
        name, equals, value = part.partition("=")
        parts.append(f"{SYMBOLS.get(name, name)} = {VALUES.get(value, value)}" if equals else part)
    return ", ".join(parts)


def setting_key(setting: str) -> tuple:
    """Settings sorted by what they change, then by number: 0.01, 0.1, 10, 100."""
    key: list[tuple[str, float, str]] = []
    for part in filter(None, setting.split(", ")):
        name, _, value = part.partition("=")
        try:
            key.append((name, float(value), ""))
        except ValueError:
            key.append((name, 0.0, value))
    return (len(key), tuple(name for name, _, _ in key), tuple(key))
