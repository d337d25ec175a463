"""What a conversation says by itself, in both languages: how it goes, never what it is about."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from router.domain.locale import Localised

NOTHING_SAID = Localised(
    zh="我还什么都没说。想办什么，直接说就行。",
    en="I haven't said anything yet. Just say what you need.",
)
DONE = Localised(zh="好的。", en="All right.")
STOPPED = Localised(zh="好的，停下了。", en="All right, stopped.")
FAILED = Localised(
    zh="这一步没能完成，请稍后再试一次。",
    en="That couldn't be done just now; please try again in a moment.",
)
SET_ASIDE = Localised(
    zh="处理这条消息时程序接连意外退出，所以先搁置了，不会再自动重试；管理员能看到。可以换个说法再说一次。",
    en="Processes kept dying of this message, so it is set aside and not tried again; the "
    "administrators can see that. You could say it in other words.",
)
WAS_SET_ASIDE = Localised(zh="这一轮被搁置了", en="the turn was set aside")
WAS_STOPPED = Localised(zh="这一轮被停下了", en="the turn was cancelled")
HAS_FAILED = Localised(zh="这一轮没能完成", en="the turn was failed")
NOTHING_ACTIVE = Localised(
    zh="现在没有正在办的事。想办什么，直接说就行。",
    en="Nothing is under way right now. Just say what you need.",
)
SETTLED_ALREADY = Localised(
    zh="它已经不在等审批了，没有任何改变。",
    en="It doesn't wait for approval any more; nothing was changed.",
)
LEFT_ALONE = Localised(zh="好的，先到这里。", en="All right, let's leave it there.")
RESUME_DECLINED = Localised(
    zh="好的，都先放着。想接着办哪件，说“回到”加上它的名字就行。",
    en="All right, they are left. Say “back to” and a name to go on with one.",
)
OVER_ALREADY = Localised(
    zh="那件事已经结束了，没有什么要接着办的。",
    en="That is over already; there is nothing to go on with.",
)
FLOW_GONE = Localised(zh="这个流程现在办不了。", en="That can't be started right now.")
SKILL_GONE = Localised(zh="这项技能现在用不了。", en="That skill isn't here right now.")
AT_FRONT_END = Localised(
    zh="这一步要由你的设备来做，做完我接着说。",
    en="That is for your device to do; I'll go on when it has.",
)
NOT_ASKED_FOR = Localised(zh="没有在等这个结果。", en="Nothing waits for that result.")
FRONT_END_ANSWERED = Localised(zh="前端送来了结果", en="the front end sent its result")
ANSWERED_ABOVE = Localised(zh="这句已经算进上一条回复里了。", en="That went into the answer above.")


def heard_at_work(skill: str) -> Localised:
    """Why a message has no answer of its own."""
    return Localised(zh=f"{skill} 边办边听到了", en=f"{skill} heard it while at work")


def under_way(names: Sequence[str]) -> Localised:
    """What a model is told of the part of a message that rules took."""
    return Localised(
        zh=f"{'、'.join(names)}：已经在办了。",
        en=f"{', '.join(names)}: that is being done already.",
    )


def not_decided(words: str) -> Localised:
    """One of several wishes got lost, and the others didn't."""
    return Localised(
        zh=f"“{words}”这一件刚才没能看，请再单独说一次。",
        en=f"“{words}” couldn't be looked at just now; please say it once more by itself.",
    )


def files_left(names: Sequence[str], *, asked: bool) -> Localised:
    """That these files weren't used: nothing that is `asked` here takes them, or nothing is."""
    zh = "、".join(f"“{name}”" for name in names)
    en, are = ", ".join(f"“{name}”" for name in names), "are" if len(names) > 1 else "is"
    if asked:
        zh, en = f"这里没有地方放{zh}", f"There is no place here for {en}"
    else:
        zh, en = f"{zh}还没有交到任何地方", f"{en} {are} not handed in anywhere"
    they = "they stay" if len(names) > 1 else "it stays"
    return Localised(zh=f"{zh}，先留在附件里。", en=f"{en}; {they} attached.")


def at_work(title: Localised) -> Localised:
    """A flow needs longer than a turn waits."""
    return Localised(
        zh=f"{title.zh}正在处理，一有结果就告诉你。",
        en=f"{title.en}: still working on it; you'll hear as soon as there is news.",
    )


def reading(names: Sequence[str]) -> Localised:
    """A flow waits for files to be read."""
    zh, en = "、".join(f"“{name}”" for name in names), ", ".join(f"“{name}”" for name in names)
    return Localised(
        zh=f"正在读{zh}，读完就告诉你。",
        en=f"Reading {en}; you'll hear what is in it as soon as that is done.",
    )


def back_to(title: Localised, question: str = "") -> Localised:
    """What was put aside is taken up, with the question that it stood at."""
    en = f"Back to: {title.en}. {question}".rstrip()
    return Localised(zh=f"我们回到{title.zh}。{question}", en=en)


def go_on(title: Localised) -> Localised:
    """A button that takes up what was put away."""
    return Localised(zh=f"接着办{title.zh}", en=f"Go on: {title.en}")


def on_with(title: Localised) -> Localised:
    """After days an answer came that needs no reminder: what it is to."""
    return Localised(zh=f"接着办{title.zh}。", en=f"On with: {title.en}.")


def where_we_were(title: Localised, known: str, question: str) -> Localised:
    """After days: which flow waits, what it knows, and its question where that isn't asked next."""
    zh, en = f"我们上次办到{title.zh}", f"Last time we were at: {title.en}"
    if known:
        zh, en = f"{zh}（{known}）", f"{en} ({known})"
    if question:
        return Localised(zh=f"{zh}，等你回答：{question}", en=f"{en}. It waits for: {question}")
    return Localised(zh=f"{zh}。", en=f"{en}.")


def later(title: Localised) -> Localised:
    """A second flow waits for the first."""
    return Localised(zh=f"{title.zh}随后接着办。", en=f"{title.en} comes right after.")


def handed_off(reason: str) -> Localised:
    """A person has to help."""
    return Localised(
        zh=f"这件事我办不了，请找人事、财务或管理员帮忙。（{reason}）",
        en=f"I can't do that; please ask HR, finance or an administrator. ({reason})",
    )


def refused_by_hook(name: str) -> Localised:
    """Why nothing was decided: a hook won't have it."""
    return Localised(zh=f"钩子 {name} 没有放行", en=f"the hook {name} refuses it")


def stuck(title: Localised) -> Localised:
    """A skill failed in a way nobody foresaw."""
    return Localised(
        zh=f"{title.zh}这次没能完成，请稍后再试，或换个说法。",
        en=f"{title.en} couldn't finish this; please try again later, or put it differently.",
    )


_CAME_TO = (
    (("done", "failed"), Localised(zh="已经办完", en="ended before that")),
    (
        ("unknown",),
        Localised(zh="已经开始，结果不明", en="had begun, and what came of it isn't known"),
    ),
    (("skipped",), Localised(zh="没有开始", en="never began")),
)
"""What had become of a call when its turn was stopped, by its status."""


def calls_left(calls: Sequence[tuple[Localised, str]]) -> Localised:
    """Which calls of a turn that was stopped had ended, had begun, or never began."""
    zh, en = list[str](), list[str]()
    for statuses, became in _CAME_TO:
        titles = [title for title, status in calls if status in statuses]
        if titles:
            zh.append(f"{'、'.join(_counted(t.zh for t in titles))}：{became.zh}")
            en.append(f"{', '.join(_counted(t.en for t in titles))}: {became.en}")
    return Localised(zh=f"{'；'.join(zh)}。", en=f"{'; '.join(en)}.")


def _counted(titles: Iterable[str]) -> Iterator[str]:
    """Each of them once, with how often it is there."""
    for title, times in Counter(titles).items():
        yield title if times == 1 else f"{title} ×{times}"
