"""What a model says, made fit to be shown."""

import re

LONGEST = 8_000
"""Characters: as many as a person may say."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def shown(text: str) -> str:
    r"""The text without control characters but tab and newline, and no longer than a message.

    >>> shown("\x1b[31mred\n")
    '[31mred'
    """
    clean = _UNPRINTABLE.sub("", text).strip()
    return clean if len(clean) <= LONGEST else f"{clean[:LONGEST]}…"
