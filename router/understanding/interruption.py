"""Giving up a flow, and going on with one: `不出差了`, `never mind`; `回到报销`, `continue`.

A flow is given up by words that give up anything, and by those that its file has for it: of what
is called a trip and is travelled, `cancel my trip`, `I don't want to travel any more`, `不出差了`.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from router.domain.locale import Localised
from router.entities.grammar import compiled
from router.flow.paused import ALL, PausedRun
from router.lexicon import BOTH, EN, ZH, Words
from router.understanding.dialogue_acts import LONGEST, MARKS
from router.understanding.names import FlowNames

ANYTHING = FlowNames("", Localised(zh="", en=""))
"""What has no names of its own."""


def cancels(text: str, names: FlowNames = ANYTHING) -> bool:
    """True where a normalised text says to give up what is called so, and says nothing else.

    >>> cancels("算了,不办了"), cancels("航班取消了,要改签"), cancels("取消年假")
    (True, False, False)
    """
    if not text or len(text) > LONGEST:
        return False
    return _cancelling(names.words, tuple(names.verbs)).search(text) is not None


@lru_cache(maxsize=512)
def _cancelling(names: Words, verbs: tuple[str, ...]) -> Any:
    zh, beside_zh = _in_chinese(*_of(names, verbs, latin=False))
    en, beside_en = _in_english(*_of(names, verbs, latin=True))
    around_zh, around_en = f"(?:{beside_zh}|{MARKS})*", rf"(?:{beside_en}\b|{MARKS})*"
    return compiled(f"^(?:{around_zh}(?:{zh}{around_zh})+|{around_en}(?:{en}\\b{around_en})+)$")


def _of(names: Words, verbs: tuple[str, ...], *, latin: bool) -> tuple[Words, Words]:
    return (
        Words(name for name in names if name.isascii() == latin),
        Words(verb for verb in verbs if verb.isascii() == latin),
    )


def _in_chinese(names: Words, verbs: Words) -> tuple[Words, Words]:
    """What gives it up, and what may stand around that."""
    does = ZH.do + verbs + names
    gives_up = [f"{ZH.no_more}{does}{{1,2}}了", f"先不{does}{{1,2}}了?"]
    if names:
        gives_up += [
            f"{names}[我就先也]*不{Words(('要', *does))}了",
            f"不要[这那]?[个台次些]?{names}了",
        ]
    return ZH.cancel + Words(gives_up), ZH.filler + ZH.courtesy + ZH.around_cancel + names


def _in_english(names: Words, verbs: Words) -> tuple[Words, Words]:
    does = EN.do + verbs
    things = ["it|this|that|to"]
    if verbs:
        things.append(f"to {verbs}")
    if names:
        things.append(rf"(?:to )?(?:{does} )?{EN.determiner}?(?:[a-z]+ )?(?:{names}s?\b ?)+")
    gives_up = f"{EN.not_wanted} (?:{'|'.join(reversed(things))})(?: ?{EN.any_more})?"
    around = EN.filler + EN.courtesy + EN.hesitation + EN.around_cancel
    return EN.cancel + Words((gives_up,)), around + Words(f"{name}s?" for name in names)


_RESUMES = compiled(
    f"^(?:{ZH.filler}|[,.! ])*{ZH.resume}(?P<zh>.*)$"
    rf"|^(?:(?:{EN.filler}|{EN.courtesy}|{EN.hesitation})\b|[,.! ])*{EN.resume}\b(?P<en>.*)$"
)
_AROUND_NAME = compiled(
    rf"^(?:{ZH.around_paused}|{EN.around_paused}\b|[,.! ])*"
    f"(?P<name>.*?)(?:{ZH.after_paused}|{EN.courtesy}|{EN.filler}|[,.!~ ])*$"
)
_NONE = compiled(f"^{BOTH.none_of_them}[.! ]*$")


def what_to_resume(text: str) -> str | None:
    """What a normalised text wants to go on with: a name, or nothing where it says none.

    None where it doesn't want to go on with anything.

    >>> [what_to_resume(said) for said in ("接着刚才的请假", "continue", "回答问题")]
    ['请假', '', None]
    """
    found = _RESUMES.search(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    said = _AROUND_NAME.search((found.group("zh") or found.group("en") or "").strip())
    return str(said.group("name")) if said else ""


def resumed(
    text: str, paused: Sequence[tuple[PausedRun, FlowNames]], *, asked: bool, busy: bool
) -> str | None:
    """The run that the text takes up, `ALL` where it leaves all of them; None for neither.

    `asked`: which of them was the question. `busy`: a flow or a skill asks something, so that to
    go on with nothing in particular is to go on with that. Of two with one name the latest.
    """
    if asked and _NONE.search(text):
        return ALL
    name = text if asked and what_to_resume(text) is None else what_to_resume(text)
    if name is None or (not name and busy):
        return None
    fits = [one.run for one, names in paused if not name or names.is_only(name)]
    return fits[-1] if fits else None


def resumes(text: str, active: FlowNames) -> bool:
    """True where the text wants to go on with what is being talked about."""
    name = what_to_resume(text)
    return name is not None and (not name or active.is_only(name))
