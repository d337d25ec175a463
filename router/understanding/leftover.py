"""What is left of a sentence for a free-text slot: `我要请年假,下周一到周三,家里有事` ▸ `家里有事`.

A clause counts where nothing in it was used for anything else, and it isn't a greeting, thanks
or the request itself; or where it says outright that it is the cause. Where that isn't sure
there is nothing, and the slot is asked for.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from router.understanding.grammar import MOST_FOUND, compiled
from router.understanding.normalise import Normalised

_BREAK = compiled("[,;:!?~、。…\n]+|\\.(?: |$)| - |--")
_CAUSE = compiled(
    "(?:因为|由于|原因(?:是|为|:)?|理由(?:是|为|:)?|事由(?:是|为|:)?|缘由(?:是|:)?|为了)"
    r"|\b(?:because(?: of)?|due to|reason(?: is|:)?|the reason is|since i|as i|owing to)\b:? ?"
)
_FILLER = (
    "你好|您好|大家好|哈喽|嗨|喂|在吗|在不在|早上好|上午好|下午好|晚上好|早|hi|hello|hey"
    "|good (?:morning|afternoon|evening)|dear [a-z]+"
    "|谢谢(?:你|您|啦|了)?|多谢|感谢|麻烦(?:你|您)?(?:了)?|辛苦(?:你|您)?(?:了)?|拜托(?:了|你了)?"
    "|劳驾|不好意思|打扰(?:一下|了)?|thanks?(?: you)?(?: (?:so|very) much)?|thx|please|pls|cheers"
    "|kind regards|sorry|excuse me"
    "|可以吗|行吗|好吗|可以么|好不好|行不行|ok吗|批准一下|请批准|望批准|帮个忙|帮我(?:一下|办一下"
    "|处理一下|弄一下|提一下)?|is that (?:ok|okay|alright|possible)|if (?:possible|that'?s (?:ok"
    "|okay|fine|alright))|ok|okay|好的|嗯+|那个|就是|请问|呃|额"
    "|一个人|我想|我要|我|want|i want|i need|i'd like|i would like|to|and|的|了|吧|哦|啊|呀|一下"
    "|共|一共|总共|合计|total|大概|左右|as soon as possible|asap|尽快|急"
)
_NOTHING = compiled(f"^(?:(?:{_FILLER})[ !.~]*)*$")
_LEADING = compiled(
    "^(?:(?:因为|由于|是因为|原因(?:是|为)?|理由(?:是|为)?|事由(?:是|为)?|为了|主要是?|就是"
    "|because(?: of)?|due to|reason(?: is)?|since|as|so|and|but|for|我)(?: |:|$)?)+"
)
_SOME = compiled(r"[\x{4e00}-\x{9fff}]{2}|[a-z]{3,}")

# What a clause that came with a date may begin with before its cause begins.
_SHORTEST_REST = 3


Span = tuple[int, int]


@dataclass(frozen=True)
class _Clause:
    start: int
    end: int


def left_over(
    text: Normalised,
    used: Sequence[Span],
    requests: Sequence[Span] = (),
    hinted: Sequence[Span] = (),
) -> str | None:
    """The part of the text that nothing was read from, as typed; None where none is sure.

    Spans are those of the normalised text: `used` are where slots came from, `requests` what
    starts a flow, `hinted` what only hints at a slot and is a reason where more is said.
    """
    stated = _stated_cause(text)
    if stated is not None:
        return stated
    clauses = _clauses(text.text)
    if len(clauses) > MOST_FOUND:
        return None
    taken = [*used, *requests]
    free = [c for c in clauses if not _touched(c, taken) and _says_something(text, c, hinted)]
    if not free:
        return _rest_beside_dates(text, clauses, used, requests)
    run = _neighbours(text.text, free)
    return None if run is None else _trimmed(text, run.start, run.end)


def _stated_cause(text: Normalised) -> str | None:
    """What follows `因为` or `because`, to the end of the clause."""
    cause = _CAUSE.search(text.text)
    if cause is None:
        return None
    start = cause.end() - (len(" i") if cause.group().endswith((" i", "s i")) else 0)
    clause = next((c for c in _clauses(text.text) if c.end > start), None)
    if clause is None:
        return None
    return _trimmed(text, max(start, clause.start), clause.end)


def _clauses(text: str) -> list[_Clause]:
    clauses: list[_Clause] = []
    start = 0
    for mark in _BREAK.finditer(text):
        if not _is_within_number(text, mark.start(), mark.end()):
            clauses.append(_Clause(start, mark.start()))
            start = mark.end()
    clauses.append(_Clause(start, len(text)))
    return [c for c in clauses if text[c.start : c.end].strip()]


def _is_within_number(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()


def _touched(clause: _Clause, taken: Iterable[Span]) -> bool:
    return any(start < clause.end and clause.start < end for start, end in taken)


def _says_something(text: Normalised, clause: _Clause, hinted: Sequence[Span] = ()) -> bool:
    said = text.text[clause.start : clause.end]
    for start, end in hinted:
        if clause.start <= start and end <= clause.end:
            said = said.replace(text.text[start:end], " ")
    said = said.strip()
    return _NOTHING.search(said) is None and _SOME.search(said) is not None


def _neighbours(text: str, clauses: list[_Clause]) -> _Clause | None:
    """The clauses as one where only punctuation parts them; None where they stand apart."""
    first, last = clauses[0], clauses[-1]
    between = _clauses(text[first.start : last.end])
    return _Clause(first.start, last.end) if len(between) == len(clauses) else None


def _rest_beside_dates(
    text: Normalised, clauses: list[_Clause], used: Sequence[Span], requests: Sequence[Span]
) -> str | None:
    """The cause in a clause that begins with a date: `下周三要带孩子看病`."""
    for clause in clauses:
        inside = [(s, e) for s, e in used if s < clause.end and clause.start < e]
        if not inside or _touched(clause, requests):
            continue
        start = max(end for _, end in inside)
        leads = all(text.text[clause.start : s].strip() in {"", "我"} for s, _ in inside[:1])
        rest = _Clause(start, clause.end)
        if leads and rest.end - rest.start > _SHORTEST_REST and _says_something(text, rest):
            return _trimmed(text, rest.start, rest.end)
    return None


def _trimmed(text: Normalised, start: int, end: int) -> str | None:
    """As typed, without the `因为` and spaces around it."""
    said = text.text[start:end]
    leading = _LEADING.search(said)
    if leading is not None and leading.end() < len(said):
        start += leading.end()
    typed = text.as_typed(start, end).strip(" ,，。.;；!！~:：\t\n")
    return typed or None
