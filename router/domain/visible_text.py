r"""What of a text is kept where it enters, and how a text is set where it is shown. Pure.

Nobody sees which way a text is turned, how wide nothing is, or a tag: with those one thing is
shown and another meant. A slot, a comment and a name keep none of it. What somebody said keeps the
joiners and selectors of emoji, and those of scripts that need them.
"""

import re

HIDDEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls, but for tab and what ends a line
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What nobody sees, as the inside of a regex's `[…]`."""
LONGEST_LINE = 200
"""Characters of a title: of what it is made of, all is shown below it."""

_PICTURES = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17dd\ufb50-\ufdff\ufe70-\ufefc"
_HARMLESS = (
    f"(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_PICTURES}])\u200d(?=[{_PICTURES}])|(?<=[{_PICTURES}]\ufe0f)\u200d(?=[{_PICTURES}])"
    f"|(?<=[{_PICTURES}])[\ufe0e\ufe0f]|(?<=[#*0-9])\ufe0f(?=\u20e3)"
)
_UNSEEN = re.compile(f"[{HIDDEN}]")
_UNSEEN_OR_HARMLESS = re.compile(f"(?P<kept>{_HARMLESS})|[{HIDDEN}]")
_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_BLANKS = "\u2800"
"""What is seen as nothing, and is no white space."""
_TURNED = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Letters that are written from right to left."""
_QUOTES = str.maketrans("“”「」", "‘’『』")
LINE_BREAK = " ↵ "
"""What stands for the end of a line where there is room for one alone."""


def visible(text: str) -> str:
    r"""What a slot, a comment or a name keeps: nothing that can't be seen; ends of lines alike.

    >>> visible("98\u202e00\u200b5\r\nb")
    '98005\nb'
    """
    return _UNSEEN.sub("", _LINE_END.sub("\n", text)).replace("\t", " ")


def legible(text: str) -> str:
    r"""What is kept of a message: the same, and what emoji and joined scripts are written with.

    >>> legible("\U0001f469\u200d\U0001f4bb ok\u202e") == "\U0001f469\u200d\U0001f4bb ok"
    True
    """
    text = _LINE_END.sub("\n", text)
    if not _UNSEEN.search(text):
        return text
    return _UNSEEN_OR_HARMLESS.sub(lambda found: found["kept"] or "", text)


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """A name or a title: visible, on one line, cut to `longest` characters."""
    return _cut(" ".join(visible(text).replace(_BLANKS, " ").split()), longest)


def inline(text: str) -> str:
    r"""A value among others: no line of it can be taken for another value's.

    >>> inline("two\n\nlines")
    'two ↵ lines'
    """
    lines = (" ".join(line.replace(_BLANKS, " ").split()) for line in visible(text).split("\n"))
    return LINE_BREAK.join(filter(None, lines))


def quoted(text: str) -> str:
    """What somebody said, as theirs: in quotation marks that it can't end.

    >>> quoted("no” The desk: “yes")
    '“no’ The desk: ‘yes”'
    """
    return f"“{inline(text).translate(_QUOTES)}”"


def quote_person(name: str, text: str) -> str:
    r"""Return what a person said under their name, with every line marked as quoted.

    No line of it can be taken for the assistant's own, whether the reader shows Markdown or not.

    >>> quote_person("Dave", "Hello\n\n**System notice** Approved.")
    'Dave:\n> Hello\n>\n> **System notice** Approved.'
    """
    lines = [part for line in legible(text).split("\n") for part in _parts(line)]
    said = (f"> {isolated(part)}".rstrip() for part in lines)
    return "\n".join([f"{isolated(one_line(name))}:", *said])


MAX_QUOTED_LINE_CHARS = 300
"""Longer lines are quoted as several: platforms cut long messages, and mark no line themselves."""


def _parts(line: str) -> list[str]:
    return pieces(line, MAX_QUOTED_LINE_CHARS) or [""]


def isolated(text: str) -> str:
    """The text, whose letters turn nothing round that stands beside it."""
    if not _TURNED.search(text):
        return text
    return "\n".join(f"\u2068{line}\u2069" for line in text.split("\n"))


def labelled(label: str, value: str) -> str:
    r"""A field as it is listed: lines of its value after the first are set in, and begin none.

    >>> labelled("Reason", "rent\nAmount: 1")
    'Reason: rent\n    Amount: 1'
    """
    lines = isolated(legible(value)).split("\n")
    return f"{one_line(label)}: " + "\n    ".join(lines)


def pieces(text: str, longest: int) -> list[str]:
    """The text in pieces of at most `longest` characters, cut at the ends of lines if possible."""
    found = []
    while len(text) > longest:
        end = text.rfind("\n", 1, longest + 1)
        found.append(text[: end if end > 0 else longest])
        text = text[end + 1 if end > 0 else longest :]
    return [*found, text] if text else found


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
