"""What a plan had reached when its run came to a limit, for the employee."""

from router.domain.texts import Locale, Localised
from router.skill.loop import one_line
from router.skill.plan import Plan

_DONE = Localised(zh="已经查清：", en="Done so far:")
_OPEN = Localised(zh="还没有完成：", en="Still open:")


def reached(why: str, plan: Plan, locale: Locale) -> str:
    """Why there is no answer, what the finished steps found, and which steps are still open."""
    done = plan.done
    found = [f"- {one_line(s.task)}: {one_line(done[s.id])}" for s in plan.steps if s.id in done]
    open_ = [f"- {one_line(step.task)}" for step in plan.steps if step.id not in done]
    return "\n".join(
        [
            why,
            *([_DONE.within(locale), *found] if found else []),
            *([_OPEN.within(locale), *open_] if open_ else []),
        ]
    )
