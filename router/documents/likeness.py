"""What a page looks like, as 256 bits that stay the same when it is scaled or compressed anew.

The digest is pHash with more bits: the page in grey, scaled to 64 x 64, its discrete cosine
transform, and of the 16 x 16 lowest frequencies whether each is above their median (C. Zauner,
"Implementation and Benchmarking of Perceptual Image Hash Functions", 2010). Photographs of one
paper taken twice are two pictures; only one picture sent twice is found by this.
"""

from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

SIDE, KEPT = 64, 16
BITS = KEPT * KEPT
SAME = 10
"""Bits: two pictures that differ in no more are one picture, scaled or compressed anew."""
ALIKE = 40
"""Bits: two that differ in no more look like each other; printed forms that differ in a few
characters do, too."""
Nearness = Literal["same", "alike", "different"]


def likeness(picture: "Image.Image") -> str:
    """The digest of a picture, in hexadecimal: 64 characters for 256 bits."""
    from PIL import Image

    small = picture.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    grey = np.asarray(small, np.float64)
    waves = _cosines() @ grey @ _cosines().T
    # The first wave is how bright it is as a whole, which says nothing of what is on it.
    flat = waves.ravel()[1:]
    bits = np.concatenate(([False], flat > np.median(flat)))
    return np.packbits(bits).tobytes().hex()


@cache
def _cosines() -> NDArray[np.float64]:
    """The `KEPT` lowest rows of the cosine transform (DCT-II) of `SIDE` values."""
    frequencies, places = np.arange(KEPT)[:, None], np.arange(SIDE)[None, :]
    waves: NDArray[np.float64] = np.cos(np.pi * frequencies * (2 * places + 1) / (2 * SIDE))
    return waves


def likeness_distance(a: str, b: str) -> int:
    """In how many bits two digests differ: 0 for one picture, about 128 for two that have nothing
    in common; 256 where one of them is no digest of this kind.

    >>> likeness_distance("0f" * 32, "0e" * 32)
    32
    """  # noqa: D205 - one sentence
    try:
        one, other = int(a, 16), int(b, 16)
    except ValueError:
        return BITS
    return (one ^ other).bit_count() if len(a) == len(b) == BITS // 4 else BITS


def nearness(a: str, b: str) -> Nearness:
    """`same`, `alike` where a person has to look, or `different`."""
    distance = likeness_distance(a, b)
    if distance <= SAME:
        return "same"
    return "alike" if distance <= ALIKE else "different"
