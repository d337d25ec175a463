"""What a page looks like, as 256 bits that stay the same when it is scaled or compressed anew.

The digest is pHash (C. Zauner, "Implementation and Benchmarking of Perceptual Image Hash
Functions", 2010) of finer waves than is usual: the page in grey, scaled to 128 x 128, its discrete
cosine transform, and of 16 x 16 frequencies, the ninth to the 24th each way, whether each is above
their median. The lowest ones say how a form is laid out, these what is written in it: of forms that
differ in numbers alone they tell apart what the lowest take for one (bench/document_formats.py).
Photographs of one paper taken twice are two pictures; one picture sent twice is found by this.
"""

from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

SIDE, KEPT, COARSE = 128, 16, 8
BITS = KEPT * KEPT
SAME = 12
"""Bits: two pictures that differ in no more are one picture, scaled or compressed anew."""
ALIKE = 64
"""Bits: two that differ in no more look like each other; printed forms that differ in a few
characters do, too, and a picture that was turned or cropped a little."""
Likeness = Literal["same", "alike", "different"]


def likeness(picture: "Image.Image") -> str:
    """The digest of a picture, in hexadecimal: 64 characters for 256 bits."""
    from PIL import Image

    small = picture.convert("L").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    grey = np.asarray(small, np.float64)
    waves = _cosines() @ grey @ _cosines().T
    return np.packbits(waves > np.median(waves)).tobytes().hex()


@cache
def _cosines() -> NDArray[np.float64]:
    """`KEPT` rows of the cosine transform (DCT-II) of `SIDE` values, without the `COARSE` ones."""
    frequencies, places = np.arange(COARSE, COARSE + KEPT)[:, None], np.arange(SIDE)[None, :]
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


def nearness(a: str, b: str) -> Likeness:
    """`same`, `alike` where a person has to look, or `different`."""
    distance = likeness_distance(a, b)
    if distance <= SAME:
        return "same"
    return "alike" if distance <= ALIKE else "different"
