"""Replies where there are no buttons: text that can be answered by text."""

from collections.abc import Sequence

from router.domain.messages import ChoicesReply, ConfirmReply, FormReply, Reply
from router.domain.texts import Locale

_ANSWER_YES_OR_NO = {"zh": "回复“确认”或“取消”。", "en": "Answer “yes” or “no”."}
_REQUIRED = {"zh": "必填", "en": "required"}


def as_plain_text(replies: Sequence[Reply], locale: Locale) -> str:
    r"""All of it as paragraphs: choices numbered, cards and forms line by line.

    What it asks for is understood when it is typed: a choice's number or words, yes or no, a
    form's values.

    >>> from router.domain.messages import Option
    >>> ask = ChoicesReply(text="Which?", options=[Option(label="Annual", value="annual")])
    >>> as_plain_text([ask], "en")
    'Which?\n\n1. Annual'
    """
    return "\n\n".join(filter(None, (_plain(reply, locale) for reply in replies)))


def _plain(reply: Reply, locale: Locale) -> str:
    lines: list[str] = []
    if isinstance(reply, ChoicesReply):
        lines = [f"{number}. {option.label}" for number, option in enumerate(reply.options, 1)]
    elif isinstance(reply, ConfirmReply):
        lines = [f"- {label}: {value}" for label, value in reply.summary.items()]
    elif isinstance(reply, FormReply):
        lines = [_field(reply, number, locale) for number in range(len(reply.fields))]
    closing = _ANSWER_YES_OR_NO[locale] if isinstance(reply, ConfirmReply) else ""
    return "\n\n".join(filter(None, (reply.text, "\n".join(lines), closing)))


def _field(form: FormReply, number: int, locale: Locale) -> str:
    field = form.fields[number]
    required = f" ({_REQUIRED[locale]})" if field.required else ""
    options = " / ".join(option.label for option in field.options or [])
    return f"- {field.label}{required}" + (f": {options}" if options else "")
