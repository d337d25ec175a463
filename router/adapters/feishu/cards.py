"""What the desk says, as interactive cards. Pure.

Texts are `plain_text`, so that nothing that anybody wrote is a link, a picture or a mention.
"""

from collections.abc import Iterator
from typing import Any

from router.adapters import words
from router.adapters.port import (
    LONGEST_COMMENT,
    VERDICTS,
    Button,
    Decision,
    Post,
    Said,
    Verdict,
    Wanted,
)
from router.adapters.showing import Labelled, answers, decided_on, text_of, title_of

Card = dict[str, Any]
Element = dict[str, Any]

COMMENT = "comment"
"""The field of an approver's card, by which its value is found when its button is pressed."""
_STYLES = {"approve": "primary", "reject": "danger"}


def card(post: Post) -> Card:
    """The post as a card."""
    elements = list(_said(post) if isinstance(post, Said) else _wanted(post))
    return {"config": {"wide_screen_mode": True, "update_multi": True}, "elements": elements}


def _said(said: Said) -> Iterator[Element]:
    for reply in said.replies:
        buttons = list(answers(reply, said))
        yield _text(text_of(reply, said.locale, buttons=bool(buttons)))
        if buttons:
            yield {"tag": "action", "actions": [_button(each) for each in buttons]}


def _wanted(wanted: Wanted) -> Iterator[Element]:
    yield _text("\n".join([title_of(wanted), "", *decided_on(wanted)]))
    if wanted.outcome:
        yield {"tag": "note", "elements": [_plain(wanted.outcome)]}
        return
    at_once = [verdict for verdict in VERDICTS if verdict != "return"]
    yield {"tag": "action", "actions": [_deciding(wanted, verdict) for verdict in at_once]}
    yield _returning(wanted)


def _returning(wanted: Wanted) -> Element:
    """A form of its own: it isn't sent before something is written."""
    hint = _plain(words.WHAT_TO_CHANGE.within(wanted.locale))
    field: Element = {"tag": "input", "name": COMMENT, "required": True, "placeholder": hint}
    sending = {"name": "return", "action_type": "form_submit"}
    fields = [field | {"max_length": LONGEST_COMMENT}, _deciding(wanted, "return") | sending]
    return {"tag": "form", "name": "returning", "elements": fields}


def _deciding(wanted: Wanted, verdict: Verdict) -> Element:
    record = wanted.approval
    decision = Decision(approval=record.id, digest=record.digest, verdict=verdict)
    label = words.BUTTONS[verdict].within(wanted.locale)
    return _button(Labelled(label, Button(decision=decision), _STYLES.get(verdict)))


def _text(text: str) -> Element:
    return {"tag": "div", "text": _plain(text)}


def _button(each: Labelled) -> Element:
    value = {"button": each.button.packed}
    style = each.style or "default"
    made = {"tag": "button", "text": _plain(each.label), "type": style, "value": value}
    dialog = {"title": _plain(each.label), "text": _plain(each.sure)}
    return made | ({"confirm": dialog} if each.sure else {})


def _plain(text: str) -> Element:
    return {"tag": "plain_text", "content": text}
