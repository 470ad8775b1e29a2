"""How fast the paper's own code is: environment steps per second of one run, on one core of a machine like ours."""

REFERENCE_TASKS = ("DeepSea-10", "DeepSea-30", "Hallway-30-30")
REFERENCE = {
    "a2c-count": (1020, 1142, 1388),
    "ppo-count": (215, 174, 203),
    "a2c-icm": (564, 509, 431),
    "a2c-rnd": (822, 671, 707),
    "a2c-ride": (481, 424, 477),
    "a2c-hash-count": (1426, 1140, 1343),
    "dea2c-count": (1089, 643, 934),
    "deppo-count": (111, 102, 139),
    "dedqn-count": (623, 637, 612),
    "dea2c-icm": (399, 505, 438),
}
"""Medians of three measurements each, on the three tasks above, of its commit 7e38a5b as published (PyTorch, one
process and thread) on one core of an AMD EPYC (Zen 3) that other machines share: they vary by a quarter. The other rows
of Table 1 were not measured. Its code is not part of this project, so that no command here measures it again.
"""


def reference_speed(recipe: str, task: str) -> float:
    """Steps per second of the paper's code for a row of Table 1, on the measured task that is nearest.

    Of a row that was not measured, those of the same algorithm with Count: learned bonuses cost more, and none costs
    less.
    """
    known = REFERENCE.get(recipe, REFERENCE[f"{recipe.partition('-')[0]}-count"])
    family, _, size = task.partition("-")
    nearest = REFERENCE_TASKS[2] if family == "Hallway" else REFERENCE_TASKS[int(size) > 20]
    return float(known[REFERENCE_TASKS.index(nearest)])
