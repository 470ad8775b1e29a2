"""Pictures of grids: coloured cells, an agent as a disc, and bars that fill up."""

import numpy as np
from jaxtyping import UInt8

Picture = UInt8[np.ndarray, "height width 3"]
Colour = tuple[int, int, int]

WATER: Colour = (222, 235, 247)
SHADE: Colour = (240, 241, 243)
SAND: Colour = (233, 219, 191)
GOLD: Colour = (245, 190, 65)
AGENT: Colour = (31, 78, 140)
GREEN: Colour = (86, 160, 110)
LINE: Colour = (255, 255, 255)

LARGEST_CELL, SMALLEST_CELL = 24, 4
LONGEST_SIDE = 1600
"""Pixels. Large grids get smaller cells, so that a picture of the largest one still fits into memory."""


def cell_pixels(rows: int, columns: int) -> int:
    """The side of one cell in a picture of `rows` times `columns` cells."""
    return int(np.clip(LONGEST_SIDE // max(rows, columns), SMALLEST_CELL, LARGEST_CELL))


def grid(colours: UInt8[np.ndarray, "rows columns 3"]) -> Picture:
    """One square per entry of `colours`, with a thin line between neighbours."""
    side = cell_pixels(*colours.shape[:2])
    picture = colours.repeat(side, axis=0).repeat(side, axis=1)
    picture[side - 1 :: side] = LINE
    picture[:, side - 1 :: side] = LINE
    return picture


def add_disc(picture: Picture, side: int, row: int, column: int, colour: Colour = AGENT) -> None:
    """Paint a disc with a smooth rim into one cell of a picture whose cells have `side` pixels."""
    middle, radius = (side - 2) / 2, 0.36 * side
    offset = np.arange(side) - middle
    distance = np.hypot(offset[:, None], offset[None, :])
    # How much of each pixel the disc covers, approximated by its centre's distance to the rim.
    cover = np.clip(radius + 0.5 - distance, 0, 1)[..., None]
    cell = picture[row * side : (row + 1) * side, column * side : (column + 1) * side]
    cell[:] = np.round(cover * np.asarray(colour) + (1 - cover) * cell).astype(np.uint8)


def bar(width: int, height: int, fraction: float, colour: Colour) -> Picture:
    """A horizontal bar, of which `fraction` is filled from the left, with a line above it."""
    picture = np.full((height, width, 3), SHADE, np.uint8)
    picture[:, : round(width * min(max(fraction, 0.0), 1.0))] = colour
    picture[:1] = LINE
    return picture
