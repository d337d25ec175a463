"""The ways on from a question that somebody can't answer, as buttons.

Each stands for something that can be said as well (docs/flows.md), so a terminal needs none of
them: the labels are understood when they are typed.
"""

from typing import Literal, get_args

from router.domain.messages import Option
from router.domain.texts import Locale, Localised

Way = Literal["help", "skip", "start_over", "cancel", "person"]

OTHERWISE = Localised(zh="也可以：", en="Or:")
_PREFIX = "act:"
"""Tells them from the values of choices, which files and tools name."""
_LABELS: dict[Way, Localised] = {
    "help": Localised(zh="怎么填？", en="What can I say?"),
    "skip": Localised(zh="跳过", en="Skip it"),
    "start_over": Localised(zh="从头来", en="Start over"),
    "cancel": Localised(zh="取消", en="Cancel"),
    "person": Localised(zh="找人工", en="Talk to a person"),
}


def ways_out(locale: Locale, *, may_skip: bool) -> list[Option]:
    """Every way that is open, in the order in which they are shown."""
    return [
        Option(label=label.within(locale), value=value_of(way))
        for way, label in _LABELS.items()
        if may_skip or way != "skip"
    ]


def value_of(way: Way) -> str:
    """What a button for this way is pressed with, shown or not."""
    return f"{_PREFIX}{way}"


def way_of(value: object) -> Way | None:
    """The way that a pressed button stands for; None where it is the answer to a question."""
    name = str(value).removeprefix(_PREFIX)
    if value == name:
        return None
    return next((way for way in get_args(Way) if way == name), None)
