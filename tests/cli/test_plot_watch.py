"""The commands `plot` and `watch`."""

import dataclasses
import io
import re

import numpy as np
import pytest
from analysis.trained import tiny_run
from PIL import Image
from rich.console import Console

from derl.analysis.figures.animation import common_palette, moments, play, with_palette
from derl.cli import plot, watch
from derl.cli.plot import Plot
from derl.cli.watch import Watch
from derl.core.errors import DerlError
from derl.envs import DeepSea, Environment


@pytest.fixture(scope="module")
def run():
    folder = tiny_run().folder
    assert folder is not None
    return folder.path


@pytest.fixture
def loaded(monkeypatch):
    """Reading the folder again for each test would take most of the time."""
    monkeypatch.setattr(plot, "load", lambda path: tiny_run())
    monkeypatch.setattr(watch, "load", lambda path: tiny_run())


def screen(terminal: bool, width: int = 100) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, highlight=False, color_system=None)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_plot_writes_and_names_its_figures(run, tmp_path, capsys):
    plot.main([str(run), "--out", str(tmp_path / "figures"), "--number", "1", "--episodes", "64"])
    names = [f"{stem}.{ending}" for stem in ("curves", "decoupling") for ending in ("png", "pdf")]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(names)
    assert [line.split("/")[-1] for line in capsys.readouterr().out.split()] == names


def test_plot_puts_figures_beside_the_results(run, loaded):
    paths = Plot(run, episodes=64).execute()
    assert {path.parent for path in paths} == {run}


def test_a_folder_without_a_run_is_told(tmp_path):
    for command in (Plot(tmp_path), Watch(tmp_path)):
        with pytest.raises(DerlError, match="not a run folder"):
            command.execute()


def test_mistakes_are_told(run, loaded, tmp_path):
    with pytest.raises(DerlError, match="no run 7"):
        Plot(run, number=7).execute()
    with pytest.raises(DerlError, match="no run 7"):
        Watch(run, number=7).execute()
    with pytest.raises(DerlError, match="--episodes"):
        Watch(run, episodes=0).execute()
    with pytest.raises(DerlError, match="--fps"):
        Watch(run, fps=0).execute()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DerlError, match="cannot write"):
        Plot(run, out=tmp_path / "file" / "below").execute()
    with pytest.raises(DerlError, match="cannot write"):
        Watch(run, gif=tmp_path / "file" / "watch.gif").execute(screen(False))


def test_the_gif_has_a_frame_for_each_state(run, loaded, tmp_path):
    path = Watch(run, gif=tmp_path / "deep" / "watch.gif", episodes=2, fps=10).execute(screen(False))
    with Image.open(path) as image:
        # Five steps have six states; two pictures of 5 x 24 pixels, enlarged, beside each other.
        assert image.n_frames == 2 * 6  # pyright: ignore[reportAttributeAccessIssue]
        assert image.width > 2 * 240
        assert image.height > 2 * 6 * 24
        image.seek(5)
        assert image.info["duration"] == 1500
        image.seek(1)
        assert image.info["duration"] == 100
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_without_a_terminal_only_the_end_is_printed(run, loaded):
    console = screen(False)
    assert Watch(run, no_gif=True).execute(console) is None
    text = printed(console)
    # Both policies end on the sea floor, the line of equals signs, and the start of the episode is not shown.
    assert len(re.findall(r"=*A=*", text)) == 2
    assert text.count("on the sea floor") == 2
    assert "row 0" not in text
    for name in ("Explorer", "Exploiter"):
        assert re.search(rf"{name}: return [−0-9.]+ in 5 steps", text)
    assert "GIF" not in text


def test_a_terminal_shows_every_step(run, loaded):
    console = screen(True)
    Watch(run, seat="exploiter", fps=100, no_gif=True, sampled=True).execute(console)
    text = printed(console)
    assert "Explorer" not in text
    assert all(f"step {i}, " in text for i in range(6))
    assert all(f"row {i}, " in text for i in range(5))


def test_narrow_terminals_stack_the_policies(run, loaded):
    wide, narrow = screen(False, 100), screen(False, 50)
    for console in (wide, narrow):
        Watch(run, no_gif=True).execute(console)
    assert re.search("Explorer.*Exploiter", printed(wide).splitlines()[0])
    assert not re.search("Explorer.*Exploiter", printed(narrow).splitlines()[0])


def test_the_command_line(run, tmp_path, capsys):
    gif = tmp_path / "a.gif"
    watch.main([str(run), "--seat", "explorer", "--gif", str(gif), "--sampled", "--seed", "3"])
    assert gif.exists()
    assert "Explorer" in capsys.readouterr().out


def test_the_gif_goes_beside_the_results(run, loaded):
    Watch(run, no_gif=True).execute(screen(False))
    assert not (run / "watch.gif").exists()
    assert Watch(run).execute(screen(False)) == run / "watch.gif"
    assert (run / "watch.gif").exists()


@pytest.mark.parametrize("name", ["", "film", "film.png"])
def test_a_gif_has_the_name_of_a_gif(name, run, loaded, tmp_path):
    """A folder, or a name without an ending, was a traceback; film.png was no GIF."""
    with pytest.raises(DerlError, match=r"must end in \.gif"):
        Watch(run, gif=tmp_path / name).execute(screen(False))
    assert not list(tmp_path.iterdir())


def test_an_environment_that_does_not_draw_itself_has_no_gif(run, loaded, monkeypatch, tmp_path):
    monkeypatch.setattr(DeepSea, "render_rgb", Environment.render_rgb)
    console = screen(False)
    assert Watch(run, gif=tmp_path / "watch.gif").execute(console) is None
    assert "does not draw itself" in printed(console)
    assert not list(tmp_path.iterdir())


def test_a_baseline_has_only_an_explorer(run):
    result = tiny_run()
    baseline = dataclasses.replace(result, config=dataclasses.replace(result.config, exploiter=None))
    assert Watch(run).seats(baseline) == ["explorer"]
    assert Watch(run).seats(result) == ["explorer", "exploiter"]
    with pytest.raises(DerlError, match="has no exploiter"):
        Watch(run, seat="exploiter").seats(baseline)


def test_episodes_go_from_the_first_state_to_the_last():
    [episode, other] = play(tiny_run(), 0, "exploiter", episodes=2)
    assert [shot.step for shot in episode] == list(range(6))
    assert [int(shot.state.row) for shot in episode] == list(range(6))
    assert episode[0].action is None
    assert episode[-1].total == pytest.approx(float(tiny_run().policy(0).play().total))
    # Greedy episodes of a deterministic task are alike.
    assert [shot.action for shot in episode] == [shot.action for shot in other]
    assert episode[0].describe() == "step 0, start, return 0.00"


def test_whoever_is_done_waits_for_the_other():
    [shots] = play(tiny_run(), 0, "explorer")
    together = moments({"explorer": shots[:2], "exploiter": shots})
    assert len(together) == 6
    assert [moment["explorer"].step for moment in together] == [0, 1, 1, 1, 1, 1]


def test_the_palette_keeps_frequent_colours_exactly():
    rng = np.random.default_rng(0)
    pixels = np.full((40, 40, 3), 255, np.uint8)
    pixels[:20] = (1, 2, 3)
    pixels[30:] = rng.integers(0, 256, (10, 40, 3))
    frame = Image.fromarray(pixels)
    palette = common_palette([frame])
    assert palette.shape == (256, 3)
    back = np.asarray(with_palette(frame, palette).convert("RGB"))
    np.testing.assert_array_equal(back[:30], pixels[:30])


def test_what_cannot_be_written_is_told_before_anything_is_played(run, loaded, monkeypatch, tmp_path):
    monkeypatch.setattr("derl.experiments.machine.os.access", lambda *args: False)
    monkeypatch.setattr(watch, "play", lambda *args, **kwargs: pytest.fail("played"))
    monkeypatch.setattr(plot, "plot_curves", lambda *args, **kwargs: pytest.fail("drawn"))
    with pytest.raises(
        DerlError, match=f"cannot write in {run}; choose another folder with --gif FILE, or use --no-gif"
    ):
        Watch(run).execute(screen(False))
    for command in (Plot(run), Plot(run, out=tmp_path / "new")):
        with pytest.raises(DerlError, match=r"cannot write in .*; choose another folder with --out"):
            command.execute()


def test_the_folder_of_a_gif_is_made_as_that_of_figures_is(run, loaded, tmp_path):
    gif = tmp_path / "new" / "deeper" / "a.gif"
    assert Watch(run, gif=gif).execute(screen(False)) == gif
    assert gif.exists()


@pytest.mark.parametrize("width", [100, 30])
def test_a_state_that_does_not_draw_itself_is_shown_whole(width, run, loaded, monkeypatch):
    monkeypatch.setattr(DeepSea, "render_text", Environment.render_text)
    console = screen(False, width)
    Watch(run, no_gif=True).execute(console)
    lines = printed(console).splitlines()
    assert all(len(line) <= width for line in lines if line.startswith(("│", "╭")))
    assert re.search(r"│ row: 5 ", printed(console))
    assert "…" not in printed(console)


def test_a_line_longer_than_the_terminal_goes_on_in_the_next(run, loaded, monkeypatch):
    monkeypatch.setattr(DeepSea, "render_text", lambda env, state: "z" * 100 + "q")
    console = screen(False, 40)
    Watch(run, seat="explorer", no_gif=True).execute(console)
    assert (printed(console).count("z"), printed(console).count("q")) == (100, 1)
