"""Routes, with the reason in a sentence that the person can read; and what can be done here."""

from collections.abc import Iterable, Sequence

from router.domain.commands import Command, ReplyText
from router.domain.locale import Locale, Localised
from router.domain.messages import Route, RouteBy, RouteKind
from router.domain.principals import Capability, CapabilityKind
from router.flow.definition import FlowDefinition
from router.flow.view import FlowView

GONE = Localised(zh="这件事现在办不了。", en="That can't be started right now.")
NONE_OF_THEM = Localised(zh="好的，都不办。", en="All right, none of them.")
OVER = Localised(
    zh="刚才的问题已经结束了，没有任何改变。",
    en="That question is over; nothing was changed.",
)

FOR_A_PERSON = Localised(zh="想找人工", en="asks for a person")

UNASKED: dict[str, Localised] = {
    "confirm": Localised(
        zh="现在没有要确认的事，没有任何改变。",
        en="There is nothing to confirm right now; nothing was changed.",
    ),
    "form": Localised(
        zh="现在没有要填的表，没有任何改变。",
        en="There is nothing to fill in right now; nothing was changed.",
    ),
    "choose": Localised(
        zh="现在没有要选的，没有任何改变。",
        en="There is nothing to choose from right now; nothing was changed.",
    ),
}
"""What is said to an answer where nothing was asked, by the action's type."""


def _say(locale: Locale, zh: str, en: str) -> str:
    return Localised(zh=zh, en=en).within(locale)


def matched(flow: FlowDefinition, words: str, locale: Locale) -> Route:
    """A flow begins since one of its patterns was found in these words of the message."""
    reason = _say(
        locale,
        f"“{words}”符合“{flow.title.zh}”的一个句式",
        f"“{words}” matches a pattern of “{flow.title.en}”",
    )
    return Route(kind="flow", target=flow.flow, by="pattern", reason=reason)


def several(flows: Sequence[FlowDefinition], locale: Locale) -> tuple[Route, str]:
    """Several flows match: the route, and the question which of them is meant."""
    zh = "、".join(flow.title.zh for flow in flows)
    en = ", ".join(flow.title.en for flow in flows)
    reason = _say(locale, f"这句话同时符合：{zh}", f"The message matches several flows: {en}")
    route = Route(kind="clarify", by="pattern", reason=reason)
    return route, _say(locale, "您想办哪一件？", "Which of these do you mean?")


def chosen(flow: FlowDefinition, locale: Locale) -> Route:
    """An offered flow was chosen in words."""
    reason = _say(locale, f"选了“{flow.title.zh}”", f"“{flow.title.en}” was chosen")
    return Route(kind="flow", target=flow.flow, by="slot", reason=reason)


def pressed(flow: FlowDefinition, locale: Locale) -> Route:
    """An offered flow was chosen with a button."""
    return chosen(flow, locale).model_copy(update={"by": "action"})


def by_action(view: FlowView, locale: Locale) -> Route:
    """A button or form answered what a flow asked."""
    reason = _say(
        locale,
        f"用按钮或表单回答了“{view.title.zh}”的问题",
        f"A button or form answered what “{view.title.en}” asked",
    )
    return Route(kind="flow", target=view.flow, by="action", reason=reason)


def not_there(locale: Locale) -> Route:
    """A button names a flow that isn't there (any longer), or not for this person."""
    reason = _say(locale, "要办的事现在没有", "What was to be started isn't there")
    return Route(kind="reply", by="action", reason=reason)


def none_of_them(locale: Locale) -> Route:
    """What was offered is left."""
    reason = _say(locale, "给出的几项都不要", "None of what was offered is wanted")
    return Route(kind="reply", by="action", reason=reason)


def outdated(kind: RouteKind, locale: Locale) -> Route:
    """A button or form answered a question that is no longer open."""
    reason = _say(
        locale, "回答的是已经过去的问题", "A button or form answered a question that is over"
    )
    return Route(kind=kind, by="action", reason=reason)


def unasked(locale: Locale) -> Route:
    """A button or form answered where nothing asks for that."""
    reason = _say(locale, "没有在等这样的回答", "Nothing waits for such an answer")
    return Route(kind="reply", by="action", reason=reason)


def filled(view: FlowView, slots: Iterable[str], locale: Locale) -> Route:
    """The message answered or corrected something of the active flow."""
    names = ", ".join(slots)
    if not names:
        reason = _say(locale, f"接着办“{view.title.zh}”", f"“{view.title.en}” goes on")
    else:
        reason = _say(
            locale,
            f"回答了“{view.title.zh}”的 {names}",
            f"This gives {names} of “{view.title.en}”",
        )
    return Route(kind="flow", target=view.flow, by="slot", reason=reason)


_ACTS: dict[str, Localised] = {
    "skip": Localised(zh="跳过这一项", en="leaves what is asked empty"),
    "help": Localised(zh="问该怎么回答", en="asks what can be said"),
    "repeat": Localised(zh="请再问一遍", en="asks to hear the question again"),
    "start_over": Localised(zh="从头来", en="begins anew"),
}


def acted(act: str, view: FlowView, locale: Locale) -> Route:
    """The message is about the dialogue with the active flow itself."""
    what = _ACTS[act]
    reason = _say(locale, f"在“{view.title.zh}”里{what.zh}", f"In “{view.title.en}”: {what.en}")
    return Route(kind="flow", target=view.flow, by="slot", reason=reason)


def taken_up(flow: str, title: Localised, locale: Locale, by: RouteBy) -> Route:
    """What was put aside is gone on with."""
    reason = _say(locale, f"回到“{title.zh}”", f"It goes back to “{title.en}”")
    return Route(kind="flow", target=flow, by=by, reason=reason)


def left_aside(locale: Locale, by: RouteBy) -> Route:
    """What was put aside stays so."""
    reason = _say(locale, "先放着的都不接着办", "None of what was put aside is gone on with")
    return Route(kind="reply", by=by, reason=reason)


def which_to_take_up(locale: Locale) -> Route:
    """Several flows wait, and the person is asked which."""
    reason = _say(locale, "放着几件没办完的", "Several flows are put aside")
    return Route(kind="clarify", by="slot", reason=reason)


def person_wanted(view: FlowView, locale: Locale) -> Route:
    """In the middle of a flow, a person is asked for."""
    reason = FOR_A_PERSON.within(locale)
    return Route(kind="handoff", target=view.flow, by="slot", reason=reason)


def asked_what_is_here(locale: Locale) -> Route:
    """The message asks what can be done here."""
    reason = _say(locale, "问这里能办什么", "It asks what can be done here")
    return Route(kind="reply", by="pattern", reason=reason)


def asked_again(locale: Locale) -> Route:
    """The message asks to have the last reply again."""
    reason = _say(locale, "请再说一遍", "It asks to have the last reply again")
    return Route(kind="reply", by="pattern", reason=reason)


def asked_for_tool(tool: str, title: Localised, words: str, locale: Locale) -> Route:
    """These words of the message plainly ask for a tool, which is called as it is."""
    reason = _say(
        locale, f"“{words}”就是要“{title.zh}”", f"“{words}” plainly asks for “{title.en}”"
    )
    return Route(kind="tool", target=tool, by="pattern", reason=reason)


def confirmed(view: FlowView, locale: Locale) -> Route:
    """The message answered a confirmation."""
    reason = _say(
        locale,
        f"回答了“{view.title.zh}”的确认",
        f"This answers the confirmation of “{view.title.en}”",
    )
    return Route(kind="flow", target=view.flow, by="slot", reason=reason)


def no_item(view: FlowView, locale: Locale, *, only: bool) -> tuple[Route, Command]:
    """Nothing was changed since several items could be meant, or since it is the `only` one."""
    if only:
        reason = _say(locale, "要删的是唯一的一项", "The only item was to be removed")
        text = _say(
            locale,
            "只有这一项，删掉就没有了。不办了请说“取消”，要换成别的就直接说改成什么。",
            "It is the only item. Say “cancel” to give this up, or say what it should be instead.",
        )
    else:
        reason = _say(locale, "说的可能是好几项里的一项", "Several items could be meant")
        text = _say(
            locale,
            "不确定说的是哪一项，什么都没改。请带上是第几项，比如“第2项改成 35”、“第2项删掉”。",
            "That could be any of several items, so nothing was changed. Please say which one: "
            "“the second one was 35”, “remove the second one”.",
        )
    route = Route(kind="clarify", target=view.flow, by="slot", reason=reason)
    return route, ReplyText(text=text)


def cancelled(view: FlowView, locale: Locale) -> Route:
    """The message gives up the active flow."""
    reason = _say(locale, f"不办“{view.title.zh}”了", f"The message calls off “{view.title.en}”")
    return Route(kind="cancel", target=view.flow, by="slot", reason=reason)


def skill_answered(skill: str, locale: Locale) -> Route:
    """The message goes to the skill that asked something."""
    reason = _say(locale, f"接着 {skill} 问的说", f"It goes on with what {skill} asked")
    return Route(kind="skill", target=skill, by="slot", reason=reason)


def skill_left(skill: str, locale: Locale) -> Route:
    """What a skill was asked for is called off."""
    reason = _say(locale, f"不让 {skill} 接着办了", f"{skill} is called off")
    return Route(kind="cancel", target=skill, by="slot", reason=reason)


MOST = 8
"""Titles of a kind that are named: as many as a person reads at a glance."""
_KINDS: tuple[tuple[CapabilityKind, Localised], ...] = (
    ("flow", Localised(zh="办理", en="Requests")),
    ("skill", Localised(zh="请我处理", en="Tasks")),
    ("tool", Localised(zh="查询和工具", en="Look-ups and tools")),
)
NOTHING = Localised(
    zh="目前没有对你开放的事项，请联系管理员。",
    en="Nothing is open to you here yet. Please ask an administrator.",
)


def overview(capabilities: Iterable[Capability], roles: frozenset[str], locale: Locale) -> str:
    """The titles of what these roles may use, by kind: all would be too many.

    Any one of them is found by saying what is wanted of it.
    """
    usable = [c for c in capabilities if not c.roles or c.roles & roles]
    lines = [
        _line(heading, [c for c in usable if c.kind == kind], locale) for kind, heading in _KINDS
    ]
    named = [line for line in lines if line]
    if not named:
        return NOTHING.within(locale)
    opening, closing = _around([c for c in usable if c.examples], locale)
    return "\n".join([opening, *named, closing])


def _line(heading: Localised, capabilities: Sequence[Capability], locale: Locale) -> str:
    if not capabilities:
        return ""
    titles = [c.title.within(locale) for c in capabilities[:MOST]]
    more = len(capabilities) > MOST
    if locale == "zh":
        return f"- {heading.zh}：{'、'.join(titles)}{'等' if more else ''}"
    return f"- {heading.en}: {', '.join(titles)}{' and more' if more else ''}"


def _around(capabilities: Sequence[Capability], locale: Locale) -> tuple[str, str]:
    """How it begins and ends; one of the sentences that people say is shown."""
    examples = [e for c in capabilities[:1] for e in c.examples if e.isascii() == (locale == "en")]
    if locale == "zh":
        such = f"，比如“{examples[0]}”" if examples else ""
        return "我可以帮你办这些：", f"想办什么，直接说就行{such}。"
    such = f", such as “{examples[0]}”" if examples else ""
    return "This is what I can do for you:", f"Just say what you need{such}."
