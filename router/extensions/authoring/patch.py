"""Changed files as a patch that `git am` takes: a mail with the differences in it.

    patch = mailed_patch([ChangedFile("flows/overtime.yaml", before, after)], about)

What people wrote into it (a name, a note) can't be taken for a part of the patch, and files come
out to the byte, whatever their line ends are.
"""

import base64
import difflib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.utils import format_datetime, formataddr

_NOTHING = "0" * 40
_WIDTH = 76
_AROUND = 3
MOST_COMPARED = 3_000
"""Lines, of a file, that are compared with others: beyond, what takes seconds is easily written."""
_ADDRESSED = str.maketrans("<>@", "   ")


@dataclass(frozen=True)
class ChangedFile:
    """A file of the repository, and what it says; before is None where it is new."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True)
class PatchHead:
    """Whose the patch is, and what it is for."""

    author: str
    address: str
    """Such as `anna@acme.invalid`."""
    at: datetime
    subject: str
    body: str = ""


def mailed_patch(files: Sequence[ChangedFile], head: PatchHead) -> str:
    """The mail; in ASCII where a file has carriage returns, which mail would lose otherwise."""
    changes = [each for each in files if each.before != each.after]
    content = "".join(["".join(_message(head)), "---\n\n", *map(_difference, changes), "-- \n"])
    as_it_is = "\r" not in content
    shown = content if as_it_is else _in_ascii(content)
    encoding = "8bit" if as_it_is else "base64"
    return "\n".join([*_headers(head, encoding), "", shown])


def _headers(head: PatchHead, encoding: str) -> Iterator[str]:
    yield f"From {_NOTHING} Mon Sep 17 00:00:00 2001"
    # Git takes what is in angles for the address, wherever it stands.
    name = " ".join(head.author.translate(_ADDRESSED).split()) or head.address
    yield f"From: {formataddr((name, head.address), 'utf-8')}"
    yield f"Date: {format_datetime(head.at)}"
    subject = " ".join(f"[PATCH] {head.subject}".split())
    yield f"Subject: {Header(subject, 'utf-8' if not subject.isascii() else 'us-ascii').encode()}"
    yield "MIME-Version: 1.0"
    yield 'Content-Type: text/plain; charset="utf-8"'
    yield f"Content-Transfer-Encoding: {encoding}"


def _message(head: PatchHead) -> Iterator[str]:
    # Set in, so that no line of it can be a header, or begin the patch.
    yield from (f"  {line.strip()}\n" for line in head.body.splitlines() if line.strip())


def _in_ascii(content: str) -> str:
    written = base64.b64encode(content.encode()).decode()
    lines = (written[at : at + _WIDTH] for at in range(0, len(written), _WIDTH))
    return "".join(f"{line}\n" for line in lines)


def _difference(file: ChangedFile) -> str:
    was_there = file.before is not None
    old, new = (_blob(text) for text in (file.before, file.after))
    mode = f"index {old}..{new} 100644\n" if was_there else f"index {old}..{new}\n"
    head = f"diff --git a/{file.path} b/{file.path}\n"
    head += mode if was_there else f"new file mode 100644\n{mode}"
    return head + unified(
        file.before or "",
        file.after,
        f"a/{file.path}" if was_there else "/dev/null",
        f"b/{file.path}",
    )


def unified(before: str, after: str, was: str, now: str) -> str:
    """The unified difference of two texts, which are called so; empty where they are the same.

    Where more than `MOST_COMPARED` lines lie between the first and the last that are another, all
    of them are shown as replaced.
    """
    old, new = _lines_of(before), _lines_of(after)
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
    if max(len(old), len(new)) - first - last > MOST_COMPARED:
        lines = _replaced(old, new, first, last, was, now)
    else:
        lines = difflib.unified_diff(old, new, was, now)
    ended = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return "".join(ended)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same from the beginning on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _replaced(
    old: Sequence[str], new: Sequence[str], first: int, last: int, was: str, now: str
) -> Iterator[str]:
    """One hunk, of all between so many lines at the beginning and at the end."""
    begin, more = max(first - _AROUND, 0), min(last, _AROUND)
    ranges = []
    for lines in (old, new):
        count = len(lines) - last + more - begin
        ranges.append(f"{begin + (count > 0)},{count}")
    yield from (f"--- {was}\n", f"+++ {now}\n", f"@@ -{ranges[0]} +{ranges[1]} @@\n")
    yield from (f" {line}" for line in old[begin:first])
    yield from (f"-{line}" for line in old[first : len(old) - last])
    yield from (f"+{line}" for line in new[first : len(new) - last])
    yield from (f" {line}" for line in old[len(old) - last :][:more])


def _lines_of(text: str) -> list[str]:
    """The lines as git has them, with their ends: no other character ends one."""
    *ended, last = text.split("\n")
    return [*(f"{line}\n" for line in ended), *([last] if last else [])]


def _blob(text: str | None) -> str:
    """What git calls the file's content."""
    if text is None:
        return _NOTHING
    raw = text.encode()
    named = b"blob %d\0" % len(raw)
    return hashlib.sha1(named + raw, usedforsecurity=False).hexdigest()
