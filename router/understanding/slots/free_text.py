"""What is left of a sentence for a free-text slot: `我要请年假,下周一到周三,家里有事` ▸ `家里有事`.

A clause counts where nothing in it was used for anything else, and it isn't a greeting, thanks
or the request itself; or where it says outright that it is the cause. Where that isn't sure
there is nothing, and the slot is asked for.
"""

from collections.abc import Iterable, Iterator, Sequence

from router.entities.document_numbers import DocumentNumbers, document_numbers
from router.entities.grammar import MOST_FOUND, Found, Span, compiled
from router.entities.normalisation import Normalised
from router.flow.slot_types.slot import Slot
from router.lexicon import EN, ZH
from router.understanding.dialogue_acts import asks, farewell, says_nothing

_BREAK = compiled("[,;:!?~、。…\n]+|\\.(?: |$)| - |--")
# The address of a page is one word, less what ends the sentence that it stands in.
_ADDRESS = compiled("(?:https?://|www\\.)[!-~]*[a-z0-9/#=&_~%+$@*-]")
_CAUSE = compiled(
    "(?:因为|由于|(?:原因|理由|事由|缘由)[是为:]|为了)"
    r"|\b(?:because(?: of)?|due to|reason is|since i|as i|owing to)\b|\breason:"
)
_LEADING = compiled(
    "^(?:我?(?:因为|由于|是因为|原因(?:是|为)?|理由(?:是|为)?|事由(?:是|为)?|为了|主要是?|就是)"
    "(?: |:|$)?"
    r"|(?: |:)?\b(?:because(?: of)?|due to|reason(?: is)?|since|as|so|and|but|for)\b(?: |:|$)?)+"
)
# What leads from a cause to the request: 我因为要搬家 | 想 | 请两天事假.
_ON_THE_WAY = compiled(rf"(?:[, ]|{ZH.on_the_way}|\b{EN.on_the_way}\b)*$")
# What somebody is off to do: 请半天假 | 去接孩子, take a day off | to pick up my son.
_PURPOSE = compiled(
    rf"^{ZH.purpose}.{{1,}}|^ ?to {EN.purpose}\b.{{3,}}"
    "|^ ?[a-z]{3,14}ing (?:an?|the|our|my|new|with) .{3,}"
    "|^ ?for (?:an?|my|our|the|some|family|personal) [a-z].{2,}"
)
_SOME = compiled(r"[\x{4e00}-\x{9fff}]{2}|[a-z]{3,}")

# What is left of a clause that was otherwise used says nothing when it is shorter.
_SHORTEST_REST = 3
_SHORTEST_CAUSE = 4
_REQUESTING = compiled("[a-z]|想|要|需|帮|麻烦|申请|提|能|可以|开始|打算|准备|先|再|安排|用|给|办")


Spans = Sequence[Span]


def left_over(
    text: Normalised, used: Spans, requests: Spans = (), hinted: Spans = ()
) -> str | None:
    """The part of the text that nothing was read from, as typed; None where none is sure.

    Spans are those of the normalised text: `used` are where slots came from, `requests` what
    starts a flow, `hinted` what only hints at a slot and is a reason where more is said.
    """
    cause = _cause(text.text)
    if cause is not None:
        # Up to where the request begins, if it begins in the same clause.
        end = min([cause.end, *(start for start, _ in requests if cause.start <= start)])
        if end < cause.end:
            end -= len(_ON_THE_WAY.search(text.text[cause.start : end]).group())
        return _typed(text, cause.start, end) if end > cause.start else None
    signed = farewell(text)
    clauses = [c for c in clauses_of(text.text) if c.end <= signed]
    if len(clauses) > MOST_FOUND:
        return None
    taken = [*used, *requests]
    free = [c for c in clauses if not c.touches(taken) and _says_something(text, c, hinted)]
    if not free:
        return _rest_of_a_clause(text, clauses, used, requests) or _purpose(text, clauses, taken)
    # They count as one where only punctuation parts them.
    start, end = free[0].start, free[-1].end
    together = len(clauses_of(text.text[start:end])) == len(free)
    return _typed(text, start, end) if together else None


def is_purpose(text: str) -> bool:
    """True where a normalised clause begins like one that says what for: `去接孩子`, `to meet`."""
    return _PURPOSE.search(text) is not None


EDGE = rf"(?:{ZH.beside_value}|\b(?:{EN.beside_value})\b|[ ,.!~:;、。-])"
"""What may stand around a value and is part of none."""
_EDGE_BEFORE, _EDGE_AFTER = compiled(f"^{EDGE}+"), compiled(f"{EDGE}+$")
_SAYS = compiled(r"[\x{4e00}-\x{9fff}]{2}|[a-z]{2}|[a-z]+[0-9]|[0-9]+[a-z]")


def remainders(text: str, clause: Found[str], taken: Iterable[Span]) -> Iterator[Found[str]]:
    """The parts of the clause around what was taken that say anything."""
    for span in _outside(clause, taken):
        if said := trimmed(text, span):
            yield said


def _outside(clause: Found[str], taken: Iterable[Span]) -> Iterator[Span]:
    start = clause.start
    for first, last in sorted(span for span in taken if clause.touches([span])):
        if start < first:
            yield start, first
        start = max(start, last)
    if start < clause.end:
        yield start, clause.end


def trimmed(text: str, span: Span) -> Found[str] | None:
    """What a part says, without the words that only lead to a value; None where that is nothing."""
    start, end = span
    leading = _EDGE_BEFORE.search(text[start:end])
    start += leading.end() if leading else 0
    trailing = _EDGE_AFTER.search(text[start:end])
    end -= len(trailing.group()) if trailing else 0
    said = text[start:end]
    return Found(start, end, said) if _SAYS.search(said) else None


def without_cause(text: str) -> str:
    """A normalised text less the cause that it states: what is said there asks for nothing."""
    cause = _cause(text)
    return text if cause is None else f"{text[: cause.start]} {text[cause.end :]}"


def _cause(text: str) -> Found[str] | None:
    """What follows `因为` or `because`, to the end of the clause."""
    marker = _CAUSE.search(text)
    if marker is None:
        return None
    start = marker.end() - (1 if marker.group().endswith(" i") else 0)
    clause = next((c for c in clauses_of(text) if c.end > start), None)
    return clause and _clause(text, max(start, clause.start), clause.end)


def _clause(text: str, start: int, end: int) -> Found[str]:
    return Found(start, end, text[start:end])


def clauses_of(text: str) -> list[Found[str]]:
    """The clauses of a normalised text: what stands between its marks."""
    addresses = [found.span() for found in _ADDRESS.finditer(text)]
    bounds = [0]
    for mark in _BREAK.finditer(text):
        start, end = mark.span()
        inside = any(first <= start < last for first, last in addresses)
        within_number = text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()
        if not inside and not within_number:
            bounds += [start, end]
    pairs = zip(bounds[::2], [*bounds[1::2], len(text)], strict=True)
    return [c for c in (_clause(text, *pair) for pair in pairs) if c.value.strip()]


def _says_something(text: Normalised, clause: Found[str], hinted: Spans = ()) -> bool:
    said = clause.value
    for start, end in hinted:
        if clause.start <= start and end <= clause.end:
            said = said.replace(text.text[start:end], " ")
    said = said.strip()
    asked = asks(said) or text.text[clause.end : clause.end + 1] == "?"
    return not asked and not says_nothing(said) and _SOME.search(said) is not None


def _rest_of_a_clause(
    text: Normalised, clauses: list[Found[str]], used: Spans, requests: Spans
) -> str | None:
    """The cause in a clause that begins with a date: `下周三要带孩子看病`.

    Where the clause goes on to ask for something, the cause stands between the two:
    `明天身体不舒服请一天病假`; then it has to look like one.
    """
    for clause in clauses:
        inside = sorted(span for span in used if clause.touches([span]))
        asked = min((s for s, _ in requests if clause.start <= s < clause.end), default=None)
        leading = [span for span in inside if asked is None or span[0] < asked]
        if not leading or text.text[clause.start : leading[0][0]].strip() not in {"", "我"}:
            continue
        start, end = max(end for _, end in leading), clause.end if asked is None else asked
        rest = _clause(text.text, start, end)
        said = rest.value.strip()
        doubtful = asked is not None and (len(said) < _SHORTEST_CAUSE or _REQUESTING.search(said))
        if not doubtful and end - start > _SHORTEST_REST and _says_something(text, rest):
            return _typed(text, start, end)
    return None


def _purpose(text: Normalised, clauses: list[Found[str]], taken: Spans) -> str | None:
    """What follows the request in its clause and says what for: `请半天假去接孩子`."""
    for clause in clauses:
        ends = [end for start, end in taken if clause.start <= start and end < clause.end]
        rest = _clause(text.text, max(ends, default=clause.end), clause.end)
        free = not rest.touches(taken)
        if free and is_purpose(rest.value) and _says_something(text, rest):
            return _typed(text, *rest.span)
    return None


def _typed(text: Normalised, start: int, end: int) -> str | None:
    said = text.text[start:end]
    leading = _LEADING.search(said)
    if leading is not None and leading.end() < len(said):
        start += leading.end()
    return text.as_typed(start, end).strip(" ,，。.;；!！~:：\t\n") or None


def documents_of(slot: Slot) -> DocumentNumbers | None:
    """The documents whose numbers the slot is made for; None where it isn't."""
    reference = slot.reference
    return document_numbers(reference.of, reference.pattern) if reference else None
