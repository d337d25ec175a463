"""What the desk says, as Block Kit. Pure.

Text goes in as `plain_text` or escaped, so that nothing that anybody wrote is a link, a mention
or `@channel`. What buttons can't carry is said in words, which can be answered by words.
"""

from collections.abc import Iterator
from typing import Any

from router.adapters import words
from router.adapters.port import LONGEST_COMMENT, VERDICTS, Button, Decision, Post, Said, Wanted
from router.adapters.showing import Labelled, answers, decided_on, text_of, title_of
from router.domain.plain_replies import as_plain_text
from router.domain.texts import Locale

Block = dict[str, Any]

MOST_BLOCKS = 50
LONGEST_TEXT = 3000
LONGEST_LABEL = 75
LONGEST_VALUE = 2000
IN_A_ROW = 25
"""Slack's own limits."""

COMMENT = "comment"
"""The field of an approver's card, by which its value is found when a button is pressed."""
_STYLES = {"approve": "primary", "reject": "danger"}


def fallback(post: Post) -> str:
    """The whole as text: for notifications, and where no blocks are shown."""
    if isinstance(post, Said):
        return escaped(as_plain_text(post.replies, post.locale))
    return escaped(f"{title_of(post)} {post.outcome}".strip())


def blocks(post: Post) -> list[Block]:
    """The post as blocks; an empty list where it is too long for them, and text has to do."""
    made = list(_said(post) if isinstance(post, Said) else _wanted(post))
    return made if len(made) <= MOST_BLOCKS else []


def escaped(text: str) -> str:
    """The text as it is: no link, mention or command in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _said(said: Said) -> Iterator[Block]:
    for number, reply in enumerate(said.replies):
        buttons = [
            _button(f"reply.{number}.{n}", each, said.locale)
            for n, each in enumerate(answers(reply, said))
        ]
        if any(len(each["value"]) > LONGEST_VALUE for each in buttons):
            buttons = []
        yield from _sections(text_of(reply, said.locale, buttons=bool(buttons)))
        for start in range(0, len(buttons), IN_A_ROW):
            yield {"type": "actions", "elements": buttons[start : start + IN_A_ROW]}


def _wanted(wanted: Wanted) -> Iterator[Block]:
    yield from _sections("\n".join([title_of(wanted), "", *decided_on(wanted)]))
    if wanted.outcome:
        yield {"type": "context", "elements": [_plain(wanted.outcome)]}
        return
    yield _comment(wanted)
    record, row = wanted.approval, []
    for verdict in VERDICTS:
        decision = Decision(approval=record.id, digest=record.digest, verdict=verdict)
        label = words.BUTTONS[verdict].within(wanted.locale)
        labelled = Labelled(label, Button(decision=decision), _STYLES.get(verdict))
        row.append(_button(verdict, labelled, wanted.locale))
    yield {"type": "actions", "elements": row}


def _comment(wanted: Wanted) -> Block:
    field = {"type": "plain_text_input", "action_id": COMMENT, "max_length": LONGEST_COMMENT}
    label = _plain(words.WHAT_TO_CHANGE.within(wanted.locale))
    made = {"type": "input", "block_id": COMMENT, "optional": True}
    return made | {"label": label, "element": {**field, "multiline": True}}


def _sections(text: str) -> Iterator[Block]:
    for start in range(0, len(text), LONGEST_TEXT):
        yield {"type": "section", "text": _plain(text[start : start + LONGEST_TEXT])}


def _button(id_: str, each: Labelled, locale: Locale) -> Block:
    label = _plain(each.label[:LONGEST_LABEL])
    made: Block = {"type": "button", "action_id": id_, "text": label, "value": each.button.packed}
    made |= {"style": each.style} if each.style else {}
    return made | ({"confirm": _dialog(each, locale)} if each.sure else {})


def _dialog(each: Labelled, locale: Locale) -> Block:
    yes, no = words.YES.within(locale), words.GO_BACK.within(locale)
    said = {"title": each.label, "text": each.sure, "confirm": yes, "deny": no}
    return {name: _plain(text) for name, text in said.items()}


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text, "emoji": False}
