"""Adaptive Cards, as Teams shows them: <https://adaptivecards.microsoft.com>.

All that anybody wrote stands in text runs, which know no Markdown: no link, no picture, no mention.
What is too large for one card goes on in the next; only the last of an approver's has buttons.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from router.domain.locale import Locale
from router.domain.messages import ChoicesReply, ConfirmReply, Reply, as_plain_text
from router.domain.text_tables import TextTable, as_lines, parts_of, written
from router.domain.visible_text import one_line, pieces
from router.extensions.channels import cards
from router.extensions.channels.base import (
    LONGEST_COMMENT,
    VERDICTS,
    DecisionRequest,
    Post,
    Statement,
)

CardElement = dict[str, Any]
AdaptiveCard = dict[str, Any]

VERSION = "1.5"
"""From here on there are tables, and Teams' clients know `Action.Execute`."""
LARGEST = 28 * 1024
"""Bytes of a card in UTF-16, which is how Teams counts; it takes a little more beside the card."""
LONGEST_TEXT = 2000
"""Characters of one element."""
LONGEST_LABEL = 100
LONGEST_VALUE = 2000
"""Characters of what travels in a button; what is longer is said in words."""
IN_A_ROW = 6
"""Buttons: of more, some clients show no further ones."""
ROWS = 20
"""Of a table before the next one goes on."""
LINES = 40
"""Of text in one element."""
DECIDE = "decide"
"""The verb of an approver's buttons, which are answered by the card as it is from now on."""
_NO_BREAK = "\u00a0"
_STYLES = {"primary": "positive", "danger": "destructive"}


def cards_of(post: Post) -> list[AdaptiveCard]:
    """The post as cards, each of a size that Teams takes; one alone where a decision is made."""
    elements = list(_said(post) if isinstance(post, Statement) else _wanted(post))
    made = [*_packed(elements)]
    if len(made) > 1 and isinstance(post, DecisionRequest) and post.outcome:
        # What was decided on stands above it, on the cards that had no buttons.
        made = [*_packed([*_text(cards.title_of(post), bold=True), *_text(post.outcome)])]
    return made


def summary_of(post: Post) -> str:
    """What a notification shows of it, on one line."""
    if isinstance(post, Statement):
        return one_line(as_lines(as_plain_text(post.replies, post.locale), post.locale))
    return one_line(f"{cards.title_of(post)} {post.outcome}")


def size_of(value: object) -> int:
    """Bytes of it as JSON, as Teams counts them."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass"))


def _packed(elements: Iterable[CardElement]) -> Iterator[AdaptiveCard]:
    room = LARGEST - size_of(_card([]))
    body, left = list[CardElement](), room
    for element in elements:
        takes = size_of([element])
        if body and takes > left:
            yield _card(body)
            body, left = [], room
        body.append(element)
        left -= takes
    if body:
        yield _card(body)


def _card(body: list[CardElement]) -> AdaptiveCard:
    return {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": VERSION,
        "msteams": {"width": "Full"},
        "body": body,
    }


def _said(said: Statement) -> Iterator[CardElement]:
    for reply in said.replies:
        buttons = [_submitting(each, said.locale) for each in cards.answers(reply, said)]
        if any(size_of(each) > 2 * LONGEST_VALUE for each in buttons):
            buttons = []
        for text in _texts(reply, said.locale, buttons=bool(buttons)):
            for part in parts_of(text):
                if isinstance(part, TextTable):
                    yield from _table(part, said.locale)
                else:
                    yield from _text(part)
        yield from _rows(buttons)


def _texts(reply: Reply, locale: Locale, *, buttons: bool) -> list[str]:
    """The reply as texts, as `cards.sections_of` has them, but for tables: those stay."""
    if buttons and isinstance(reply, ConfirmReply):
        return cards.sections_of(reply, locale, buttons=True)
    if buttons and isinstance(reply, ChoicesReply):
        return [reply.text]
    return [as_plain_text([reply], locale)]


def _wanted(wanted: DecisionRequest) -> Iterator[CardElement]:
    for number, section in enumerate(cards.decided_on(wanted)):
        yield from _text(section, bold=not number)
    if wanted.outcome:
        yield from _text(wanted.outcome, bold=True)
        return
    # One element, so that no card ends between the field and the buttons that send it.
    field = {
        "type": "Input.Text",
        "id": cards.COMMENT,
        "isMultiline": True,
        "maxLength": LONGEST_COMMENT,
        "label": cards.WHAT_TO_CHANGE.within(wanted.locale),
    }
    buttons = [_executing(cards.deciding(wanted, verdict)) for verdict in VERDICTS]
    yield {"type": "Container", "items": [field, *_rows(buttons)]}


def _text(text: str, *, bold: bool = False) -> Iterator[CardElement]:
    """The text a line each: a text run ends no line and shows one blank where there are many."""
    for piece in pieces(text, LONGEST_TEXT):
        lines = [_line(line, bold=bold) for line in piece.split("\n") if line.strip()]
        for following in lines[1:]:
            following["spacing"] = "None"
        for start in range(0, len(lines), LINES):
            shown = lines[start : start + LINES]
            yield shown[0] if len(shown) == 1 else {"type": "Container", "items": shown}


def _line(text: str, *, bold: bool = False) -> CardElement:
    begins = len(text) - len(text.lstrip(" "))
    run = {"type": "TextRun", "text": _NO_BREAK * begins + text[begins:]}
    return {"type": "RichTextBlock", "inlines": [run | ({"weight": "Bolder"} if bold else {})]}


def _table(table: TextTable, locale: Locale) -> Iterator[CardElement]:
    """The table, a few rows at a time; as lines where its cells are too large for that."""
    columns: list[CardElement] = [{"width": 1} for _ in table.head]
    for number in table.right:
        columns[number]["horizontalCellContentAlignment"] = "Right"
    for start in range(0, max(1, len(table.rows)), ROWS):
        rows = table.rows[start : start + ROWS]
        shown = {
            "type": "Table",
            "firstRowAsHeaders": True,
            "columns": columns,
            "rows": [_row(table.head, bold=True), *map(_row, rows)],
        }
        if size_of(shown) <= LARGEST // 2:
            yield shown
        else:
            yield from _text(as_lines(written(table.head, rows), locale))


def _row(cells: Iterable[str], *, bold: bool = False) -> CardElement:
    shown = [{"type": "TableCell", "items": [_line(cell, bold=bold)]} for cell in cells]
    return {"type": "TableRow", "cells": shown}


def _rows(actions: list[CardElement]) -> Iterator[CardElement]:
    for start in range(0, len(actions), IN_A_ROW):
        yield {"type": "ActionSet", "actions": actions[start : start + IN_A_ROW]}


def _submitting(each: cards.CardButton, locale: Locale) -> CardElement:
    """A button that answers in a conversation; where it asks whether one is sure, it opens that."""
    action = _action("Action.Submit", each)
    if not each.sure:
        return action
    yes = {**action, "title": cards.YES.within(locale)}
    asking = {"type": "AdaptiveCard", "body": [*_text(each.sure)], "actions": [yes]}
    return {"type": "Action.ShowCard", "title": action["title"], "card": asking}


def _executing(each: cards.CardButton) -> CardElement:
    return {**_action("Action.Execute", each), "verb": DECIDE}


def _action(kind: str, each: cards.CardButton) -> CardElement:
    style = {"style": _STYLES[each.style]} if each.style else {}
    label = each.label[:LONGEST_LABEL]
    return {"type": kind, "title": label, "data": {"button": each.button.packed}, **style}
