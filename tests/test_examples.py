"""The examples learn what they say, and the documents say what is in the code."""

import ast
import dataclasses
import importlib.util
import re
import shlex
import subprocess
import sys
from collections import deque
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import derl
from derl.cli.main import COMMANDS
from derl.cli.train import parse, parse_vary
from derl.training.members import expand
from derl.training.recipes import BONUS_OF, recipe
from derl.training.seeds import seeds_named

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "README.md"])
OURS = [page for page in PAGES if page.name not in ("architecture.md", "performance.md")]


def run(name: str, *args: str) -> str:
    """What an example prints."""
    command = [sys.executable, str(EXAMPLES / name), *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def load(name: str) -> ModuleType:
    """An example as a module (its name is none that `import` takes)."""
    spec = importlib.util.spec_from_file_location("example_" + name.removesuffix(".py"), EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def cells(line: str) -> list[str]:
    """The entries of a line of a table, in Markdown or as polars draws it."""
    return [cell.strip() for cell in re.split("[|│┆]", line)[1:-1]]


class TestExamples:
    def test_train(self):
        printed = run("01_train.py")
        assert "greedy return 0.99 of 0.99" in printed
        assert re.search(r"one action for each of three states: \[[01] [01] [01]\]", printed)

    def test_own_environment(self):
        printed = run("02_own_environment.py")
        assert "greedy return 0.88 of 0.88 in 12 steps" in printed

    def test_own_bonus(self):
        printed = run("03_own_bonus.py")
        # Of 36 cells 21 can be reached, with two actions each.
        tried = re.search(r"state-action pairs tried by the first run: (\d+)", printed)
        assert tried is not None
        assert 21 <= int(tried.group(1)) <= 42
        assert "greedy return 0.99 of 0.99" in printed

    def test_own_agent(self):
        printed = run("04_own_agent.py")
        assert "greedy return of the exploiters: 0.99, 0.99" in printed

    def test_sensitivity(self):
        printed = run("05_sensitivity.py", "--episodes", "400")
        table = [cells(line) for line in printed.splitlines() if line.startswith("│")]
        assert table[0] == ["bonus.scale", "runs", "average", "maximum", "final"]
        assert [float(row[0]) for row in table[1:]] == [0.01, 0.1, 1.0, 10.0, 100.0]
        for _, runs, average, maximum, final in table[1:]:
            assert runs == "2"
            assert -0.01 <= float(average) <= float(maximum) <= 0.99
            assert float(final) <= float(maximum)

    def test_from_gymnasium(self):
        printed = run("07_from_gymnasium.py", "--steps", "30000")
        returns = re.search(r"greedy returns of the exploiters: (.*)", printed)
        assert returns is not None
        # Most seeds are there by now, some take longer.
        assert returns.group(1).split(", ").count("1.00") >= 2


class Corridor:
    """What the example needs of a gymnax environment: three steps right end it, five steps are the limit."""

    name, num_actions = "Corridor", 2

    def observation_space(self, params):
        return jnp.zeros((2,))

    def reset_env(self, key, params):
        return jnp.zeros(2), (jnp.asarray(0), jnp.asarray(0))

    def step_env(self, key, state, action, params):
        place, time = state[0] + action, state[1] + 1
        return jnp.stack([place, time]), (place, time), params.pay * action, place >= 3, {}

    def is_truncated(self, state, params):
        return state[1] >= params.max_steps_in_episode


def test_gymnax_environments_end_as_they_do_there():
    env = load("06_gymnax.py").Gymnax(Corridor(), SimpleNamespace(max_steps_in_episode=3, pay=0.5))
    assert (env.name, env.spec, env.max_episode_steps) == ("Corridor", derl.Spec(derl.Box((2,)), 2, True), 3)

    def play(actions):
        state, _ = env.reset(jax.random.key(0))
        seen = []
        for action in actions:
            state, answer = env.step(jax.random.key(0), state, jnp.asarray(action))
            ends = bool(answer.terminated), bool(answer.truncated)
            seen.append((answer.obs.tolist(), float(answer.reward), ends))
        return seen

    # The goal at the limit is the task's own end; the limit alone is not. Last observations are the true ones.
    assert play([1, 1, 1])[1:] == [([2.0, 2.0], 0.5, (False, False)), ([3.0, 3.0], 0.5, (True, False))]
    assert play([0, 1, 0])[-1] == ([1.0, 3.0], 0.0, (False, True))


GYMNASIUMS_LAKE = ["SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"]


def crossed(row: int, column: int, action: int) -> tuple[int, int]:
    """Gymnasium's `inc`: where a step that does not slip leads."""
    if action == 0:
        column = max(column - 1, 0)
    elif action == 1:
        row = min(row + 1, 7)
    elif action == 2:
        column = min(column + 1, 7)
    else:
        row = max(row - 1, 0)
    return row, column


@pytest.mark.parametrize("slippery", [False, True])
def test_frozen_lake_is_that_of_gymnasium(slippery):
    example = load("07_from_gymnasium.py")
    env = example.FrozenLake(slippery=slippery)
    keys = jax.random.split(jax.random.key(0), 60)
    step = jax.jit(jax.vmap(env.step, (0, None, None)))
    for row, column in [(0, 0), (0, 7), (2, 2), (7, 6), (7, 0), (4, 4)]:
        for action in range(4):
            _, answer = step(keys, example.LakeState(jnp.array([row, column]), jnp.asarray(0)), jnp.asarray(action))
            slips = [(action - 1) % 4, action, (action + 1) % 4] if slippery else [action]
            reached = {crossed(row, column, a) for a in slips}
            assert set(answer.obs.tolist()) == {8 * r + c for r, c in reached}
            for obs, reward, terminated in zip(answer.obs, answer.reward, answer.terminated, strict=True):
                tile = GYMNASIUMS_LAKE[int(obs) // 8][int(obs) % 8]
                assert (float(reward), bool(terminated)) == (float(tile == "G"), tile in "GH")
    derl.check_env(example.FrozenLake(slippery=slippery, limit=20))


def test_frozen_lake_is_cut_off_by_its_limit():
    example = load("07_from_gymnasium.py")
    env = example.FrozenLake(limit=3)
    state, _ = env.reset(jax.random.key(0))
    ends = []
    for _ in range(3):
        state, answer = env.step(jax.random.key(0), state, jnp.asarray(0))
        ends.append((bool(answer.terminated), bool(answer.truncated)))
    assert ends == [(False, False), (False, False), (False, True)]


def test_key_door_has_the_best_return_it_says():
    """By breadth-first search over its states."""
    env = load("02_own_environment.py").KeyDoor(4)
    key = jax.random.key(0)
    step = jax.jit(env.step)
    start, _ = env.reset(key)
    queue, seen = deque([(start, 0.0)]), set()
    while queue:
        state, total = queue.popleft()
        for action in range(env.spec.num_actions):
            following, answer = step(key, state, action)
            if answer.terminated:
                assert total + float(answer.reward) == pytest.approx(env.optimal_return)
                assert int(following.time) == 3 * (env.size - 1)
                return
            place = (*following.position.tolist(), bool(following.has_key))
            if place not in seen:
                seen.add(place)
                queue.append((following, total + float(answer.reward)))
    pytest.fail("the door cannot be reached")


def test_key_door_cuts_episodes_off_without_ending_the_task():
    env = load("02_own_environment.py").KeyDoor(3, limit=2)
    key = jax.random.key(0)
    state, _ = env.reset(key)
    state, first = env.step(key, state, 1)
    state, second = env.step(key, state, 1)
    assert (bool(first.truncated), bool(second.truncated)) == (False, True)
    assert not bool(second.terminated)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, anchor = target.partition("#")
        # Figures are generated, other sites are not ours.
        if target.startswith("http") or "/figures/" in f"/{path}":
            continue
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", text_of(other), flags=re.M)
            anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in anchors, target


def commands() -> list[tuple[str, str]]:
    """Every derl command in a code block, and where it is."""
    found = []
    for page in OURS:
        # Every block, so that the end of one is not taken for the beginning of another.
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", text_of(page), flags=re.S | re.M)
        for block in (body for language, body in blocks if language in ("", "sh", "bash", "console")):
            for line in block.replace("\\\n", " ").splitlines():
                command = line.removeprefix("$ ").partition(" #")[0].strip()
                # What needs a module of the reader's own is tested in tests/cli.
                if command.startswith("derl ") and not command.startswith("derl --import"):
                    found.append((named(page), command))
    return found


@pytest.mark.parametrize(("page", "command"), commands())
def test_commands_are_accepted(page, command):
    name, *args = shlex.split(command)[1:]
    assert name in COMMANDS
    if name != "train":
        module = importlib.import_module(f"derl.cli.{name}")
        # The actions of derl store are commands of their own.
        named = args[0] if name == "store" else name
        options = next(
            v for k, v in vars(module).items() if k.lower() in (named, f"{name}command") and dataclasses.is_dataclass(v)
        )
        known = {f.name.replace("_", "-") for f in dataclasses.fields(options)}
        assert {arg[2:] for arg in args if arg.startswith("--")} <= known
        return
    if "cuont" in command or "explorer.n_steps" in command or "exploiter.epsilon-start" in command:
        with pytest.raises(derl.DerlError):
            prepare(args)
    else:
        prepare(args)


def prepare(args: list[str]) -> None:
    """All that `derl train` does before it trains."""
    command, config = parse(args)
    expand(config, seeds_named(command.seeds), parse_vary(command.vary))


def read(text: str) -> object:
    """A value as a table shows it."""
    text = text.strip("`")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def tables() -> list[tuple[str, str, list[list[str]]]]:
    """The tables that have a note above them saying what they show."""
    found = []
    for page in OURS:
        for note, body in re.findall(r"<!-- (.*?) -->\n((?:\|.*\n?)+)", text_of(page)):
            # Others are made by a command.
            if note.startswith(("settings: ", "bonus: ")):
                found.append((named(page), note, [cells(line) for line in body.splitlines()]))
    return found


@pytest.mark.parametrize(("page", "note", "table"), tables(), ids=lambda x: x if isinstance(x, str) else "")
def test_tables_of_settings_are_those_of_the_code(page, note, table):
    header, rows = table[0], table[2:]
    kind, _, what = note.partition(": ")
    if kind == "bonus":
        for algorithm, *families in rows:
            for cell, bonus in zip(families, BONUS_OF[read(algorithm), what], strict=True):
                shown = [float(x) for x in re.findall(r"`([^`]*)`", cell)]
                assert shown == [bonus.learning_rate, bonus.forward_coef, bonus.inverse_coef]
        return
    seat, _, name = what.partition(" of ")
    if name:
        columns = {"DeepSea": recipe(name, "DeepSea-10"), "Hallway": recipe(name, "Hallway-10-10")}
        parts = {family: getattr(config, seat) for family, config in columns.items()}
        parts["default"] = type(parts["DeepSea"])()
    else:
        parts = {"default": getattr(derl, what)()}
    assert set(header) - {"setting", "meaning"} == set(parts)
    for row in rows:
        values = dict(zip(header, row, strict=True))
        setting = read(values["setting"])
        for column, part in parts.items():
            assert read(values[column]) == getattr(part, str(setting)), (setting, column)
    # A table of more than a few settings leaves none out.
    shown = {read(row[0]) for row in rows}
    every = {f.name for f in dataclasses.fields(parts["default"])}
    assert shown == every or len(shown) <= 3, every - shown


def test_what_a_command_writes_into_documents_was_written():
    """Pages are edited and results come: in between the command has to be run."""
    blocks = [
        (named(page), name, body.strip())
        for page in OURS
        for name, body in re.findall(r"<!-- (\w+): python docs/build\.py -->\n(.*?)<!-- /\1 -->", text_of(page), re.S)
    ]
    assert len(blocks) > 10
    assert [(page, name) for page, name, body in blocks if not body] == []


def test_code_in_the_documents_is_that_of_the_examples():
    """The classes shown in docs/extending.md are those that run."""
    sources = "\n".join(text_of(path) for path in EXAMPLES.glob("*.py"))
    plain = re.sub(r"^ +", "", sources, flags=re.M)
    blocks = re.findall(r"<!-- from examples -->\n```python\n(.*?)```", text_of(ROOT / "docs/extending.md"), flags=re.S)
    assert len(blocks) >= 5
    for block in blocks:
        assert re.sub(r"^ +", "", block, flags=re.M).strip() in plain
