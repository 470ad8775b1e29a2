"""Episodes of a run's policies step by step, and a GIF that shows them side by side."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw, ImageFont

from derl.analysis.figures.style import BLUE, INK, VERMILLION
from derl.analysis.measures.numbers import signed
from derl.analysis.runs.result import Result
from derl.core.errors import require
from derl.core.files import writing
from derl.envs.base import AnyEnvironment
from derl.training.evaluation import Seat, policy_of

COLOURS: dict[Seat, str] = {"exploiter": BLUE, "explorer": VERMILLION}
"""The same as in the learning curves."""
MARGIN, CAPTION = 16, 48
"""Pixels around pictures, and above each for its caption."""
SMALLEST_WIDTH = 240
"""Small pictures are enlarged to about this many pixels."""
LAST_FRAME_SECONDS = 1.5


class Shot(NamedTuple):
    """A moment of an episode."""

    state: Any
    """The environment's state."""
    step: int
    """Steps taken so far."""
    action: int | None
    """The one that led here; None at the start."""
    total: float
    """The reward so far."""

    def describe(self) -> str:
        """One line about the moment."""
        action = "start" if self.action is None else f"action {self.action}"
        return f"step {self.step}, {action}, return {signed(self.total)}"


Track = Mapping[Seat, Sequence[Shot]]
"""One episode of each policy."""


def play(
    result: Result, run: int, seat: Seat, *, episodes: int = 1, seed: int = 0, greedy: bool = True
) -> list[list[Shot]]:
    """Episodes of a policy, each from its first state to its last (which `Policy.play` leaves out)."""
    policy = result.policy(run, seat)
    env = policy.env
    act = policy_of(policy.algorithm, policy.state, jnp.asarray(result.clock), seat, greedy)

    @jax.jit
    def step(key, state, obs):
        act_key, step_key = jax.random.split(key)
        action = act(act_key, obs)
        state, answer = env.step(step_key, state, action)
        return state, answer.obs, action, answer.reward, answer.terminated | answer.truncated

    def episode(key) -> list[Shot]:
        state, obs = env.reset(jax.random.fold_in(key, 0))
        shots, total, over = [Shot(state, 0, None, 0.0)], 0.0, False
        while not over:
            state, obs, action, reward, over = step(jax.random.fold_in(key, len(shots)), state, obs)
            total += float(reward)
            shots.append(Shot(state, len(shots), int(action), total))
        return shots

    require(episodes >= 1, f"there must be at least 1 episode, not {episodes}")
    return [episode(jax.random.fold_in(jax.random.key(seed), i)) for i in range(episodes)]


def tracks_of(episodes: Mapping[Seat, Sequence[Sequence[Shot]]]) -> list[Track]:
    """The policies' episodes as pairs: the first of each, the second of each, and so on."""
    count = min(len(played) for played in episodes.values())
    return [{seat: played[i] for seat, played in episodes.items()} for i in range(count)]


def moments(track: Track) -> list[dict[Seat, Shot]]:
    """What to show at each time: whoever has finished waits for the others."""
    length = max(len(shots) for shots in track.values())
    return [{seat: shots[min(i, len(shots) - 1)] for seat, shots in track.items()} for i in range(length)]


def title(seat: Seat, alone: bool) -> str:
    """What to call a policy."""
    return "Policy" if alone else seat.capitalize()


def draw_moment(env: AnyEnvironment, moment: Mapping[Seat, Shot], alone: bool) -> Image.Image:
    """The policies' pictures with captions: beside each other, or one above the other if they are wide."""
    pictures = [enlarge(env.render_rgb(shot.state)) for shot in moment.values()]
    width, height = pictures[0].size
    right, down = (0, 1) if width > 1.6 * height else (1, 0)
    across, along = width + MARGIN, height + CAPTION + MARGIN
    last = len(pictures) - 1
    size = MARGIN + across + right * last * across, along + down * last * along
    canvas = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(canvas)
    for i, (seat, shot) in enumerate(moment.items()):
        x, y = MARGIN + right * i * across, down * i * along
        draw.text((x, y + 5), title(seat, alone), fill=COLOURS[seat], font=font(16))
        draw.text((x, y + 27), shot.describe(), fill=INK, font=font(12))
        canvas.paste(pictures[i], (x, y + CAPTION))
    return canvas


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """The figures' font, which every installation of matplotlib brings along; Pillow's own lacks the minus sign."""
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)


def enlarge(pixels: np.ndarray) -> Image.Image:
    """A picture at a whole multiple of its size, so that its cells stay sharp."""
    factor = max(1, round(SMALLEST_WIDTH / pixels.shape[1]))
    return Image.fromarray(pixels.repeat(factor, axis=0).repeat(factor, axis=1))


def check_gif(path: Path) -> None:
    """Raise if that is no name for a GIF."""
    require(path.suffix.lower() == ".gif", f"the name of a GIF must end in .gif, unlike {path}")


def write_gif(
    path: Path, env: AnyEnvironment, tracks: Sequence[Track], *, fps: float = 4.0, alone: bool = False
) -> Path:
    """All episodes as one endless GIF that pauses at the end of each."""
    require(fps > 0, f"frames per second must be positive, not {fps}")
    check_gif(path)
    frames, durations = [], []
    for track in tracks:
        shown = [draw_moment(env, moment, alone) for moment in moments(track)]
        frames += shown
        durations += [1000 / fps] * (len(shown) - 1) + [max(1000 / fps, 1000 * LAST_FRAME_SECONDS)]
    # The same colours in all frames: palettes of their own would flicker.
    palette = common_palette(frames)
    frames = [with_palette(frame, palette) for frame in frames]
    with writing(path):
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0)
    return path


def common_palette(frames: Sequence[Image.Image], samples: int = 12) -> UInt8[np.ndarray, "colours 3"]:
    """The most frequent colours of several frames (not of the first alone: some come up only late)."""
    chosen = [frames[i] for i in np.unique(np.linspace(0, len(frames) - 1, samples).astype(int))]
    codes, counts = np.unique(np.concatenate([_codes(frame).ravel() for frame in chosen]), return_counts=True)
    return _colours(codes[np.argsort(-counts, kind="stable")][:256])


def with_palette(frame: Image.Image, palette: UInt8[np.ndarray, "colours 3"]) -> Image.Image:
    """A frame in the colours of a palette. Pillow's own search is approximate and would tint what should be white."""
    codes, where = np.unique(_codes(frame), return_inverse=True)
    distance = _colours(codes)[:, None].astype(int) - palette[None].astype(int)
    nearest = (distance**2).sum(-1).argmin(1).astype(np.uint8)
    image = Image.fromarray(nearest[where].reshape(frame.height, frame.width))
    image.putpalette(palette.tobytes())
    return image


def _codes(frame: Image.Image) -> np.ndarray:
    """Each pixel's colour as one number."""
    return np.asarray(frame).astype(np.int32) @ np.array([65536, 256, 1], np.int32)


def _colours(codes: np.ndarray) -> UInt8[np.ndarray, "colours 3"]:
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1).astype(np.uint8)
