"""Lists of names as people read them, cut where nobody would read on."""

from collections.abc import Sequence

from router.domain.locale import Localised

MAX_NAMES_SAID = 5
"""Names in one sentence; the others are counted."""


def say_names(names: Sequence[str], zh_unit: str = "人") -> Localised:
    """Return the names as part of a sentence: the first few, and how many more there are.

    Chinese counts them with `zh_unit`.

    >>> say_names(["Ann", "Bob"]).en
    'Ann, Bob'
    >>> say_names([f"p{n}" for n in range(90)]).en
    'p0, p1, p2, p3, p4 and 85 more'
    """
    said, more = names[:MAX_NAMES_SAID], len(names) - MAX_NAMES_SAID
    zh, en = "、".join(said), ", ".join(said)
    if more <= 0:
        return Localised(zh=zh, en=en)
    return Localised(zh=f"{zh} 等 {len(names)} {zh_unit}", en=f"{en} and {more} more")


def say_titles(titles: Sequence[Localised]) -> Localised:
    """Return quoted titles as part of a sentence: the first few, and how many more there are."""
    zh = say_names([f"“{title.zh}”" for title in titles], "件")
    en = say_names([f"“{title.en}”" for title in titles])
    return Localised(zh=zh.zh, en=en.en)
