"""What a typed line means where the desk has just asked something."""

import re
import unicodedata
from typing import Any

from router.domain.messages import (
    ChoicesReply,
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    FormReply,
    Option,
    Reply,
)

Body = dict[str, Any]
"""What is sent as a message: `{"text": …}` or `{"action": …}`."""

_YES = {"y", "yes", "是", "确认"}
_NO = {"n", "no", "否"}


def body_of(line: str, asked: Reply | None) -> Body:
    """The message that the line is: a number or a yes that answers `asked`, else its text.

    An answer names its question, so that it is never taken for the answer to a later one.

    >>> ask = ChoicesReply(text="Which?", options=[Option(label="Annual", value="annual")])
    >>> body_of("1", ask), body_of("annual", ask)
    ({'action': {'type': 'choose', 'value': 'annual'}}, {'text': 'annual'})
    """
    word = unicodedata.normalize("NFKC", line).strip().rstrip(".").casefold()
    action: ChooseAction | ConfirmAction | None = None
    if isinstance(asked, ChoicesReply) and (chosen := numbered(word, asked.options)):
        action = ChooseAction(type="choose", value=chosen.value, question=asked.question)
    elif isinstance(asked, ConfirmReply) and word in _YES | _NO:
        action = ConfirmAction(type="confirm", value=word in _YES, question=asked.question)
    return {"text": line} if action is None else {"action": action.model_dump(exclude_none=True)}


def form_body(form: FormReply, values: Body) -> Body:
    """The message that fills in a form, or a part of it."""
    action: Body = {"type": "form", "values": values}
    return {"action": action | ({"question": form.question} if form.question else {})}


def numbered(word: str, options: list[Option]) -> Option | None:
    """The option of this number, as they are shown; None where the word is no such number."""
    if not re.fullmatch("[0-9]{1,3}", word) or not 1 <= int(word) <= len(options):
        return None
    return options[int(word) - 1]


def question_in(replies: list[Reply]) -> Reply | None:
    """The question that these replies leave open: the last one, where there is any."""
    asking = [r for r in replies if isinstance(r, ChoicesReply | ConfirmReply | FormReply)]
    return asking[-1] if asking else None
