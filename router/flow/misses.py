"""Answers to one question that don't answer it: each is met with more help than the last.

A hint; what fits, with examples; choices; and a person, with which the question rests until it
is asked again. Any answer begins this anew. Words about the dialogue are no misses.
"""

from router.domain.messages import ASKING
from router.domain.texts import Localised
from router.flow import explaining, showing
from router.flow.run import HANDED_OFF, Run
from router.flow.walk import Walk

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


def help_with(before: Run, walk: Walk, *, refused: bool) -> None:
    """Say what helps, where this step was a miss.

    `refused`: it was an answer that was refused, with the reason.
    """
    run = walk.run
    same = before.question == run.question and run.status in ASKING and not run.errands
    if not same or run.misses in (0, before.misses):
        return
    if run.misses == HANDED_OFF:
        run.quiet = True
        walk.note("handed_off")
        walk.say(A_PERSON)
    elif run.misses > EXPLAINED:
        walk.say(CHOOSE if refused else _puzzled(CHOOSE))
    elif run.misses == EXPLAINED:
        answer = explaining.how_to_answer(walk)
        walk.say(answer if refused else _puzzled(answer))
    elif not refused:
        walk.say(showing.hint(walk.definition, run))


def _puzzled(say: Localised) -> Localised:
    return Localised(zh=f"{showing.UNCLEAR.zh}{say.zh}", en=f"{showing.UNCLEAR.en} {say.en}")
