"""What can be said here: for whoever asks for help, and whoever couldn't be understood.

What can be said here: to whoever asks for help in the middle of a flow.

Answers to one question that don't answer it: each is met with more help than the last.

A hint; what fits, with examples; choices; and a person, with which the question rests until it
is asked again. Any answer begins this anew. Words about the dialogue are no misses.
"""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.messages import ASKING
from router.flow.definition import Slot
from router.flow.engine import slots
from router.flow.engine.changes import CHANGE
from router.flow.engine.context import StepContext
from router.flow.engine.form import failing
from router.flow.engine.run import HANDED_OFF, Run
from router.flow.engine.slots import at, placed
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.prompts import question
from router.flow.prompts.values import MONTHS

Example = tuple[JsonValue, Localised]

CONFIRMING = Localised(
    zh="现在等你确认：“确认”就往下办，“不”就改；也可以直接说要改什么。",
    en="It waits for your word: “yes” and it goes on, “no” to change something; "
    "or just say what to change.",
)
YES_OR_NO = Localised(zh="回答“是”或“否”。", en="Answer yes or no.")
IN_WORDS = Localised(zh="用自己的话说一句就行。", en="A few words of your own will do.")
SKIP = Localised(zh="“跳过”这一项、", en="“skip” leaves this empty, ")
AMOUNTS: tuple[Example, ...] = (
    ({"amount": "58.00", "currency": "CNY"}, Localised(zh="58 元", en="58 CNY")),
    ({"amount": "120.50", "currency": "CNY"}, Localised(zh="120.5 元", en="120.50 CNY")),
)
MOST_EXAMPLES = 2


def explanation(context: StepContext) -> Localised:
    """What the flow is for, how what is asked can be answered, and what else can be said."""
    about, answer = context.definition, how_to_answer(context)
    skip = SKIP if question.can_skip(about, context.run) else Localised(zh="", en="")
    return Localised(
        zh=f"这是“{about.title.zh}”：{about.description.zh}\n{answer.zh}\n"
        f"随时可以说：“把……改成……”更正、{skip.zh}“再说一遍”、“从头来”、“取消”。",
        en=f"This is “{about.title.en}”: {about.description.en}\n{answer.en}\n"
        f"At any time: “change … to …” corrects something, {skip.en}“repeat that” asks again, "
        "“start over” begins anew, “cancel” gives it up.",
    )


def how_to_answer(context: StepContext) -> Localised:
    """How the question that is asked can be answered, with examples that would be taken."""
    run = context.run
    if run.status == "confirming":
        return CONFIRMING
    slot = question.asked_slot(context.definition, run)
    if slot.type == "list":
        return question.how_to_go_on(slot)
    if slot.type in _BY_TYPE:
        return _BY_TYPE[slot.type]
    shown = _examples(context, run.asked or "", slot)
    if shown:
        zh, en = "、".join(e.zh for e in shown), ", ".join(e.en for e in shown)
        return Localised(zh=f"比如可以说：{zh}。", en=f"You could say, for example: {en}.")
    return question.fitting(slot)


_BY_TYPE: dict[str, Localised] = {"boolean": YES_OR_NO, "text": IN_WORDS}


def say_what_stays(context: StepContext) -> None:
    """Of what was to be put right and couldn't be: what it still is, and what would be right."""
    for path in context.refused:
        slot = context.definition.slot_at(path)
        if context.ended or slot is None or slot.of or slot.fields:
            continue
        if at(context.run.slots, path) is not None:
            right = _examples(context, path, slot)
            context.say(slots.unchanged(context.definition, context.run, path, right))


def _examples(context: StepContext, path: str, slot: Slot) -> list[Localised]:
    propose = _PROPOSED.get(slot.type)
    if propose is None or path in ("", CHANGE):
        return []
    had = at(context.run.slots, path)
    right = (
        say
        for value, say in propose(context)
        if value != had and _would_be_taken(context, path, value)
    )
    return list(islice(right, MOST_EXAMPLES))


def _would_be_taken(context: StepContext, path: str, value: JsonValue) -> bool:
    """False where a check refuses it; what only a lookup could tell is let pass."""
    name, *rest = path.split(".")
    slots = {**context.run.slots, name: placed(context.run.slots.get(name), rest, value)}
    try:
        return not failing(context, slots, {name})
    except LookupNeeded:
        return True
    except ExpressionError:
        return False


def _days(context: StepContext) -> Iterator[Example]:
    """Days that people mean: after one that is known already, else around today."""
    today = context.now.astimezone(ZoneInfo(context.run.requester.timezone)).date()
    for known in _known_days(context):
        yield _day(known + timedelta(days=1))
        yield _day(known)
    yield (today + timedelta(days=1)).isoformat(), Localised(zh="明天", en="tomorrow")
    yield _day(today + timedelta(days=7))
    yield (today - timedelta(days=1)).isoformat(), Localised(zh="昨天", en="yesterday")
    yield _day(today - timedelta(days=7))


def _known_days(context: StepContext) -> Iterator[date]:
    for name, slot in context.definition.slots.items():
        known = context.run.slots.get(name)
        if slot.type == "date" and isinstance(known, str):
            yield date.fromisoformat(known)


def _day(day: date) -> Example:
    words = Localised(zh=f"{day.month}月{day.day}日", en=f"{day.day} {MONTHS[day.month - 1]}")
    return day.isoformat(), words


_PROPOSED: dict[str, Callable[[StepContext], Iterator[Example]]] = {
    "date": _days,
    "money": lambda _: iter(AMOUNTS),
}


EXPLAINED = 2

CHOOSE = Localised(
    zh="不知道怎么答也没关系，从下面选一个就行。",
    en="Never mind if you don't know what to answer: just choose one of these.",
)
A_PERSON = Localised(
    zh="我没能弄明白，请找人事、财务或管理员帮忙。这件事还开着：弄清楚了直接回答就接着办，"
    "不办了就说“取消”。",
    en="I couldn't make that out; please ask HR, finance or an administrator. This stays open: "
    "once you know, just answer and it goes on, or say “cancel”.",
)


def help_with(before: Run, context: StepContext, *, refused: bool) -> None:
    """Say what helps, where this step was a miss.

    `refused`: it was an answer that was refused, with the reason.
    """
    run = context.run
    same = before.question == run.question and run.status in ASKING and not run.tasks
    if not same or run.misses in (0, before.misses):
        return
    if run.misses == HANDED_OFF:
        run.quiet = True
        context.note("handed_off")
        context.say(A_PERSON)
    elif run.misses > EXPLAINED:
        context.say(CHOOSE if refused else _puzzled(CHOOSE))
    elif run.misses == EXPLAINED:
        answer = how_to_answer(context)
        context.say(answer if refused else _puzzled(answer))
    elif not refused:
        context.say(question.hint(context.definition, run))


def _puzzled(say: Localised) -> Localised:
    return Localised(zh=f"{question.UNCLEAR.zh}{say.zh}", en=f"{question.UNCLEAR.en} {say.en}")
