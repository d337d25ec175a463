"""Routes, with the reason in a sentence that the person can read; and what can be done here."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from router.domain.locale import Locale, Localised
from router.domain.messages import Route, RouteBy, RouteKind
from router.domain.principals import Capability, CapabilityKind
from router.flow.definition import FlowDefinition
from router.flow.paused import PausedRun, Situation
from router.flow.view import FlowView, FormView


@dataclass(frozen=True)
class Reason:
    """Where a message goes, by which means, and why; `{title}` is what the flow is called."""

    kind: RouteKind
    by: RouteBy
    zh: str
    en: str

    def route(self, locale: Locale, target: str | None = None, **words: str) -> Route:
        """The route, with these words in its reason."""
        reason = Localised(zh=self.zh, en=self.en).within(locale).format(**words)
        return Route(kind=self.kind, target=target, by=self.by, reason=reason)

    def told(self, title: Localised | None = None) -> Localised:
        """Why, for whoever reads it; `title` is the flow's that it is about, if it is about one."""
        zh, en = (title.zh, title.en) if title else ("", "")
        return Localised(zh=self.zh.format(title=zh), en=self.en.format(title=en))

    def of(self, run: FlowView | FlowDefinition | PausedRun, locale: Locale, **words: str) -> Route:
        """The route to a flow."""
        return self.route(locale, run.flow, title=run.title.within(locale), **words)


MATCHED = Reason(
    "flow",
    "pattern",
    "“{words}”符合“{title}”的一个句式",
    "“{words}” matches a pattern of “{title}”",
)
SEVERAL = Reason(
    "clarify", "pattern", "这句话同时符合：{titles}", "The message matches several flows: {titles}"
)
CHOSEN = Reason("flow", "slot", "选了“{title}”", "“{title}” was chosen")
PRESSED = replace(CHOSEN, by="action")
BY_ACTION = Reason(
    "flow",
    "action",
    "用按钮或表单回答了“{title}”的问题",
    "A button or form answered what “{title}” asked",
)
ATTACHED = Reason("flow", "action", "附上了“{title}”可能要的文件", "A file came for “{title}”")
PAPERS = Reason("flow", "action", "“{title}”要的就是这样的票据", "“{title}” is for such papers")
FILES_ALONE = Reason("reply", "action", "只有文件，没有话", "There are files and no words")
NOT_THERE = Reason("reply", "action", "要办的事现在没有", "What was to be started isn't there")
NONE_WANTED = Reason("reply", "action", "给出的几项都不要", "None of what was offered is wanted")
OUTDATED = Reason(
    "reply", "action", "回答的是已经过去的问题", "A button or form answered a question that is over"
)
UNASKED = Reason("reply", "action", "没有在等这样的回答", "Nothing waits for such an answer")
FILLED = Reason("flow", "slot", "回答了“{title}”的 {names}", "This gives {names} of “{title}”")
GOES_ON = Reason("flow", "slot", "接着办“{title}”", "“{title}” goes on")
FOR_A_PERSON = Reason("handoff", "pattern", "想找人工", "asks for a person")
WITH_A_PERSON = Reason("handoff", "pattern", "转给正在接待的同事", "Goes to the person who helps")
BACK_AT_DESK = Reason(
    "cancel", "pattern", "不找人了，回到助手", "Comes back from a person to the desk"
)
NOT_MEANWHILE = Reason(
    "handoff",
    "action",
    "正由同事接待，按钮暂时不起作用",
    "A person has it: no button does anything",
)
ACTED = {
    "skip": Reason(
        "flow", "slot", "在“{title}”里跳过这一项", "In “{title}”: leaves what is asked empty"
    ),
    "help": Reason(
        "flow", "slot", "在“{title}”里问该怎么回答", "In “{title}”: asks what can be said"
    ),
    "repeat": Reason(
        "flow", "slot", "在“{title}”里请再问一遍", "In “{title}”: asks to hear the question again"
    ),
    "start_over": Reason("flow", "slot", "在“{title}”里从头来", "In “{title}”: begins anew"),
    "person": replace(FOR_A_PERSON, by="slot"),
}
"""That a message is about the dialogue with a flow itself, by the act that it is."""
RESUMED = Reason("flow", "slot", "回到“{title}”", "It goes back to “{title}”")
RESUME_DECLINED = Reason(
    "reply", "slot", "先放着的都不接着办", "None of what was put aside is gone on with"
)
WHICH_TO_RESUME = Reason("clarify", "slot", "放着几件没办完的", "Several flows are put aside")
WHAT_IS_HERE = Reason("reply", "pattern", "问这里能办什么", "It asks what can be done here")
AGAIN = Reason("reply", "pattern", "请再说一遍", "It asks to have the last reply again")
REMEMBERED = Reason("reply", "pattern", "请记住一件事", "It asks to have something remembered")
FORGOTTEN = Reason(
    "reply", "pattern", "请忘掉记住的事", "It asks to have something remembered no longer"
)
MEMORIES = Reason("reply", "pattern", "问都记住了什么", "It asks what was to be remembered")
TOOL = Reason("tool", "pattern", "“{words}”就是要“{title}”", "“{words}” plainly asks for “{title}”")
CONFIRMED = Reason(
    "flow", "slot", "回答了“{title}”的确认", "This answers the confirmation of “{title}”"
)
ONLY_ITEM = Reason("clarify", "slot", "要删的是唯一的一项", "The only item was to be removed")
WHICH_ITEM = Reason("clarify", "slot", "说的可能是好几项里的一项", "Several items could be meant")
AMENDS = Reason(
    "flow",
    "slot",
    "要改已经提交的“{title}”",
    "It changes “{title}”, which was handed in",
)
SEVERAL_WAIT = Reason(
    "clarify", "slot", "好几件在等审批的都可能要这样改", "Several that wait could be changed so"
)
CANCELLED = Reason("cancel", "slot", "不办“{title}”了", "The message calls off “{title}”")
SKILL_ANSWERED = Reason(
    "skill", "slot", "接着 {skill} 问的说", "It goes on with what {skill} asked"
)
SKILL_CALLED = Reason("skill", "pattern", "点名要“{title}”来办", "It calls “{title}” by name")
PLAN_AGREED = Reason(
    "skill", "slot", "同意 {skill} 按计划办", "{skill} may go by the plan that it showed"
)
SKILL_LEFT = Reason("cancel", "slot", "不让 {skill} 接着办了", "{skill} is called off")


def filled(view: FormView, slots: Iterable[str], locale: Locale) -> Route:
    """The message answered or corrected something of the active flow, or only goes on with it."""
    labels = (view.label_of(name) for name in slots)
    names = ("、" if locale == "zh" else ", ").join(label.within(locale) for label in labels)
    return FILLED.of(view, locale, names=names) if names else GOES_ON.of(view, locale)


MOST = 8
"""Titles of a kind that are named: as many as a person reads at a glance."""
WHICH = Localised(zh="您想办哪一件？", en="Which of these do you mean?")
WHICH_TO_AMEND = Localised(
    zh="有几件都在等审批，要改哪一件？",
    en="Several requests wait for approval. Which of them should be changed?",
)
WHAT_WAITS = Localised(
    zh="正在等审批（说“把……改成……”可以修改，“撤回”可以收回最近的一件）：",
    en="Waiting for approval (“change … to …” changes one, “withdraw” takes the latest back):",
)
GONE = Localised(zh="这件事现在办不了。", en="That can't be started right now.")
NONE_OF_THEM = Localised(zh="好的，都不办。", en="All right, none of them.")
OVER = Localised(
    zh="刚才的问题已经结束了，没有任何改变。", en="That question is over; nothing was changed."
)
ANSWERED_BEFORE = Localised(
    zh="这个问题之前已经答过，或者已经过去了，这次没有再改动什么。",
    en="That question was answered before, or is past: this changed nothing more.",
)
NOTHING_ASKED = {
    action: Localised(
        zh=f"现在没有{zh}，没有任何改变。",
        en=f"There is nothing to {en} right now; nothing was changed.",
    )
    for action, zh, en in (
        ("confirm", "要确认的事", "confirm"),
        ("form", "要填的表", "fill in"),
        ("choose", "要选的", "choose from"),
    )
}
"""What is said to an answer where nothing was asked, by the action's type."""
NOTHING_TAKES_FILES = Localised(
    zh="目前没有对你开放的事项要用文件。", en="Nothing that is open to you here takes files."
)


def what_takes_files(titles: Iterable[Localised]) -> Localised:
    """What files that came without a word could be for."""
    named = list(titles)[:MOST]
    if not named:
        return NOTHING_TAKES_FILES
    zh, en = "、".join(one.zh for one in named), ", ".join(one.en for one in named)
    return Localised(
        zh=f"请说一下文件要用来办什么。可以附文件的有：{zh}。",
        en=f"Please say what the files are for. These take some: {en}.",
    )


SAY_WHICH_ITEM = Localised(
    zh="不确定说的是哪一项，什么都没改。请带上是第几项，比如“第2项改成 35”、“第2项删掉”。",
    en="That could be any of several items, so nothing was changed. Please say which one: "
    "“the second one was 35”, “remove the second one”.",
)
KEEP_ONLY_ITEM = Localised(
    zh="只有这一项，删掉就没有了。不办了请说“取消”，要换成别的就直接说改成什么。",
    en="It is the only item. Say “cancel” to give this up, or say what it should be instead.",
)

_KINDS: tuple[tuple[CapabilityKind, Localised], ...] = (
    ("flow", Localised(zh="办理", en="Requests")),
    ("skill", Localised(zh="请我处理", en="Tasks")),
    ("tool", Localised(zh="查询和工具", en="Look-ups and tools")),
)
NOTHING = Localised(
    zh="目前没有对你开放的事项，请联系管理员。",
    en="Nothing is open to you here yet. Please ask an administrator.",
)


def overview(capabilities: Iterable[Capability], situation: Situation) -> str:
    """The first titles of what the person may use, by kind; others are found by asking.

    Whoever knows that no model is there leaves skills out of `capabilities`: they are its work.
    """
    usable = [c for c in capabilities if situation.may_use(c.kind, c.name, c.roles)]
    locale = situation.locale
    lines = []
    for kind, heading in _KINDS:
        titles = [c.title.within(locale) for c in usable if c.kind == kind]
        more, titles = len(titles) > MOST, titles[:MOST]
        if titles and locale == "zh":
            lines.append(f"- {heading.zh}：{'、'.join(titles)}{'等' if more else ''}")
        elif titles:
            lines.append(f"- {heading.en}: {', '.join(titles)}{' and more' if more else ''}")
    if not lines:
        return NOTHING.within(locale)
    said = next((c.examples for c in usable if c.examples), ())
    example = next((e for e in said if e.isascii() == (locale == "en")), None)
    if locale == "zh":
        such = f"，比如“{example}”" if example else ""
        return "\n".join(["我可以帮你办这些：", *lines, f"想办什么，直接说就行{such}。"])
    such = f", such as “{example}”" if example else ""
    return "\n".join(["This is what I can do for you:", *lines, f"Just say what you need{such}."])
