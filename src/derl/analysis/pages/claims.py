"""The pages about claims, and about the hyper-parameters that the paper's rule chooses."""

from collections.abc import Iterable, Sequence

from derl.analysis.claims.improvement import Improvement
from derl.analysis.claims.paper import STATEMENTS, Claim, overall
from derl.analysis.claims.selection import Choice, Placed
from derl.analysis.measures.aggregates import Estimate
from derl.analysis.measures.numbers import signed
from derl.analysis.pages.markdown import markdown_table
from derl.experiments.paper import row_name

HOW = """- A claim **holds** if its whole interval lies on the claimed side of the bound, **does not hold** if it lies
  on the other side, and is **undecided** if the interval contains the bound. If too little was run to judge it, there
  is **not enough data**.
- What each measure means is in `derl.analysis.claims.paper`.
- The noise of seeds is subtracted from our spreads; one below 0 is less than noise alone would give. The paper's own
  spreads include it, because the paper does not report how much its runs differ.
- The first five seeds count, as in the tables. An overall effect is judged if at least half of its cases were run,
  from more than half of its tasks.
- As everywhere in the field, the interval of a single case of five runs is somewhat too narrow: simulated, it covers
  the truth in 80 to 90 of a hundred experiments. Overall effects rest on many cases, and cover what they say.
- For episodes saved, a recipe that never gets there counts as arriving at the end of training: a baseline that needs
  1,000 episodes and a decoupled recipe that never does give a saving of −99."""
IMPROVEMENT = (
    "How probable it is that a run of a decoupled recipe has a higher average return than one of its baseline, in a "
    "random one of the tasks in which both were run. 0.5 is no improvement."
)
SELECTION = (
    "`derl reproduce grid-search` regenerates these numbers. The rule takes the highest maximum return, among "
    "equals (to two digits) the highest average. A place is that among the configurations that were run: of what "
    "the paper prints in bold, and of the recipe's. They differ where the code that was published has other values, "
    "which the recipe follows (PPO's normalisation in Hallway, ICM of the decoupled algorithms; in DeepSea its "
    "normalisation did nothing)."
)


def claims_page(tested: Sequence[Claim], improved: Sequence[Improvement]) -> str:
    """Every test of every claim, and how often decoupling improves a run."""
    parts = ["# The paper's claims", HOW]
    for claim, statement in STATEMENTS.items():
        there = [c for c in tested if c.number == claim]
        parts.append(f"## {claim}. {statement}")
        parts.append("\n".join(f"- {c.words}" for c in overall(there)) or "Not run.")
        parts.append(claims_table(there) if there else "")
    parts += ["## Probability of improvement", IMPROVEMENT, improvement_table(improved), "[All tables](README.md)"]
    return "\n\n".join(part for part in parts if part) + "\n"


def claims_table(tested: Iterable[Claim]) -> str:
    """Claims as Markdown."""
    head = ("claim", "measure", "where", "effect (95 % interval)", "in the paper", "wanted", "outcome")
    rows = []
    for c in tested:
        effect = "" if c.effect is None else _effect(c.effect, c.bound)
        paper = "" if c.published is None else signed(c.published)
        outcome = f"**{c.outcome}**" + (f" ({c.because})" if c.because else "")
        rows.append((c.number, c.measure, c.subject, effect, paper, c.wanted, outcome))
    return markdown_table("lllrrll", head, rows)


def _effect(effect: Estimate, bound: float) -> str:
    """An effect and its interval, with as many digits as it takes to tell an end from the bound."""
    close = any(f"{end:.2f}" == f"{bound:.2f}" and end != bound for end in effect[1:])
    return "{} ({} to {})".format(*(signed(number, ".3f" if close else ".2f") for number in effect))


def improvement_table(improved: Sequence[Improvement]) -> str:
    """How probable improvements are, as Markdown."""
    if not improved:
        return "No recipe was run more than once in a task together with its baseline."
    rows = [
        (row_name(one.recipe), row_name(one.baseline), one.tasks, "{:.2f} ({:.2f} to {:.2f})".format(*one.probability))
        for one in improved
    ]
    return markdown_table("llrr", ("recipe", "against", "tasks", "probability (95 % interval)"), rows)


def placed(one: Placed | None) -> tuple[str, str, str]:
    """A configuration's place in its grid and its scores."""
    return ("–", "–", "–") if one is None else (str(one.rank), f"{one.maximum:.2f}", f"{one.average:.2f}")


def selection_page(chosen: Sequence[Choice]) -> str:
    """The choices of the paper's rule."""
    head = ("algorithm", "task", "run", "chosen here, unlike the recipe", "maximum", "average")
    head += ("the paper's: place", "maximum", "average", "the recipe's: place", "maximum", "average")
    rows = []
    for c in chosen:
        best = (c.best.setting or "as the recipe", f"{c.maximum:.2f}", f"{c.average:.2f}")
        rows.append((row_name(c.recipe), c.task, c.configurations, *best, *placed(c.paper), *placed(c.own)))
    table = markdown_table("llrlrrrrrrrr", head, rows)
    return f"# Hyper-parameters chosen by the paper's rule\n\n{SELECTION}\n\n{table}\n"
