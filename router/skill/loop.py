"""The rules of a sub-agent's loop, and how the steps of a plan share its turns and tokens. Pure.

A run isn't cut off in the middle of a thought where that can be foreseen: its last step is
announced, has no tools any more, and is for saying what was found. What a step is promised is set
aside, so that steps side by side can't spend the same twice, and the reflection after them always
has a turn. What a step doesn't use comes back to the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from router.domain.locale import Locale, Localised
from router.domain.messages import Usage
from router.domain.value import Value
from router.skill.skill import Skill

Stop = Literal["turns", "tokens", "seconds", "errors", "away", "repetition", "budget"]

MOST_ERRORS = 3
"""Steps in a row that came to nothing."""
MOST_REPEATS = 3
"""Steps among the last few that did the same, with the same results."""
_RECENT = 8
MOST_SENT_BACK = MOST_REWORKED = 2
"""Answers that aren't given as they are; the next one is."""
ALMOST = 0.8
"""The share of its tokens after which a run has one step left."""
LAST_SECONDS = 8.0
"""That are kept back for the last step, or as many as the slowest took so far."""
ANSWER_TOKENS = 500
"""Of an answer, or of what calls find, as far as that can be foreseen."""


class LoopProgress(Value):
    """What a run has done since it last heard from the employee.

    `errors` counts the last steps in a row that came to nothing, the last of them because no model
    answered where it is `away`; `recent` tells the last steps apart by what they did and what came
    of it. `draft` is an answer that was `sent_back` to the model, so many times by now: it is said
    where none comes that is better. It was `reworked` so often for what it missed. The slowest
    question took `pace` seconds. It has `created` so many sub-agents.
    """

    steps: int = 0
    usage: Usage = Usage()
    errors: int = 0
    away: bool = False
    recent: tuple[str, ...] = ()
    draft: str = ""
    sent_back: int = 0
    reworked: int = 0
    pace: float = 0.0
    created: int = 0

    def after(self, usage: Usage, *, fruitless: bool | None) -> "LoopProgress":
        """The progress after one more step; None where its calls are still to be `judged`."""
        return self.beside(1, usage).judged(fruitless=fruitless)

    def judged(self, *, fruitless: bool | None) -> "LoopProgress":
        """The progress once it is known whether any call of the step came to something."""
        if fruitless is None:
            return self
        errors = self.errors + 1 if fruitless else 0
        return self.replace(errors=errors, away=False)

    def unanswered(self) -> "LoopProgress":
        """The progress after one more step, for which no model had an answer."""
        return self.after(Usage(), fruitless=True).replace(away=True)

    def beside(self, steps: int, usage: Usage) -> "LoopProgress":
        """The progress with what a step of its plan took, whatever that came to."""
        return self.replace(steps=self.steps + steps, usage=self.usage + usage)

    def sending_back(self, draft: str) -> "LoopProgress":
        """The progress with an answer that isn't given to the employee yet."""
        return self.replace(draft=draft, sent_back=self.sent_back + 1)

    def reworking(self, draft: str) -> "LoopProgress":
        """The progress with an answer that misses something."""
        return self.replace(draft=draft, reworked=self.reworked + 1)

    def creating(self, subagents: int) -> "LoopProgress":
        """The progress with so many more sub-agents."""
        return self.replace(created=self.created + subagents)

    def timed(self, seconds: float) -> "LoopProgress":
        """The progress with a question that took so long."""
        return self.replace(pace=max(self.pace, seconds))

    @property
    def kept_seconds(self) -> float:
        """What no step may use up, unless it is the last."""
        return max(LAST_SECONDS, self.pace)

    def hearing(self) -> "LoopProgress":
        """The progress once the employee has said something: no draft answers that."""
        return self.replace(draft="", sent_back=0, reworked=0)

    def having_done(self, what: str) -> "LoopProgress":
        """The progress once it is known what the step did, and with what results."""
        return self.replace(recent=(*self.recent, what)[-_RECENT:])

    def with_cost(self, usage: Usage) -> "LoopProgress":
        """The same with what something beside the steps cost: a tool of theirs, or condensing."""
        return self.beside(0, usage)

    @property
    def repeats(self) -> int:
        """How often the last few steps did what the very last one did."""
        return self.recent.count(self.recent[-1]) if self.recent else 0


def is_sent_back(skill: Skill, progress: LoopProgress) -> bool:
    """True where plain text isn't taken for an answer (yet)."""
    return skill.require_done and progress.sent_back < MOST_SENT_BACK


def is_reflected_on(skill: Skill, progress: LoopProgress, seconds_left: float) -> bool:
    """True where an answer is looked at once more before it is given, and could be bettered."""
    more = skill.reflect and progress.reworked < MOST_REWORKED
    return more and why_last(skill, progress, seconds_left) is None


def why_stop(skill: Skill, progress: LoopProgress, seconds_left: float) -> Stop | None:
    """Why no further step is taken; None where one is."""
    if progress.errors >= MOST_ERRORS:
        return "away" if progress.away else "errors"
    if progress.repeats >= MOST_REPEATS:
        return "repetition"
    if progress.steps >= skill.max_turns:
        return "turns"
    if progress.usage.tokens >= skill.token_budget:
        return "tokens"
    return "seconds" if seconds_left <= 0 else None


def why_last(skill: Skill, progress: LoopProgress, seconds_left: float) -> Stop | None:
    """Why the next step is the last; None where others may follow."""
    if progress.steps + 1 >= skill.max_turns:
        return "turns"
    if progress.repeats + 1 >= MOST_REPEATS:
        return "repetition"
    if progress.usage.tokens >= ALMOST * skill.token_budget:
        return "tokens"
    return "seconds" if seconds_left < progress.kept_seconds + progress.pace else None


_TOLD: tuple[tuple[Stop, str, str], ...] = (
    ("turns", "步数用完了，还没有得出结论。", "I ran out of steps before I had an answer."),
    (
        "tokens",
        "这次能用的额度用完了，还没有得出结论。",
        "I used up what this may cost before I had an answer.",
    ),
    ("seconds", "时间到了，还没有得出结论。", "I ran out of time before I had an answer."),
    (
        "errors",
        "连续几步都没有进展，先停下了。",
        "Several steps in a row led nowhere, so I stopped.",
    ),
    (
        "away",
        "语言模型现在没有应答，还没有得出结论。",
        "The language model isn't answering right now, so I have no answer yet.",
    ),
    (
        "budget",
        "这句话能用的模型额度用完了，还没有得出结论。",
        "This message has used up what it may spend on the model before I had an answer.",
    ),
    (
        "repetition",
        "一直在重复同样的步骤，先停下了。",
        "I kept doing the same thing over again, so I stopped.",
    ),
)
STOPPED = {stop: Localised(zh=zh, en=en) for stop, zh, en in _TOLD}

_SO_FAR = Localised(zh="到目前为止查到：", en="What I have so far:")
_LONGEST = 160


def stopped(why: str, found: Sequence[str], locale: Locale, draft: str = "") -> str:
    """Why there is no answer, and what was found all the same: a `draft`, where there is one."""
    if draft:
        return f"{draft}\n\n{why}"
    if not found:
        return why
    lines = [f"- {one_line(line)}" for line in found]
    return "\n".join([why, _SO_FAR.within(locale), *lines])


def one_line(text: str) -> str:
    """The text as one line of a list, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


LEAST_TURNS = 2
"""Of a step: one to call a tool, one to say what it found."""
LEAST_TOKENS = 500
REFLECTION = 1
"""Turns that are kept back for it."""


@dataclass(frozen=True)
class Share:
    """Model calls and tokens."""

    turns: int = 0
    tokens: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.turns + other.turns, self.tokens + other.tokens)


def left(skill: Skill, progress: LoopProgress, promised: Share) -> Share:
    """What no step was promised yet, and the reflection doesn't need."""
    return Share(
        skill.max_turns - progress.steps - promised.turns - REFLECTION,
        int(ALMOST * skill.token_budget) - progress.usage.tokens - promised.tokens,
    )


def why_no_room(room: Share) -> Stop | None:
    """Why no further step can begin; None where one can."""
    if room.turns < LEAST_TURNS:
        return "turns"
    return "tokens" if room.tokens < LEAST_TOKENS else None


def handed(skill: Skill, progress: LoopProgress) -> Share | None:
    """What another skill may take, to which a part is handed; None where that isn't enough.

    A turn is kept to say what it came to, and the share of the tokens that every run keeps.
    """
    return share(left(skill, progress, Share()), 1)


def shares(skill: Skill, progress: LoopProgress, wanted: int) -> list[Share]:
    """What each of so many new sub-agents may take: fewer where the rest has no room, or no right.

    The first get more where there are few of them: what is left over is nobody's, and a turn stays
    for what they come to.
    """
    most = min(wanted, max(0, skill.subagents - progress.created))
    given: list[Share] = []
    for open_ in range(most, 0, -1):
        room = left(skill, progress, sum(given, Share()))
        mine = share(room, open_)
        if mine is None:
            break
        given.append(mine)
    return given


def share(room: Share, steps: int) -> Share | None:
    """What the next of so many steps gets; None where it isn't enough to begin with."""
    if why_no_room(room) is not None:
        return None
    return Share(max(LEAST_TURNS, room.turns // steps), max(LEAST_TOKENS, room.tokens // steps))
