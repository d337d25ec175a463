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
    "(?:因为|由于|(?:原因|理由|事由|缘由)[是为:]|为了)"
    r"|\b(?:because(?: of)?|due to|reason is|since i|as i|owing to)\b|\breason:"
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
    "|不对|不是|说错了|错了|哦不|no wait|wait|oops|actually|一个人|我想|我要|我|want|i want|i need"
    "|i'd like|i would like|to|and|的|了|吧|哦|啊|呀|一下"
    "|共|一共|总共|合计|total|大概|左右|as soon as possible|asap|尽快|急"
)
_NOTHING = compiled(f"^(?:(?:{_FILLER})[ !.~]*)*$|^(?:一共|总共|合计|共计?|总计|in total|total)")
_LEADING = compiled(
    "^(?:(?:因为|由于|是因为|原因(?:是|为)?|理由(?:是|为)?|事由(?:是|为)?|为了|主要是?|就是"
    "|because(?: of)?|due to|reason(?: is)?|since|as|so|and|but|for|我)(?: |:|$)?)+"
)
_SOME = compiled(r"[\x{4e00}-\x{9fff}]{2}|[a-z]{3,}")

# What is left of a clause that was otherwise used says nothing when it is shorter.
_SHORTEST_REST = 3
_SHORTEST_CAUSE = 4
_REQUESTING = compiled("[a-z]|想|要|需|帮|麻烦|申请|提|能|可以|开始|打算|准备|先|再|安排|用|给|办")


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
        return _rest_of_a_clause(text, clauses, used, requests)
    run = _neighbours(text.text, free)
    return None if run is None else _trimmed(text, run.start, run.end)


def says_nothing(text: str) -> bool:
    """True where a normalised text is nothing but greeting, thanks and the like."""
    return _NOTHING.search(text.strip(" ,.!?;:")) is not None


def without_cause(text: str) -> str:
    """A normalised text less the cause that it states: what is said there asks for nothing."""
    cause = _cause(text)
    return text if cause is None else f"{text[: cause.start]} {text[cause.end :]}"


def _cause(text: str) -> _Clause | None:
    """What follows `因为` or `because`, to the end of the clause."""
    marker = _CAUSE.search(text)
    if marker is None:
        return None
    start = marker.end() - (1 if marker.group().endswith(" i") else 0)
    clause = next((c for c in _clauses(text) if c.end > start), None)
    return clause and _Clause(max(start, clause.start), clause.end)


def _stated_cause(text: Normalised) -> str | None:
    cause = _cause(text.text)
    return None if cause is None else _trimmed(text, cause.start, cause.end)


def clause_starts(text: str) -> list[int]:
    """Where the clauses of a normalised text begin."""
    return [clause.start for clause in _clauses(text)]


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


def _rest_of_a_clause(
    text: Normalised, clauses: list[_Clause], used: Sequence[Span], requests: Sequence[Span]
) -> str | None:
    """The cause in a clause that begins with a date: `下周三要带孩子看病`.

    Where the clause goes on to ask for something, the cause stands between the two:
    `明天身体不舒服请一天病假`; then it has to look like one.
    """
    for clause in clauses:
        inside = [span for span in used if span[0] < clause.end and clause.start < span[1]]
        asked = min((s for s, _ in requests if clause.start <= s < clause.end), default=None)
        leading = [span for span in inside if asked is None or span[0] < asked]
        if not leading or text.text[clause.start : leading[0][0]].strip() not in {"", "我"}:
            continue
        rest = _Clause(max(end for _, end in leading), clause.end if asked is None else asked)
        if _is_cause(text, rest, certain=asked is None):
            return _trimmed(text, rest.start, rest.end)
    return None


def _is_cause(text: Normalised, rest: _Clause, *, certain: bool) -> bool:
    said = text.text[rest.start : rest.end].strip()
    if not certain and (len(said) < _SHORTEST_CAUSE or _REQUESTING.search(said)):
        return False
    return rest.end - rest.start > _SHORTEST_REST and _says_something(text, rest)


def _trimmed(text: Normalised, start: int, end: int) -> str | None:
    """As typed, without the `因为` and spaces around it."""
    said = text.text[start:end]
    leading = _LEADING.search(said)
    if leading is not None and leading.end() < len(said):
        start += leading.end()
    typed = text.as_typed(start, end).strip(" ,，。.;；!！~:：\t\n")
    return typed or None
