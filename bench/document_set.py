"""A set of documents with their ground truth, made anew from a fixed seed.

Each is a `Sheet`, drawn by `document_invoices.py` and `document_slips.py`: texts at places of a
page, and what a reader should find; `document_files.py` makes files of them. Of each recipe the
even ones are for development, on which rules and confidences were tuned, and the odd ones are held
out, with those of layouts (`UNSEEN`) that nothing was tuned on.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from document_invoices import digital_invoice, english_invoice, older_invoice
from document_sheets import Sheet
from document_slips import hotel_folio, medical_certificate, receipt, taxi_receipt, train_ticket
from document_unseen import UNSEEN

SEED = 20_261_125
Draw = Callable[[random.Random, int], Sheet]
WRITTEN: tuple[tuple[Draw, int, tuple[str, ...], int], ...] = (
    (digital_invoice, 2, ("pdf", "ofd", "xml"), 8),
    (older_invoice, 2, ("pdf", "ofd"), 6),
    (english_invoice, 3, ("pdf",), 10),
    (hotel_folio, 3, ("pdf",), 6),
    (train_ticket, 3, ("pdf",), 6),
)
"""What is written as files with text: in how many layouts, as what, and how many of each."""
PICTURED: tuple[tuple[Draw, int, int], ...] = (
    (digital_invoice, 2, 16),
    (older_invoice, 2, 10),
    (english_invoice, 3, 12),
    (train_ticket, 3, 36),
    (taxi_receipt, 3, 30),
    (hotel_folio, 3, 30),
    (receipt, 4, 44),
    (medical_certificate, 4, 32),
)
"""What is drawn as a picture: in how many layouts, and how many of it."""


@dataclass(frozen=True)
class Example:
    """One document of the set."""

    name: str
    sheet: Sheet
    format: str
    damage: str
    seed: int
    held_out: bool
    unseen: bool = False


def examples(damages: tuple[str, ...]) -> Iterator[Example]:
    """All of them, in their order; the same whenever and wherever."""
    for draw, layouts, formats, count in WRITTEN:
        for each in formats:
            for number in range(count):
                yield _example(draw, layouts, each, "", number)
    shift = 0
    for draw, layouts, count in PICTURED:
        for number in range(count):
            # Pairs of one kind of damage, so that both halves have each.
            damage = damages[(number // 2 + shift) % len(damages)]
            yield _example(draw, layouts, "picture", damage, number)
        shift += 3
    for number, draw in enumerate(UNSEEN):
        for again, damage in enumerate(("none", damages[1 + number % (len(damages) - 1)])):
            name = f"{draw.__name__}-unseen-{again}"
            seed = random.Random(f"{SEED} {name}").getrandbits(48)
            sheet = draw(random.Random(seed))
            yield Example(name, sheet, "picture", damage, seed, held_out=True, unseen=True)


def _example(draw: Draw, layouts: int, written: str, damage: str, number: int) -> Example:
    name = f"{draw.__name__}-{written}-{number:02}"
    seed = random.Random(f"{SEED} {name}").getrandbits(48)
    sheet = draw(random.Random(seed), number // 2 % layouts)
    return Example(name, sheet, written, damage, seed, held_out=bool(number % 2))
