"""What a conversation says by itself, in both languages: how it goes, never what it is about."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from router.domain.file_types import MOST_FILES
from router.domain.locale import Localised
from router.domain.name_lists import say_titles

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


def unread(words: str) -> Localised:
    """Say from where on a message wasn't read, since it says more than is read of one."""
    return Localised(
        zh=f"这条消息里说的太多，从“{words}”开始的没有读，也没有记下。请把后面的另发一条。",
        en=f"This message says more than is read at once: what begins with “{words}” wasn't read "
        "or noted. Send that part in another message.",
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


def files_left_out(names: Sequence[str], count: int) -> Localised:
    """That `count` files don't go with the message, which has as many as it may have; the first."""
    zh, en = "、".join(f"“{name}”" for name in names), ", ".join(f"“{name}”" for name in names)
    if more := count - len(names):
        zh, en = f"{zh}，以及另外 {more} 个", f"{en} and {more} more"
    goes, them = ("file doesn't go", "it") if count == 1 else ("files don't go", "them")
    return Localised(
        zh=f"一条消息最多带 {MOST_FILES} 个文件。有 {count} 个没有随这条消息带上：{zh}。"
        "请另发一条消息带上。",
        en=f"A message has at most {MOST_FILES} files. {count} {goes} with this one: {en}. Send "
        f"{them} with another message.",
    )


def at_work(title: Localised) -> Localised:
    """A flow needs longer than a turn waits."""
    return Localised(
        zh=f"{title.zh}正在处理，一有结果就告诉你。",
        en=f"{title.en}: still working on it; you'll hear as soon as there is news.",
    )


TOLD_WAIT_SECONDS = 20.0
"""Longer waits are announced to the person."""


def reading(names: Sequence[str], seconds: float = 0.0) -> Localised:
    """Say that a flow waits for files to be read, and about how long if that takes `seconds`.

    >>> reading(["taxi.png"], 70).zh
    '正在读“taxi.png”，大约要一分钟，读完就告诉你。'
    """
    zh, en = "、".join(f"“{name}”" for name in names), ", ".join(f"“{name}”" for name in names)
    wait = Localised(zh="", en="")
    if seconds > TOLD_WAIT_SECONDS:
        minutes = max(1, round(seconds / 60))
        about = "about a minute" if minutes == 1 else f"about {minutes} minutes"
        zh_about = "一" if minutes == 1 else f" {minutes} "
        wait = Localised(zh=f"，大约要{zh_about}分钟", en=f", which takes {about}")
    return Localised(
        zh=f"正在读{zh}{wait.zh}，读完就告诉你。",
        en=f"Reading {en}{wait.en}; you'll hear what is in it as soon as that is done.",
    )


def back_to(title: Localised, question: str = "") -> Localised:
    """What was put aside is taken up, with the question that it stood at."""
    en = f"Back to: {title.en}. {question}".rstrip()
    return Localised(zh=f"我们回到{title.zh}。{question}", en=en)


def go_on(title: Localised) -> Localised:
    """A button that takes up what was put away."""
    return Localised(zh=f"接着办{title.zh}", en=f"Go on: {title.en}")


def put_away(title: Localised, known: Localised, most: int, *, kept: bool) -> Localised:
    """Say that the oldest of too many unfinished requests was closed; `known` is its content."""
    zh_name = f"“{title.zh}”" + (f"（{known.zh}）" if known.zh else "")
    en_name = f"“{title.en}”" + (f" ({known.en})" if known.en else "")
    zh_then, en_then = "还要办的话，请重新说一遍。", "Please start it again if you still need it."
    if kept:
        zh_then = f"填过的都还在，想接着办，说“继续刚才的{title.zh}”就行。"
        en_then = f"What you gave is kept: to go on with it, say “continue {title.en}”."
    return Localised(
        zh=f"这里最多同时放 {most} 件没办完的事，最早的{zh_name}先收起来了，"
        f"什么都没有提交。{zh_then}",
        en=f"Only {most} unfinished requests fit here, so the oldest, {en_name}, was put away; "
        f"nothing was submitted. {en_then}",
    )


TOO_LONG = Localised(zh="这次对话太长了", en="This conversation has become too long")
"""How the notices begin that say what a conversation can't carry any longer."""
PAST_DROPPED = Localised(
    zh=f"{TOO_LONG.zh}，前面说过的我记不得了；聊天记录都还在。",
    en=f"{TOO_LONG.en}, so I no longer remember what was said before. The transcript is complete.",
)

CALLS_DROPPED = Localised(
    zh=f"{TOO_LONG.zh}，等你这边设备返回的结果没法再接着用了，请重新说一遍要什么。",
    en=f"{TOO_LONG.en} to go on with what your device was asked to do. Please say again what you "
    "need.",
)


def lapsed_dropped(titles: Sequence[Localised]) -> Localised:
    """Say that what was kept of expired requests is gone."""
    named = say_titles(titles)
    return Localised(
        zh=f"{TOO_LONG.zh}，之前收起来的{named.zh}填过的内容没法再留着了；还要办的话，请重新说一遍。",
        en=f"{TOO_LONG.en} to keep what you had given for {named.en}. Please start again if you "
        "still need it.",
    )


def skill_dropped(titles: Sequence[Localised]) -> Localised:
    """Say that a skill can't go on from where it was."""
    named = say_titles(titles)
    return Localised(
        zh=f"{TOO_LONG.zh}，{named.zh}没法接着刚才的往下办了，请重新说一遍要什么。",
        en=f"{TOO_LONG.en} for {named.en} to go on from where it was. Please say again what you "
        "need.",
    )


def handed_in_dropped(titles: Sequence[Localised]) -> Localised:
    """Say that requests which wait for approval can't be changed here any longer."""
    named = say_titles(titles)
    return Localised(
        zh=f"{TOO_LONG.zh}。{named.zh}还在审批，只是不能再在这里改内容了。",
        en=f"{TOO_LONG.en}. You are still waiting for a decision on {named.en}, but it can't be "
        "changed from here any more.",
    )


def runs_dropped(titles: Sequence[Localised]) -> Localised:
    """Say that unfinished requests can't be continued in this conversation."""
    named = say_titles(titles)
    return Localised(
        zh=f"{TOO_LONG.zh}，{named.zh}没法在这里接着办了；在你的申请列表里还能看到。",
        en=f"{TOO_LONG.en} to go on with {named.en} here. You still find it in the list of your "
        "requests.",
    )


def news_dropped(titles: Sequence[Localised]) -> Localised:
    """Say that news of requests wasn't told here."""
    named = say_titles(titles)
    return Localised(
        zh=f"{named.zh}有新进展，但{TOO_LONG.zh}，请到申请列表里看。",
        en=f"There is news of {named.en}, but this conversation has become too long to tell it "
        "here; please look at the list of your requests.",
    )


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


BACK_TO_DESK = Localised(zh="回到助手", en="Back to the desk")
IN_QUEUE = Localised(
    zh="已经转给同事了，有人接手就回复。说“交还”就回到助手。",
    en="It is with the people who help; whoever takes it answers here. Say “back to the desk” "
    "to have me again.",
)
BACK_AT_DESK = Localised(
    zh="好的，我们继续。想办什么，直接说就行。",
    en="All right, you have me again. Just say what you need.",
)
REMINDED = Localised(
    zh="让您久等了，已经再次提醒同事。", en="Sorry for the wait; they have been reminded."
)
UNANSWERED = Localised(
    zh="一直没有人回复，很抱歉，对话先回到我这里。可以晚些时候再说“转人工”，"
    "或直接联系人事、财务或管理员。",
    en="Nobody has answered, sorry: you have me again. Ask for a person once more later, or "
    "write to HR, finance or an administrator yourself.",
)
SILENT = Localised(
    zh="很久没有新消息，对话回到我这里了。还需要人帮忙就说“转人工”。",
    en="Nothing was said for a while, so you have me again. Ask for a person when you need one.",
)


def handed_to(people: int) -> Localised:
    """It waits for one of so many people, who are on duty."""
    are = "person is" if people == 1 else "people are"
    return Localised(
        zh=f"已经转给同事了（现在 {people} 人在岗），有人接手就在这里回复。"
        "这期间您说的话只给他们看，不经过模型；说“交还”就回到助手。",
        en=f"I have passed you on ({people} {are} on duty); whoever takes it answers here. Until "
        "then what you say is for them alone, and no model reads it. Say “back to the "
        "desk” to have me again.",
    )


def nobody_on_duty(opens_at: datetime) -> Localised:
    """It waits until somebody comes on duty; the moment is in that person's time zone."""
    when = f"{opens_at:%Y-%m-%d %H:%M}"
    return Localised(
        zh=f"现在没有同事在岗，{when} 起有人。您说的话会留给他们，不经过模型；"
        "想让我接着帮忙就说“交还”。",
        en=f"Nobody is on duty right now; somebody is from {when} on. What you say waits for them, "
        "and no model reads it. Say “back to the desk” if I should go on "
        "meanwhile.",
    )


def flow_gave_up(title: Localised) -> Localised:
    """Why a flow that understood no answer hands over."""
    return Localised(zh=f"“{title.zh}”没弄明白回答", en=f"“{title.en}” understood no answer")


def taken_over(name: str) -> Localised:
    """Somebody has taken the conversation."""
    return Localised(
        zh=f"{name} 来了：现在您说的话直接给 {name}。说“交还”就回到助手。",
        en=f"{name} is here: what you say goes to them now. Say “back to the desk” to have me "
        "again.",
    )


def returned_by(name: str) -> Localised:
    """They have given it back."""
    return Localised(
        zh=f"{name} 把对话交还给我了，想办什么直接说就行。",
        en=f"{name} has handed you back to me. Just say what you need.",
    )


def solved_by(name: str) -> Localised:
    """They have said that it is done."""
    return Localised(
        zh=f"{name} 已经处理完了。还有什么要办的，直接跟我说。",
        en=f"{name} is done with it. If there is anything else, just tell me.",
    )


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
