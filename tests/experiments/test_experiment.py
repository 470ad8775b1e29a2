"""Experiments as data: files, the paper's own, and smaller versions of both."""

from datetime import date

import pytest

from derl.bonuses import RND
from derl.core.errors import DerlError
from derl.envs.registry import PAPER_TASKS
from derl.experiments.builtin import EXPERIMENTS, experiment, find_experiment, quick
from derl.experiments.cases import Case, normal_form
from derl.experiments.experiment import Experiment, Part, from_data, product, read_experiment
from derl.experiments.grids import GRIDS, best_configuration, grid_cases, papers_choice, unlike_the_recipe
from derl.experiments.identity import config_key
from derl.experiments.jobs import entry_of
from derl.experiments.paper import cells
from derl.experiments.planner import members_of
from derl.experiments.shortening import shortened
from derl.training.recipes import TABLE_1, recipe

SPEC = {"tasks": ["DeepSea-5"], "recipes": ["a2c-count"], "seeds": 2}

GRID = ("bonus.scale", "bonus.increment", "explorer.entropy_coef", "explorer.value_coef")


def test_a_file_is_a_product(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'tasks = ["DeepSea-5", "deepsea-6"]\nrecipes = ["a2c-count", "dea2c-count"]\nseeds = [3, 4]\n'
        "[vary]\nbonus.scale = [0.1, 10]\n[set]\nexplorer_reward = 'intrinsic'\n[protocol]\nepisodes = 500\n"
    )
    mine = read_experiment(path)
    assert mine.name == "mine"
    assert len(mine.cases) == 8
    assert len(mine.members()) == 16
    case = mine.cases[0]
    assert case.config().bonus.scale == 0.1
    assert case.config().explorer_reward == "intrinsic"
    assert case.config().protocol.episodes == 500
    assert {c.task for c in mine.cases} == {"DeepSea-5", "DeepSea-6"}


def test_parts_have_seeds_and_values_of_their_own():
    data = {**SPEC, "parts": [{"vary": {"bonus.scale": [1, 2]}}, {"recipes": ["a2c"], "seeds": [9]}]}
    assert from_data(data, "x").members() == [
        (Case.of("a2c-count", "DeepSea-5", {"bonus.scale": 1}), 0),
        (Case.of("a2c-count", "DeepSea-5", {"bonus.scale": 1}), 1),
        (Case.of("a2c-count", "DeepSea-5", {"bonus.scale": 2}), 0),
        (Case.of("a2c-count", "DeepSea-5", {"bonus.scale": 2}), 1),
        (Case.of("a2c", "DeepSea-5"), 9),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recipes": ["a2c-cuont"]}, "unknown recipe 'a2c-cuont'; did you mean a2c-count"),
        ({"recipes": []}, "name at least one of the recipes"),
        ({"tasks": ["DeepSee-5"]}, "DeepSea-5"),
        ({"tasks": ["DeepSea-0"]}, "DeepSea"),
        ({"vary": {"bonus.scale": []}}, "bonus.scale needs a list of values"),
        ({"vary": {"bonus.scale": "abc"}}, "bonus.scale needs a list of values"),
        ({"vary": {"bonus.skale": [1.0]}}, "did you mean bonus.scale"),
        ({"set": {"explorer.learning_rate": -1.0}}, "a2c-count on DeepSea-5.*must be at least 0, not -1.0"),
        ({"set": {"explorer_reward": "none"}}, "unknown explorer_reward"),
        ({"protocol": {"episodes": 0}}, "episodes must be at least 1"),
        ({"set": {"exploiter": "dqn"}}, "exploiter is a group of settings; .* exploiter_kind"),
        ({"set": {"bonus": "rnd"}}, "bonus is a group of settings; .* bonus_kind"),
        ({"seeds": 0}, "at least one seed is needed, not 0"),
        ({"seeds": []}, "no seeds"),
        ({"seeds": [1, 1]}, "seed 1 is listed twice"),
        ({"tasks": ["DeepSea-5", "DeepSea-5"]}, "tasks: DeepSea-5 is listed twice"),
        ({"recipes": ["a2c", "a2c"]}, "recipes: a2c is listed twice"),
        ({"vary": {"explorer.entropy_coef": [1, 1.0]}}, "vary: explorer.entropy_coef=1 is listed twice"),
        ({"name": ""}, "name is a text"),
        ({"name": 3}, "name is a text, such as .*, not 3"),
        ({"title": 3}, "title is a text, not 3"),
        ({"seeds": [True]}, "whole number"),
        ({"set": {"env_options": 3}}, "env_options is a group of settings"),
        ({"set": {"bonus.scale": date(1979, 5, 27)}}, "bonus.scale takes a number, text"),
        ({"vary": {"bonus.scale": [date(1979, 5, 27), 1.0]}}, "bonus.scale takes a number, text"),
        ({"vary": {"explorer.hidden": [[[1]]]}}, "list of whole numbers"),
        ({"set": {"bonus.scale": True}}, "bonus.scale takes a number"),
        ({"set": {"bonus.scale": 10**400}}, "bonus.scale takes a number"),
        ({"vary": {"bonus.scale": [1.0, float("inf")]}}, "scale must be a finite number, not inf"),
        ({"vary": {"bonus.scale": [1.0]}, "set": {"bonus": {"scale": 2.0}}}, r"in \[set\] and in \[vary\]"),
        ({"vary": {"num-envs": [2]}, "set": {"num_envs": 2}}, r"in \[set\] and in \[vary\]"),
        ({"set": {"protocol.episodes": 9}, "protocol": {"episodes": 8}}, r"in \[set\] and in \[protocol\]"),
        ({"vary": {"protocol.episodes": [9]}, "protocol": {"episodes": 8}}, r"in \[vary\] and in \[protocol\]"),
        ({"vary": {"bonus.scale": [1.0], "bonus": {"scale": [2.0]}}}, r"bonus.scale is in \[vary\] twice"),
        ({"set": {"bonus": {"scale": 1.0}, "bonus.scale": 2.0}}, r"bonus.scale is in \[set\] twice"),
        ({"set": {"num-envs": 2, "num_envs": 4}}, r"num_envs is in \[set\] twice"),
        ({"protocol": {"evaluate-every": 2, "evaluate_every": 4}}, r"evaluate_every is in \[protocol\] twice"),
        (
            {"vary": {name: range(1, 200) for name in GRID}},
            r"1,568,239,201 combinations, .* 100,000 can be: vary fewer",
        ),
        ({"vary": {"bonus.scale": [1.0, 2.0]}, "seeds": 600_000}, r"x: 1,200,000 runs, .*: take fewer seeds"),
        ({"vary": {"bonus.scale": range(10**30)}}, "more than 1,000,000 values"),
        ({"seeds": range(10**12)}, "more than 1,000,000 values"),
        ({"vary": {"explorer.n_steps": [5, 10**30]}}, r"rollouts of 4,0.* can be: set num_envs or"),
        ({"vary": {"num_envs": [10**9]}}, "rollouts of 5,000,000,000 steps, and at most 1,000,000,000 can be"),
        ({"recipes": ["dea2c-count"], "set": {"decoupling.period": 10**9}}, "set decoupling.period lower"),
        ({"seeds": [-1]}, "none negative"),
        ({"seeds": [4294967296]}, "from 0 to 4294967295, none negative; got 4294967296"),
        ({"seeds": 10**12}, "at most 1,000,000 seeds"),
        ({"seads": 3}, "did you mean seeds"),
        ({"parts": [{"reciples": []}]}, "known: protocol, recipes, "),
        ({"parts": [1]}, "list of tables"),
        ({"protocol": {"episodes": "abc"}}, "whole number"),
        ({"protocol": {"steps": "abc"}}, "steps takes a whole number"),
        ({"set": {"explorer.n_steps": 2.5}}, "whole number"),
        ({"set": {"normalise_rewards": "no"}}, "true or false"),
        ({"set": {"explorer": "ppo"}}, "group of settings"),
        ({"set": {"task": "Hallway-10-10"}}, "task is not a setting"),
        ({"seeds": True}, "seeds is a number"),
        ({"seeds": "1-x"}, "commas and ranges"),
    ],
)
def test_a_wrong_file_is_refused_before_any_work(change, message):
    with pytest.raises(DerlError, match=message):
        from_data({**SPEC, **change}, "x")


def test_seeds_may_be_ranges():
    members = from_data({**SPEC, "seeds": "3-5,9"}, "x").members()
    assert sorted({seed for _, seed in members}) == [3, 4, 5, 9]


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "x.toml").write_text("tasks = [")
    with pytest.raises(DerlError, match="not valid TOML"):
        read_experiment(tmp_path / "x.toml")
    with pytest.raises(DerlError, match="No such file"):
        read_experiment(tmp_path / "y.toml")


def test_a_file_may_begin_with_a_mark(tmp_path):
    """As some editors write it."""
    (tmp_path / "x.toml").write_text('tasks = ["DeepSea-5"]\nrecipes = ["a2c"]\n', encoding="utf-8-sig")
    assert read_experiment(tmp_path / "x.toml").cases == (Case.of("a2c", "DeepSea-5"),)


def test_grids_have_the_names_of_the_store():
    """Else a report looks for runs by names that they are not stored by."""
    cases = grid_cases(["DeepSea-20"])
    assert len(set(cases)) == len(cases) == 1082
    assert Case.of("a2c-count", "DeepSea-20") in cases
    for case in cases[::50]:
        assert normal_form(case.recipe, case.task, dict(case.changes)) == case


def test_every_published_number_has_a_case_in_a_built_in_experiment():
    known = {case for name in EXPERIMENTS if name != "grid-search" for case in experiment(name).cases}
    assert len(cells()) == 1684
    assert all(cell.case in known for cell in cells())


def test_the_papers_experiments_have_their_sizes():
    assert len(experiment("table-1").members()) == 18 * 11 * 5
    assert {c.task for c in experiment("table-1").cases} == set(PAPER_TASKS)
    assert len(experiment("lambda").cases) == 2 * 16 * 9
    assert len(experiment("decay").cases) == 2 * (7 * 7 + 9 * 9)
    pairs = [c for c in experiment("kl").cases if dict(c.changes).get("protocol.episodes")]
    assert len(pairs) == 2 * 2 * 25
    assert len(experiment("pure-exploration").members()) == 2 * 2 * 3


def test_cells_stand_for_what_their_tables_say():
    found = {(c.table, c.row, c.column): c for c in cells()}
    cell = found["tab:mean_returns", "DeA2C Count", "Hallway 10-10"]
    assert (cell.mean, cell.statistic, cell.case) == (0.84, "average", Case.of("dea2c-count", "Hallway-10-10"))
    cell = found["tab:decay_sensitivity_deep_deepsea_max", "A2C RND", "1e-08"]
    assert cell.statistic == "maximum"
    bonus = cell.case.config().bonus
    assert isinstance(bonus, RND)
    assert bonus.learning_rate == 1e-8
    row = "DeA2C Count ($\\alpha_\\beta=0.01, \\alpha_e=0.0001$, $r=\\lambda r^i$)"
    config = found["tab:hallway10_10_intrinsic_coef_mean_kl", row, "10.0"].case.config()
    assert (config.explorer_reward, config.bonus.scale, config.decoupling.alpha_explorer) == ("intrinsic", 10.0, 0.01)


def test_the_default_value_of_a_setting_is_the_recipe_itself():
    found = {(c.table, c.row, c.column): c.case for c in cells()}
    assert found["tab:deepsea_10_intrinsic_coef_mean", "A2C Count", "1.0"] == Case.of("a2c-count", "DeepSea-10")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_keeps_every_algorithm(name):
    whole, small = experiment(name), quick(experiment(name))
    assert {c.recipe for c in small.cases} == {c.recipe for c in whole.cases}
    assert len(small.members()) < len(whole.members())
    assert all(c.config().protocol.episodes == 2000 for c in small.cases)
    if name == "table-1":
        assert len(small.cases) == 25
    if name == "kl":
        # With and without the constraint the paper chose, both with and without extrinsic rewards.
        plain = [c.config() for c in small.cases if c.task == "DeepSea-10" and c.config().bonus.scale == 1]
        alphas = [(c.decoupling.alpha_explorer, c.decoupling.alpha_exploiter, c.explorer_reward) for c in plain]
        assert set(alphas) == {(a, a, reward) for a in (0.0, 0.1) for reward in ("both", "intrinsic")}
        # Three values of lambda and of decay, the same ones for all rows of the paper's tables.
        rows = {(c.table, c.row): set() for c in cells() if c.table.endswith("_kl")}
        for c in cells():
            if c.table.endswith("_kl") and shortened(c.case, 2000) in small.cases:
                rows[c.table, c.row].add(c.column)
        assert all(len(columns) == 3 for columns in rows.values())
        assert all(rows[table, row] == columns for (table, _), columns in rows.items() for t, row in rows if t == table)
        assert len(small.members()) < 100


def test_quick_shows_every_agent_on_both_tasks():
    small = quick(experiment("table-1"))
    on_hallway = {c.recipe for c in small.cases if c.task == "Hallway-10-10"}
    assert on_hallway == {"a2c", "a2c-count", "ppo", "ppo-count", "dea2c-count", "deppo-count", "dedqn-count"}
    assert {c.recipe for c in small.cases if c.task == "DeepSea-10"} == set(TABLE_1)


def test_a_file_cannot_pass_for_an_experiment_of_the_paper(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "table-1"\ntasks = ["DeepSea-5"]\nrecipes = ["a2c"]\n')
    with pytest.raises(DerlError, match=r"mine.toml: table-1 is the name of an experiment of the paper"):
        find_experiment(str(path))


@pytest.mark.parametrize("seeds", [[], [-1], [2**32], [0.5]])
def test_seeds_that_are_none_are_refused_wherever_they_come_from(seeds):
    whole = Experiment("x", (Part(product(["DeepSea-10"], ["a2c"]), (0,)),))
    with pytest.raises(DerlError, match="seed"):
        whole.narrowed(seeds=seeds)
    with pytest.raises(DerlError, match="seed"):
        Experiment("x", (Part(whole.cases, tuple(seeds)),)).check()


def test_what_a_run_is_called_does_not_change_what_it_is():
    assert config_key(Case.of("a2c-count", "DeepSea-10", {"bonus.scale": 1.0}).config()) == config_key(
        recipe("a2c-count", "DeepSea-10")
    )
    keys = {config_key(recipe(name, task)) for name in TABLE_1 for task in ("DeepSea-10", "Hallway-10-10")}
    assert len(keys) == 36


def test_every_grid_holds_the_papers_choice_and_the_recipes():
    for name, grid in GRIDS.items():
        for task in ("DeepSea-20", "Hallway-10-10"):
            assert papers_choice(name, task) in product([task], [name], vary=grid)
            config = recipe(name, task)
            for path, values in grid.items():
                assert any(config.with_value(path, value) == config for value in values), (name, task, path)


def test_recipes_have_what_the_paper_chose_except_where_its_code_has_not():
    """The differences are those that the published configurations have (and what does nothing in DeepSea)."""
    tasks = ("DeepSea-20", "Hallway-10-10")
    other = {(name, task): set(unlike_the_recipe(name, task)) for name in GRIDS for task in tasks}
    icm = {"bonus.forward_coef", "bonus.inverse_coef", "bonus.learning_rate"}
    normalised = {"normalise_observations", "normalise_rewards"}
    assert {key: paths for key, paths in other.items() if paths} == {
        ("a2c-count", "DeepSea-20"): normalised,
        ("ppo-count", "Hallway-10-10"): normalised,
        ("dea2c-icm", "DeepSea-20"): {"bonus.forward_coef"},
        ("dea2c-icm", "Hallway-10-10"): {"bonus.inverse_coef"},
        ("deppo-icm", "DeepSea-20"): {"bonus.inverse_coef", "bonus.learning_rate"},
        ("deppo-icm", "Hallway-10-10"): icm,
        ("dedqn-icm", "DeepSea-20"): {"bonus.forward_coef"},
        ("dedqn-icm", "Hallway-10-10"): icm,
    }
    count = {name: len(product(["DeepSea-20"], [name], vary=grid)) for name, grid in GRIDS.items()}
    assert count["a2c-count"] == 2 * 2 * 3 * 4 * 2 * 2
    assert count["dedqn-count"] == 3 * 2 * 3 * 2 * 2
    assert count["ppo-icm"] == 5 * 4 * 4


def test_the_selection_rule_takes_the_maximum_first():
    a, b, c = (Case.of("a2c", f"DeepSea-{n}") for n in (5, 6, 7))
    assert best_configuration({a: (0.99, 0.2), b: (0.98, 0.9)}) == a
    assert best_configuration({a: (0.991, 0.2), b: (0.989, 0.9), c: (0.9, 1.0)}) == b


def test_layer_sizes_can_be_varied():
    mine = from_data({**SPEC, "vary": {"explorer.hidden": [[8], [16, 8]]}}, "x")
    assert [case.config().explorer.hidden for case in mine.cases] == [(8,), (16, 8)]
    assert [case.setting for case in mine.cases] == ["explorer.hidden=8x", "explorer.hidden=16x8"]


def test_runs_are_entered_by_the_name_of_what_they_are():
    """Whoever asked for lambda = 1 first, it is the recipe as it is; of other kinds of parts nobody can tell."""

    def entered(recipe, **changes):
        (member,) = members_of([(Case.of(recipe, "DeepSea-10", changes), 0)])
        return entry_of(member).setting

    assert entered("a2c-count", **{"bonus.scale": 1.0, "explorer.gamma": 0.9}) == "explorer.gamma=0.9"
    assert entered("a2c-count", bonus_kind="icm", **{"bonus.scale": 1.0}) == "bonus.scale=1, bonus_kind=icm"


def test_a_task_is_the_same_however_it_is_written():
    assert config_key(recipe("a2c", "deepsea-10")) == config_key(recipe("a2c", "DeepSea-10"))
