"""Errors of the command line that say how to go on."""

import pytest

from cli.commanding import refused


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("keydoor.py", "write --import keydoor\n"),
        ("./keydoor", "write --import keydoor\n"),
        (".keydoor", "write --import keydoor\n"),
        ("own/keydoor.py", "write --import keydoor in the folder own\n"),
        ("..", "write --import MODULE\n"),
        ("", "write --import MODULE\n"),
    ],
)
def test_a_module_is_imported_by_its_name_and_not_by_its_path(given, meant, tmp_path, monkeypatch, capsys):
    (tmp_path / "keydoor.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert refused(capsys, "--import", given, "list").endswith(meant)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--explorer.gamma", "1.5"], "explorer.gamma must be between 0 and 1, not 1.5"),
        (["--exploiter.gamma", "1.5"], "exploiter.gamma must be between 0 and 1, not 1.5"),
        (["--bonus.scale", "-1"], "bonus.scale must be at least 0, not -1.0"),
        (["--bonus.scale", "nan"], "bonus.scale must be at least 0, not nan"),
        (["--explorer.entropy-coef", "inf"], "explorer.entropy_coef must be a finite number, not inf"),
        (["--bonus-kind", "none", "--bonus.scale", "2"], "bonus.scale changes nothing as there is no bonus"),
        (["--num-envs", "0"], "error: num_envs must be at least 1, not 0"),
        (["--decoupling.period", "0"], "decoupling.period must be at least 1, not 0"),
        (["--protocol.episodes", "0"], "protocol.episodes must be at least 1, not 0"),
        (["--protocol.episodes", "10000000", "--protocol.evaluate-every", "1"], "protocol: more than 1,000,000"),
        (["--exploiter-kind", "none", "--decoupling.period", "2"], "decoupling.period is how often"),
    ],
)
def test_a_number_out_of_range_is_told_by_the_name_of_its_flag(flags, said, capsys):
    assert said in refused(capsys, "train", "DeepSea-5", "--recipe", "dea2c-count", *flags)
