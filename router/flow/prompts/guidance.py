"""What can be said here: for whoever asks for help, and whoever couldn't be understood.

Answers to one question that don't answer it are each met with more help than the last: a hint;
what fits, with examples; choices; and a person, with which the question rests until it is asked
again. Any answer begins this anew. Words about the dialogue don't count.
"""

from datetime import date
from itertools import islice
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.locale import Localised
from router.domain.messages import ASKING
from router.entities.dates import Days
from router.flow.engine import slots
from router.flow.engine.changes import CHANGE
from router.flow.engine.context import StepContext
from router.flow.engine.form import failing
from router.flow.engine.run import Run
from router.flow.engine.run_parts.question import HANDED_OFF
from router.flow.engine.slots import at, placed
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.prompts import question
from router.flow.slot_types.slot import Slot, filled_by

CONFIRMING = Localised(
    zh="现在等你确认：“确认”就往下办，“不”就改；也可以直接说要改什么。",
    en="It waits for your word: “yes” and it goes on, “no” to change something; "
    "or just say what to change.",
)
SKIP = Localised(zh="“跳过”这一项、", en="“skip” leaves this empty, ")
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
    if (advice := slot.kind.advice(slot)) is not None:
        return advice
    shown = _examples(context, run.question.path or "", slot)
    if shown:
        zh, en = "、".join(e.zh for e in shown), ", ".join(e.en for e in shown)
        return Localised(zh=f"比如可以说：{zh}。", en=f"You could say, for example: {en}.")
    return slot.kind.hint(slot)


def say_what_stays(context: StepContext) -> None:
    """Of what was to be put right and couldn't be: what it still is, and what would be right."""
    for path in context.refused:
        slot = context.definition.slot_at(path)
        if context.ended or slot is None or slot.of or slot.fields:
            continue
        if at(context.run.form.slots, path) is not None:
            right = _examples(context, path, slot)
            context.say(slots.unchanged(context.definition, context.run, path, right))


def _examples(context: StepContext, path: str, slot: Slot) -> list[Localised]:
    if path in ("", CHANGE):
        return []
    had = at(context.run.form.slots, path)
    today = context.now.astimezone(ZoneInfo(context.run.requester.timezone)).date()
    known = [context.run.form.slots.get(name) for name in filled_by(Days, context.definition.slots)]
    days = [date.fromisoformat(day) for day in known if isinstance(day, str)]
    proposed = ((value, say) for value, say in slot.kind.examples(days, today) if value != had)
    right = (say for value, say in proposed if _would_be_taken(context, path, value))
    return list(islice(right, MOST_EXAMPLES))


def _would_be_taken(context: StepContext, path: str, value: JsonValue) -> bool:
    """False where a check refuses it; what only a lookup could tell is let pass."""
    name, *rest = path.split(".")
    slots = {**context.run.form.slots, name: placed(context.run.form.slots.get(name), rest, value)}
    try:
        return not failing(context, slots, {name})
    except LookupNeeded:
        return True
    except ExpressionError:
        return False


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
    """Say what helps where this step was a miss, or an answer that was `refused` with a reason."""
    run = context.run
    same = before.question_id == run.question_id and run.status in ASKING and not run.work.tasks
    if not same or run.question.no_matches in (0, before.question.no_matches):
        return
    if run.question.no_matches == HANDED_OFF:
        run.question.quiet = True
        context.note("handed_off")
        context.say(A_PERSON)
    elif run.question.no_matches > EXPLAINED:
        context.say(CHOOSE if refused else _puzzled(CHOOSE))
    elif run.question.no_matches == EXPLAINED:
        answer = how_to_answer(context)
        context.say(answer if refused else _puzzled(answer))
    elif not refused:
        context.say(question.hint(context.definition, run))


def _puzzled(say: Localised) -> Localised:
    return Localised(zh=f"{question.UNCLEAR.zh}{say.zh}", en=f"{question.UNCLEAR.en} {say.en}")
