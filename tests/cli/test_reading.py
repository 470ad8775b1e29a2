"""Values of flags as people write them, and what they are told if they cannot be read."""

import pytest

from cli.commanding import refused
from derl.cli.main import main
from derl.cli.train import notes, parse
from derl.core.errors import DerlError

TRAIN = ["DeepSea-5", "--recipe", "dea2c-count"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--protocol.episodes", "1.5"], "--protocol.episodes takes a whole number such as 100000, not 1.5"),
        (["--protocol.episodes", "nan"], "--protocol.episodes takes a whole number such as 100000, not nan"),
        (["--protocol.episodes", "inf"], "--protocol.episodes takes a whole number such as 100000, not inf"),
        (["--protocol.steps", "1e-1"], "--protocol.steps takes a whole number such as 100000, not 1e-1"),
        (["--cores", "two"], "--cores takes a whole number such as 100000, not two"),
        (["--bonus.scale", "abc"], "--bonus.scale takes a number, not abc"),
        (["--explorer.hidden", "64", "x"], "--explorer.hidden takes whole numbers, not 64 x"),
        (["--seeds"], "--seeds needs a value"),
        (["--explorer.hidden"], "--explorer.hidden is empty; give it a value, or leave it out"),
        (["--explorer.hidden", "--seeds", "2"], "--explorer.hidden is empty"),
        (["--vary"], "--vary is empty"),
    ],
)
def test_what_cannot_be_read_is_told_in_plain_words(flags, said, capsys):
    assert f"error: {said}" in refused(capsys, "train", *TRAIN, *flags)


@pytest.mark.parametrize("command", ["plot", "watch", "evaluate", "resume"])
def test_a_command_without_its_run_says_what_it_needs(command, capsys):
    said = f"derl {command} needs the folder of a run, for instance: derl {command} runs/first"
    assert said in refused(capsys, command)


def test_whole_numbers_may_be_written_as_powers_of_ten():
    config = parse([*TRAIN, "--protocol.episodes", "1e5", "--protocol.evaluate-every=2.5e3", "--num-envs", "2.0"])[1]
    assert (config.protocol.episodes, config.protocol.evaluate_every, config.num_envs) == (100_000, 2_500, 2)
    assert {type(n) for n in (config.protocol.episodes, config.num_envs)} == {int}
    # What may also be left out.
    assert parse([*TRAIN, "--protocol.steps", "1e4", "--protocol.evaluate-every", "1e3"])[1].protocol.steps == 10_000
    assert parse([*TRAIN, "--explorer.hidden", "8", "1e1"])[1].explorer.hidden == (8, 10)
    # A number without a fraction stays one with it where fractions are meant.
    assert parse([*TRAIN, "--bonus.scale", "2"])[1].bonus.scale == 2.0
    assert parse([*TRAIN, "--bonus.scale", "1e-3"])[1].bonus.scale == 0.001


def test_a_training_shorter_than_between_evaluations_is_told():
    config = parse([*TRAIN, "--protocol.episodes", "10", "--protocol.evaluate-every", "100"])[1]
    [note] = notes(config, {})
    assert note.startswith("there will be one evaluation, at the end")
    assert "100 episodes, and training ends after 10" in note
    config = parse([*TRAIN, "--protocol.steps", "10", "--protocol.evaluate-every", "100"])[1]
    assert "100 steps, and training ends after 10" in notes(config, {})[0]
    assert notes(parse(TRAIN)[1], {}) == []


@pytest.mark.parametrize("colours", [False, True])
def test_usage_has_no_gaps_and_help_no_ragged_lines(colours, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: colours, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["plot", "--help"])
    usage = capsys.readouterr().out.split("\n\n")[0]
    assert "  " not in usage.replace("\n", "")
    with pytest.raises(SystemExit):
        main(["train", *TRAIN, "--help"])
    printed = capsys.readouterr().out
    # As in the class, where the line is broken after "in the".
    assert colours or "those of all evaluations so far, as in the paper's code." in printed


def test_a_misspelt_flag_is_still_told():
    with pytest.raises(DerlError, match=r"did you mean --bonus\.scale"):
        parse([*TRAIN, "--bonus.scal", "1"])
