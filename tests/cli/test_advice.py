"""Errors of the command line that say how to go on."""

import pytest

from derl.cli.main import main


def refused(capsys, *args: str) -> str:
    """What a command says that cannot be done: one line."""
    assert main([str(arg) for arg in args]) == 2
    said = capsys.readouterr().err
    assert said.startswith("derl: error: ")
    assert said.count("\n") == 1
    return said


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
