"""What is the same on every platform that has cards: texts, and which buttons answer them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from router.adapters import words
from router.adapters.port import Button, Pressed, Said, Wanted
from router.domain.messages import (
    Action,
    ChoicesReply,
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    Reply,
)
from router.domain.plain_replies import as_plain_text, unsaid
from router.domain.texts import Locale
from router.flow.ways_out import value_of


@dataclass(frozen=True)
class Labelled:
    """A button as it is shown; `style` is `primary`, `danger` or None.

    `sure` is what is asked in a dialog before the press counts; nothing where it counts at once.
    """

    label: str
    button: Button
    style: str | None = None
    sure: str = ""


def text_of(reply: Reply, locale: Locale, *, buttons: bool) -> str:
    """The reply as text; where there are buttons for its answers, they needn't be said as well."""
    if buttons and isinstance(reply, ChoicesReply):
        return reply.text
    if buttons and isinstance(reply, ConfirmReply):
        return "\n".join([reply.text, "", *lines(unsaid(reply))]).strip()
    return as_plain_text([reply], locale)


def answers(reply: Reply, said: Said) -> Iterator[Labelled]:
    """The buttons that answer a reply; none where it is answered in words."""
    if isinstance(reply, ChoicesReply):
        for option in reply.options:
            chosen = ChooseAction(type="choose", value=option.value, question=reply.question)
            yield Labelled(option.label, _pressing(chosen, said))
    elif isinstance(reply, ConfirmReply):
        for label, value, style in ((words.YES, True, "primary"), (words.NO, False, None)):
            answer = ConfirmAction(type="confirm", value=value, question=reply.question)
            yield Labelled(label.within(said.locale), _pressing(answer, said), style)
        yield _cancelling(reply, said)


def _cancelling(reply: ConfirmReply, said: Said) -> Labelled:
    """Giving up what is to be confirmed: `no` alone only asks what is to be changed."""
    way = ChooseAction(type="choose", value=value_of("cancel"), question=reply.question)
    label, sure = words.CANCEL.within(said.locale), words.SURE_TO_CANCEL.within(said.locale)
    return Labelled(label, _pressing(way, said), "danger", sure)


def title_of(wanted: Wanted) -> str:
    """What an approver's card begins with."""
    title = wanted.approval.title.within(wanted.locale)
    return words.APPROVAL_OF.within(wanted.locale).format(title=title)


def decided_on(wanted: Wanted) -> list[str]:
    """All that the decision is about, a line each: what its digest stands for."""
    record, locale = wanted.approval, wanted.locale
    return lines({words.REQUESTER.within(locale): wanted.requester, **record.summary_in(locale)})


def lines(summary: Mapping[str, str]) -> list[str]:
    """Labels and values, a line each."""
    return [f"{label}: {value}" for label, value in summary.items()]


def _pressing(action: Action, said: Said) -> Button:
    return Button(pressed=Pressed(conversation=said.conversation, action=action))
