"""What is the same on every platform: texts in both languages, and which buttons answer them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from router.domain.locale import Locale, Localised
from router.domain.messages import (
    Action,
    ChoicesReply,
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    Reply,
    Skippable,
    TextReply,
    as_plain_text,
    unsaid,
)
from router.domain.text_tables import as_lines
from router.domain.visible_text import isolated, labelled, one_line
from router.extensions.channels.base import (
    Button,
    CardDecision,
    DecisionRequest,
    Pressed,
    Statement,
    Verdict,
)
from router.flow.prompts.question import value_of

STRANGER = (
    "我还不认识您：请让管理员把您的账号（{account}）加到通讯录里。\n"
    "I don't know you yet: please have an administrator add your account ({account}) to the "
    "directory."
)
"""Nobody knows which language they speak."""

NOT_YOURS = Localised(
    zh="这张卡片不是给您的，没有改动任何内容。", en="This card isn't for you; nothing was changed."
)
FAILED = Localised(
    zh="这条消息没有处理成功，请再发一次。",
    en="This message couldn't be dealt with; please send it again.",
)
TOO_FAST = Localised(
    zh="{why}。这条消息没有收下，接下来没有回应的也没有，请到时再发。",
    en="{why}. This message wasn't taken in, nor are those after it that get no answer; send them "
    "again then.",
)
UNUSABLE = Localised(
    zh="这条消息收不了：要有文字，最多 8000 字，不能有控制字符。",
    en="This message can't be taken: it needs words, 8,000 characters at most, and none that "
    "control a terminal.",
)
NOT_A_DOCUMENT = Localised(
    zh="“{name}”没有收：只收 PDF 和图片（PNG、JPEG、WebP、GIF、HEIC）。",
    en="“{name}” isn't taken: only PDF and pictures are (PNG, JPEG, WebP, GIF, HEIC).",
)
FILE_TOO_LARGE = Localised(
    zh="“{name}”没有收：超过了 10 MB。", en="“{name}” isn't taken: it is larger than 10 MB."
)
FILE_NOT_FETCHED = Localised(
    zh="“{name}”没能取到，请再发一次。", en="“{name}” couldn't be fetched; please send it again."
)
FILES_LEFT_OUT = Localised(
    zh="一条消息最多带 10 个文件，“{name}”没有收。",
    en="“{name}” isn't taken: a message may have 10 files.",
)
FILE_NOT_KEPT = Localised(zh="“{name}”没有收：{why}。", en="“{name}” isn't taken: {why}.")
APPROVAL_OF = Localised(zh="请审批：{title}", en="For your approval: {title}")
REQUESTER = Localised(zh="申请人", en="Requested by")
CHANGED = Localised(
    zh="内容在这张卡片之后有变化，没有按它审批；请看最新的卡片。",
    en="What is to be approved has changed since this card; nothing was decided. See the newest.",
)
CHANGED_SINCE = Localised(zh="和之前的不同：", en="What is different from before:")
BY_REQUESTER = Localised(
    zh="申请人已经改了这份申请，这张卡片作废；请看新的卡片。",
    en="Changed by the requester: this card is void, see the new one.",
)
CLOSED = Localised(
    zh="这项审批已经关闭，不需要再处理。", en="This approval is closed; nothing is left to decide."
)
ALREADY = Localised(zh="已经处理过了：{verdict}。", en="This was decided already: {verdict}.")
TRY_AGAIN = Localised(
    zh="现在没能记录，请稍后再按一次。", en="It couldn't be recorded right now; press again later."
)
UNCONFIRMED = Localised(
    zh="还不知道您的决定有没有记下。请再按一次，只会算一次。",
    en="It isn't known yet whether your decision was counted. Press again; it counts once.",
)
MESSAGE_UNCONFIRMED = Localised(
    zh="还不知道这条消息有没有收到。一分钟内没有回应的话，请再发一次。",
    en="It isn't known yet whether this message arrived. Send it again if no answer comes within a "
    "minute.",
)
DECIDING = Localised(
    zh="正在记录，结果稍后发给您；一分钟内没有消息的话，请再按一次。",
    en="It is being recorded; what came of it follows. Press again if nothing does in a minute.",
)
TAKING = Localised(
    zh="正在处理；一分钟内没有消息的话，请再按一次。",
    en="It is being dealt with. Press again if nothing comes of it in a minute.",
)
BUTTONS: dict[Verdict, Localised] = {
    "approve": Localised(zh="同意", en="Approve"),
    "reject": Localised(zh="拒绝", en="Reject"),
    "return": Localised(zh="退回修改", en="Return"),
}
YES = Localised(zh="确认", en="Confirm")
NO = Localised(zh="不对，要改", en="Not right")
CANCEL = Localised(zh="取消", en="Cancel")
SURE_TO_CANCEL = Localised(
    zh="确定不办了？填好的内容不会保留。", en="Really give it up? What was filled in isn't kept."
)
GO_BACK = Localised(zh="再想想", en="Go back")
WHAT_TO_CHANGE = Localised(zh="退回时请写明要改什么", en="To return it, say what is to be changed")
WORD_NEEDED = Localised(
    zh="还没有退回：请先在卡片的输入框里写明要改什么（最多 1000 字），再按“退回修改”；"
    "没有输入框的旧卡片，请在网页上退回。",
    en="Not returned yet: say in the card's field what is to be changed (1,000 characters at "
    "most), then press Return again; where an old card has no field, use the web page.",
)
DONE: dict[str, Localised] = {
    "approve": Localised(zh="✅ 已同意", en="✅ approved"),
    "reject": Localised(zh="❌ 已拒绝", en="❌ rejected"),
    "return": Localised(zh="↩️ 已退回修改", en="↩️ returned for changes"),
    "delegate": Localised(zh="已转交", en="delegated"),
    "escalated": Localised(zh="已上报", en="escalated"),
}
"""By verdict, as the log has them."""


@dataclass(frozen=True)
class CardButton:
    """A button; `style` is `primary` or `danger`, `sure` is asked before the press counts."""

    label: str
    button: Button
    style: str | None = None
    sure: str = ""


MOST_SECTIONS = 40
"""Of what one thing says: a platform takes no card without end."""


def sections_of(reply: Reply, locale: Locale, *, buttons: bool) -> list[str]:
    """The reply as texts, each field one; where buttons answer it, they needn't be said as well."""
    if buttons and isinstance(reply, ChoicesReply):
        return [as_lines(reply.text, locale)]
    if buttons and isinstance(reply, ConfirmReply):
        return _sections([as_lines(reply.text, locale)] if reply.text else [], unsaid(reply))
    return [as_lines(as_plain_text([reply], locale), locale)]


def answers(reply: Reply, said: Statement) -> Iterator[CardButton]:
    """The buttons that answer a reply; none where it is answered in words."""

    def pressing(action: Action) -> Button:
        return Button(pressed=Pressed(conversation=said.conversation, action=action))

    if isinstance(reply, ChoicesReply):
        for option in reply.options:
            chosen = ChooseAction(type="choose", value=option.value, question=reply.question)
            yield CardButton(option.label, pressing(chosen))
    if isinstance(reply, Skippable) and reply.skip is not None:
        named = None if isinstance(reply, TextReply) else reply.question
        left = ChooseAction(type="choose", value=reply.skip.value, question=named)
        yield CardButton(reply.skip.label, pressing(left))
    if isinstance(reply, ConfirmReply):
        yes, no = reply.yes or YES.within(said.locale), reply.no or NO.within(said.locale)
        for label, value, style in ((yes, True, "primary"), (no, False, None)):
            answer = ConfirmAction(type="confirm", value=value, question=reply.question or "")
            yield CardButton(label, pressing(answer), style)
        if reply.no:
            return
        # Giving up what is to be confirmed: `no` alone only asks what is to be changed.
        way = ChooseAction(type="choose", value=value_of("cancel"), question=reply.question)
        sure = SURE_TO_CANCEL.within(said.locale)
        yield CardButton(CANCEL.within(said.locale), pressing(way), "danger", sure)


COMMENT = "comment"
"""The field of an approver's card, by which its value is found when a button is pressed."""
_STYLES = {"approve": "primary", "reject": "danger"}


def deciding(wanted: DecisionRequest, verdict: Verdict) -> CardButton:
    """The button of an approver's card that decides so."""
    record = wanted.approval
    decision = CardDecision(approval=record.id, digest=record.digest, verdict=verdict)
    label = BUTTONS[verdict].within(wanted.locale)
    return CardButton(label, Button(decision=decision), _STYLES.get(verdict))


def title_of(wanted: DecisionRequest) -> str:
    """What an approver's card begins with."""
    title = one_line(wanted.approval.title.within(wanted.locale))
    return APPROVAL_OF.within(wanted.locale).format(title=isolated(title))


def decided_on(wanted: DecisionRequest) -> list[str]:
    """The title and all that the decision is about, apart: what its digest stands for."""
    requester = labelled(REQUESTER.within(wanted.locale), wanted.requester)
    different = [labelled(c.label, c.worded) for c in wanted.changes]
    changed = [CHANGED_SINCE.within(wanted.locale), *different] if different else []
    first = [title_of(wanted), requester, *(["\n".join(changed)] if changed else [])]
    return _sections(first, wanted.approval.summary_in(wanted.locale))


def _sections(first: list[str], summary: Mapping[str, str]) -> list[str]:
    """A section for each field; what is over `MOST_SECTIONS` stands in the last one."""
    found = [*first, *(labelled(label, value) for label, value in summary.items())]
    rest = "\n".join(found[MOST_SECTIONS - 1 :])
    return [*found[: MOST_SECTIONS - 1], *([rest] if rest else [])]
