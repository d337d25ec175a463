"""What the API answers, as lines of a terminal. Pure: text in, text out."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from router.cli.chat_face import words
from router.domain.messages import FormReply, Reply, Route
from router.domain.plain_replies import as_plain_text
from router.domain.texts import Locale

Item = Mapping[str, Any]
"""An item of a list, as the API gives it."""


def printable(text: str) -> str:
    r"""The text without what a terminal would act on: whoever wrote it mustn't drive the screen.

    >>> printable("a\x1b[2Jb")
    'a[2Jb'
    """
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")


def said(replies: Sequence[Reply], locale: Locale, *, interactive: bool) -> str:
    """Replies as text; where somebody sits there, with how a form of several fields is filled."""
    text = as_plain_text(replies, locale)
    last = replies[-1] if replies else None
    if interactive and isinstance(last, FormReply) and len(last.fields) > 1:
        text += f"\n\n{words.FORM_HINT.within(locale)}"
    return printable(text)


def why(route: Route, locale: Locale) -> str:
    """Where a message went, by which means, and what else came into question."""
    where = " ".join(filter(None, (route.kind, route.target)))
    lines = [f"{where} ← {route.by} ({route.confidence:.2f})", route.reason]
    if route.candidates:
        near = ", ".join(f"{c.name} {c.score:.2f}" for c in route.candidates)
        lines.append(f"{words.CANDIDATES.within(locale)}: {near}")
    return printable("\n".join(filter(None, lines)))


def conversations(items: Sequence[Item], current: str, locale: Locale) -> str:
    """The person's conversations, numbered; the one that is open is marked."""
    return _numbered(
        [f"{_when(i['created_at'])}  {i['id']}{' *' * (i['id'] == current)}" for i in items], locale
    )


def approvals(items: Sequence[Item], locale: Locale) -> str:
    """What waits for a decision, numbered, with all that is decided on."""
    return _numbered([_approval(item, locale) for item in items], locale)


def requests(items: Sequence[Item], locale: Locale) -> str:
    """Runs that the person asked for, numbered, with how they stand."""
    return _numbered(
        [f"{_when(i['created_at'])}  {i['title']}  {i['status']} ({i['state']})" for i in items],
        locale,
    )


def _approval(item: Item, locale: Locale) -> str:
    about = f"{words.REQUESTER.within(locale)} {item['requester']}, {_when(item['since'])}"
    summary = [f"     {label}: {value}" for label, value in item["summary"].items()]
    return "\n".join([f"{item['title']} ({about})", *summary])


def _numbered(lines: Sequence[str], locale: Locale) -> str:
    if not lines:
        return words.NOTHING.within(locale)
    return printable("\n".join(f"{number:>3}. {line}" for number, line in enumerate(lines, 1)))


def _when(moment: str) -> str:
    """In the terminal's own time zone."""
    return datetime.fromisoformat(moment).astimezone().strftime("%m-%d %H:%M")
