"""Replies where there are no buttons: text that can be answered by text."""

import re
from collections.abc import Mapping, Sequence

from pydantic import JsonValue, TypeAdapter

from router.domain.messages import ChoicesReply, ConfirmReply, FormReply, Reply, TextReply
from router.domain.texts import Locale

_REPLIES: TypeAdapter[list[Reply]] = TypeAdapter(list[Reply])

_ANSWER_YES_OR_NO = {"zh": "回复“确认”或“取消”。", "en": "Answer “yes” or “no”."}
_ATTACH = {"zh": "请附上图片或 PDF。", "en": "Attach a picture or a PDF."}
_REQUIRED = {"zh": "必填", "en": "required"}


def as_plain_text(replies: Sequence[Reply], locale: Locale) -> str:
    r"""All of it as paragraphs: choices numbered, cards and forms line by line.

    A form of one plain field is its question alone.

    What it asks for is understood when it is typed: a choice's number or words, yes or no, a
    form's values.

    >>> from router.domain.messages import Option
    >>> ask = ChoicesReply(text="Which?", options=[Option(label="Annual", value="annual")])
    >>> as_plain_text([ask], "en")
    'Which?\n\n1. Annual'
    """
    return "\n\n".join(filter(None, (_plain(reply, locale) for reply in replies)))


def replies_of(row: Mapping[str, JsonValue]) -> list[Reply]:
    """The replies that a row of the transcript holds; of one that has none, its text."""
    found = row.get("replies")
    if found is None:
        return [TextReply(text=str(row.get("text", "")))]
    return _REPLIES.validate_python(found)


def _plain(reply: Reply, locale: Locale) -> str:
    lines: list[str] = []
    if isinstance(reply, ChoicesReply):
        lines = [f"{number}. {option.label}" for number, option in enumerate(reply.options, 1)]
    elif isinstance(reply, ConfirmReply):
        lines = [f"- {label}: {value}" for label, value in unsaid(reply).items()]
    elif isinstance(reply, FormReply):
        lines = [_field(reply, number, locale) for number in range(len(reply.fields))]
        lines = lines if len(lines) > 1 or any(f.options for f in reply.fields) else []
    closing = _closing(reply, locale)
    return "\n\n".join(filter(None, (reply.text, "\n".join(lines), closing)))


def unsaid(reply: ConfirmReply) -> dict[str, str]:
    """The summary, as far as it has to be told: all of it, or nothing where the text says it all.

    >>> unsaid(ConfirmReply(text="3 days from 1 Dec?", summary={"Days": "3", "From": "1 Dec"}))
    {}
    >>> unsaid(ConfirmReply(text="From 13 Dec?", summary={"Days": "3"}))
    {'Days': '3'}
    """
    left = reply.text
    # The longest first, each out of the text: 3 isn't said by 13, nor one day said once twice.
    for value in sorted(reply.summary.values(), key=len, reverse=True):
        found = re.search(rf"(?<![0-9A-Za-z.,]){re.escape(value)}(?![0-9A-Za-z]|[.,][0-9])", left)
        if found is None:
            return reply.summary
        left = f"{left[: found.start()]}\0{left[found.end() :]}"
    return {}


def _closing(reply: Reply, locale: Locale) -> str:
    if isinstance(reply, ConfirmReply):
        return _ANSWER_YES_OR_NO[locale]
    wants_file = isinstance(reply, FormReply) and any(f.type == "file" for f in reply.fields)
    return _ATTACH[locale] if wants_file else ""


def _field(form: FormReply, number: int, locale: Locale) -> str:
    field = form.fields[number]
    required = f" ({_REQUIRED[locale]})" if field.required else ""
    options = " / ".join(option.label for option in field.options or [])
    return f"- {field.label}{required}" + (f": {options}" if options else "")
