"""The command `demo`: what it says when it is done, and what can be done next."""

from cli.commanding import run


def test_the_demo_ends_with_what_to_see_and_how_to_go_on(tmp_path, capsys):
    out = tmp_path / "demo"
    flags = ["--task", "DeepSea-3", "--episodes", "40", "--seeds", "1", "--out", out]
    code, printed = run(capsys, "demo", *flags)
    assert code == 0
    assert "derl train DeepSea-3 --recipe dea2c-count --explorer-reward intrinsic --protocol.episodes 10000" in printed
    # Said only where it is true.
    assert "so easy" not in printed
    last = printed.splitlines()[-2:]
    assert last[0] == f"runs: {out}/a2c-count, {out}/dea2c-count"
    assert last[1] == f"go on with: derl watch {out}/dea2c-count, derl plot {out}/dea2c-count"
    code, printed = run(capsys, "plot", out)
    assert (code, printed.count("\n")) == (2, 1)
    assert "it holds" in printed
    for name in ("a2c-count", "dea2c-count"):
        assert f"{out}/{name}" in printed
