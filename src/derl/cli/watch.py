"""`derl watch`: watch both policies of a run act, in the terminal and as a GIF."""

import dataclasses
import time
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from derl.analysis.figures.animation import COLOURS, Shot, Track, check_gif, moments, play, title, tracks_of, write_gif
from derl.analysis.measures.numbers import signed
from derl.analysis.runs.result import Result
from derl.api import load
from derl.cli.display import console, tell_failures
from derl.cli.flags import RunPath, parsed
from derl.core.errors import require
from derl.envs.base import AnyEnvironment, Environment
from derl.experiments.machine import check_output
from derl.training.cache import use_compilation_cache
from derl.training.evaluation import Seat

AGENT, GOAL = r"(?<![A-Za-z])A(?![A-Za-z])", r"(?<![A-Za-z])G(?![A-Za-z])"
"""Where the agent and the goal are in the environments' text."""


@dataclasses.dataclass(frozen=True)
class Watch:
    """Watch the exploitation and the exploration policy of a run act side by side."""

    run: RunPath
    """The run folder."""
    seat: Literal["both", "exploiter", "explorer"] = "both"
    """Whose policy to watch."""
    number: int = 0
    """Which of the folder's runs: its number in the results (see derl evaluate)."""
    episodes: int = 1
    """Episodes to play."""
    sampled: tyro.conf.FlagCreatePairsOff[bool] = False
    """Sample actions from the policies instead of taking the most valued one."""
    seed: int = 0
    """Decides the episodes' randomness."""
    fps: float = 4.0
    """Steps per second."""
    gif: Path | None = None
    """Where to write the GIF; by default watch.gif in the run folder. Its folder is made if there is none."""
    no_gif: tyro.conf.FlagCreatePairsOff[bool] = False
    """Write no GIF."""

    def execute(self, screen: Console = console) -> Path | None:
        """Play the episodes, show them on `screen`, and write the GIF."""
        require(self.episodes >= 1, f"--episodes must be at least 1, not {self.episodes}")
        require(0 <= self.seed < 2**31, f"--seed must be from 0 to {2**31 - 1}, not {self.seed}")
        require(0 < self.fps <= 100, f"--fps must be between 0 and 100, not {self.fps:g}")
        if self.gif is not None:
            # Before anything is played.
            check_gif(self.gif)
        use_compilation_cache()
        result = load(self.run)
        seats, env = self.seats(result), result.policy(self.number).env
        path = None if self.no_gif or not draws(env) else self.gif or self.run / "watch.gif"
        if path is not None:
            # Before the episodes are shown: they may take minutes.
            check_output(path.parent, "--gif FILE, or use --no-gif")
        played: dict[Seat, list[list[Shot]]] = {
            seat: play(result, self.number, seat, episodes=self.episodes, seed=self.seed, greedy=not self.sampled)
            for seat in seats
        }
        tracks, alone = tracks_of(played), result.config.exploiter is None
        show(env, tracks, screen, self.fps, alone)
        tell_failures(result, [self.number])
        if path is None:
            if not self.no_gif:
                why = f"{env.name} does not draw itself (Environment.render_rgb), so there is no GIF"
                screen.print(why, markup=False)
            return None
        path = write_gif(path, env, tracks, fps=self.fps, alone=alone)
        screen.print(f"GIF: {path}", soft_wrap=True, markup=False)
        return path

    def seats(self, result: Result) -> list[Seat]:
        """Who is to be watched: a baseline has only one policy."""
        if result.config.exploiter is None:
            require(self.seat != "exploiter", f"{result.config.recipe} has no exploiter; watch its explorer")
            return ["explorer"]
        return ["explorer", "exploiter"] if self.seat == "both" else [self.seat]


def draws(env: AnyEnvironment) -> bool:
    """Whether an environment can draw its states."""
    return type(env).render_rgb is not Environment.render_rgb


def show(env: AnyEnvironment, tracks: list[Track], screen: Console, fps: float, alone: bool) -> None:
    """Play episodes in the terminal; where there is none, print only how they end."""
    for number, track in enumerate(tracks):
        shown = moments(track)
        if screen.is_terminal:
            with Live(console=screen, auto_refresh=False) as live:
                for moment in shown:
                    live.update(frame(env, moment, screen.width, alone), refresh=True)
                    time.sleep(1 / fps)
        else:
            screen.print(frame(env, shown[-1], screen.width, alone))
        for seat, shots in track.items():
            which = f", episode {number + 1} of {len(tracks)}" if len(tracks) > 1 else ""
            end = shots[-1]
            screen.print(f"{title(seat, alone)}{which}: return {signed(end.total)} in {end.step} steps", soft_wrap=True)


def frame(env: AnyEnvironment, moment: dict[Seat, Shot], width: int, alone: bool) -> RenderableType:
    """The policies beside each other if the terminal is wide enough, else one above the other."""
    panels, needed = [], 0
    for seat, shot in moment.items():
        text = Text(env.render_text(shot.state), overflow="fold")
        text.highlight_regex(AGENT, "bold red")
        text.highlight_regex(GOAL, "bold yellow")
        caption = shot.describe()
        inner = max(text.cell_len if "\n" not in text.plain else max(map(len, text.plain.split("\n"))), len(caption))
        # A line that is too long goes on in the next one: cut off, its end would never be seen.
        whole = min(inner + 6, width)
        text.no_wrap = whole == inner + 6
        needed += whole
        heading = f"[bold {COLOURS[seat]}]{title(seat, alone)}[/]"
        panels.append(Panel(text, title=heading, subtitle=caption, width=whole, padding=(0, 1), border_style="dim"))
    if needed > width:
        return Group(*panels)
    grid = Table.grid(padding=(0, 1))
    grid.add_row(*panels)
    return grid


def main(args: list[str]) -> None:
    """Watch."""
    parsed(Watch, args, "derl watch").execute()
