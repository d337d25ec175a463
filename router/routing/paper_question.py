"""What a model is asked about a paper of which rules didn't find everything, and what is taken.

It is shown the paper's pictures and nothing that was read of it: what it reads alike, it has read
by itself. Its answer is a call of one function, `paper_is_<type>`, whose arguments are what stands
on the paper, as it stands there. None of it is believed: amounts, days and numbers are read out of
it by what reads papers, words are cut to a line, and what doesn't fit isn't there. So nothing that
is written on a paper, or that a model makes of it, is more than a value that somebody looks at.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from pydantic import JsonValue

from router.documents.document_type import DocumentType, FieldKind, document_types
from router.documents.labels import PageLayout
from router.documents.page import Material, Page, TextLine
from router.documents.problems import common
from router.documents.renditions import PDF
from router.documents.values import amounts, capital_amount, days, folded
from router.domain.documents import (
    OTHER,
    SURE,
    Document,
    DocumentProblem,
    Place,
    ReadField,
)
from router.entities.money import DEFAULT_CURRENCY, Money, is_exact
from router.entities.numbers import parse_number
from router.llm.types import (
    ChatAnswer,
    ChatRequest,
    Function,
    ShownPicture,
    SystemMessage,
    UserMessage,
)
from router.routing.prompts import Prompt

PREFIX = "paper_is_"
CONFIDENCE = 0.6
"""Of what a model alone has read: it is shown, and asked about."""
MOST_SURE = 0.95
"""Where a model has read the same as rules, unasked."""
LONGEST = 100
"""Characters of a value; who writes more doesn't read a field out."""
ANSWER_TOKENS = 600
NO_READER = "no_reader"
"""The problem of a picture that nothing here could read: a model may."""
_HOW: Mapping[FieldKind, str] = {
    "text": "on one line",
    "code": "all of its letters and figures",
    "money": "with its currency sign, if it has one",
    "date": "with its year",
    "count": "a number",
}


def wanted(document: Document) -> list[str]:
    """The fields of its type that weren't found, or not for sure."""
    kind = document_types().get(document.type)
    found = document.fields
    return [n for n in kind.fields if n not in found or not found[n].is_sure] if kind else []


def is_worth_asking(document: Document, material: Material | None, media_type: str) -> bool:
    """True for what has pictures, and more on it, perhaps, than rules found.

    Args:
        document: What they found.
        material: What they found it in; None where the file couldn't be read.
        media_type: The file's.
    """
    if media_type != PDF and not media_type.startswith("image/"):
        return False
    if material is None:
        return {problem.code for problem in document.problems} == {NO_READER}
    if document.type != OTHER:
        return bool(wanted(document))
    # A letter or a report has nothing to be found, and says so itself.
    return all(line.source == "picture" for line in material.lines)


def request(prompt: Prompt, document: Document, pictures: Sequence[ShownPicture]) -> ChatRequest:
    """The question: what paper it is, where rules don't know, and what they didn't find on it."""
    known = document_types().get(document.type)
    if known is not None:
        functions = [_function(known, wanted(document))]
    else:
        functions = [_function(kind, list(kind.fields)) for kind in document_types().values()]
        described = "It is none of the others, or can't be told."
        functions.append(Function(name=f"{PREFIX}{OTHER}", description=described))
    said = f"Pictures of one paper: {len(pictures)}."
    return ChatRequest(
        messages=(SystemMessage(text=prompt.text), UserMessage(text=said, pictures=pictures)),
        functions=tuple(functions),
        max_calls=1,
        max_tokens=ANSWER_TOKENS,
        needs_sight=True,
        prompt=prompt.fingerprint,
    )


def _function(kind: DocumentType, fields: Iterable[str]) -> Function:
    properties = {name: _property(kind, name) for name in fields}
    return Function(
        name=f"{PREFIX}{kind.name}",
        description=f"{kind.label.en} ({kind.label.zh})",
        parameters={"type": "object", "properties": properties, "additionalProperties": False},
    )


def _property(kind: DocumentType, field: str) -> dict[str, JsonValue]:
    label, how = kind.fields[field], _HOW[kind.kinds.get(field, "text")]
    described = f"{label.en} ({label.zh}), as it stands there, {how}; null if it isn't there"
    return {"type": "string", "maxLength": LONGEST, "description": described}


def completed(document: Document, answer: ChatAnswer, today: date) -> Document:
    """The document with what is taken of the answer; the same one where that is nothing."""
    name, said = _called(document, answer)
    kind = document_types().get(name)
    if kind is None:
        return document
    asked = wanted(document) if document.type == name else kind.fields
    values = {field: said.get(field) for field in asked}
    currency = _currency(document, values)
    fields = dict(document.fields)
    for field, value in values.items():
        read = _read(kind.kinds.get(field, "text"), value, currency)
        if read is not None:
            fields[field] = _merged(fields.get(field), read)
    if fields == document.fields:
        return document
    return document.replace(
        type=name,
        fields=fields,
        lacks=tuple(field for field in kind.fields if field not in fields),
        problems=_problems(kind, document, fields, today),
        readable=True,
    )


def _called(document: Document, answer: ChatAnswer) -> tuple[str, dict[str, JsonValue]]:
    """The type that the answer names, where it is one that was offered, and its arguments."""
    call = next((c for c in answer.calls if c.known and c.name.startswith(PREFIX)), None)
    name = call.name.removeprefix(PREFIX) if call is not None else OTHER
    if call is None or document.type not in {OTHER, name}:
        return OTHER, {}
    return name, call.arguments


def _currency(document: Document, said: Mapping[str, JsonValue]) -> str:
    """What amounts without a currency are in: what others of the paper name."""
    read = [field.value for field in document.fields.values()]
    known = [str(value["currency"]) for value in read if isinstance(value, dict)]
    texts = [folded(text) for text in said.values() if isinstance(text, str)]
    named = [a.currency for text in texts for a in amounts(text) if a.currency is not None]
    return next(iter([*known, *named]), DEFAULT_CURRENCY)


def _read(kind: FieldKind, said: JsonValue, currency: str) -> JsonValue:
    """The value of what a model says stands there; None for what isn't one."""
    if not isinstance(said, str) or len(said) > LONGEST:
        return None
    text = folded(said)
    match kind:
        case "money":
            return _money(text, currency)
        case "date":
            # One that may be two days is none: 05/06/2026.
            found = {day.value for day in days(text, currency) if not day.doubtful}
            return found.pop().isoformat() if len(found) == 1 else None
        case "code":
            code = _CODE.fullmatch(text.rpartition(":")[2].replace(" ", ""))
            return code[0] if code else None
        case "count":
            return _count(text)
        case "text":
            return text if any(c.isalnum() for c in text) else None


_CODE = re.compile(r"(?=[^\d]{0,12}\d)[A-Za-z0-9][A-Za-z0-9/-]{2,39}")
_UNITS = re.compile(r" ?(?:天|日|days?)$")
_MOST = 1_000


def _money(text: str, currency: str) -> JsonValue:
    in_words = capital_amount(text)
    if in_words is not None:
        found = {Money(in_words, currency)} if is_exact(in_words) else set[Money]()
    else:
        found = {Money(a.value, a.currency or currency) for a in amounts(text)}
    return {**found.pop().value()} if len(found) == 1 else None


def _count(text: str) -> JsonValue:
    number = parse_number(_UNITS.sub("", text.lower()))
    if number is None or not 0 <= number < _MOST:
        return None
    return str(number.normalize()) if number % 1 else str(int(number))


def _merged(known: ReadField | None, value: JsonValue) -> ReadField:
    if known is not None and _bare(known.value) == _bare(value):
        # It stands where rules found it: that says more of where it came from than who agrees.
        both = 1 - (1 - known.confidence) * (1 - CONFIDENCE)
        return known.replace(confidence=round(min(max(both, SURE), MOST_SURE), 2))
    if known is not None and known.confidence >= CONFIDENCE:
        return known
    return ReadField(value=value, source="model", confidence=CONFIDENCE)


def _bare(value: JsonValue) -> JsonValue:
    return "".join(value.split()).casefold() if isinstance(value, str) else value


def _problems(
    kind: DocumentType, document: Document, fields: Mapping[str, ReadField], today: date
) -> tuple[DocumentProblem, ...]:
    """Those that are known, and those that the fields have by now: sums are the rules' alone."""
    kept = [problem for problem in document.problems if problem.code != NO_READER]
    place = Place(left=0, top=0, right=1, bottom=1)
    lines = tuple(TextLine(text, place) for text in document.text.splitlines())
    found = [
        *kind.problems(fields, Material(), today),
        *common({}, PageLayout(Material((Page(1, 1, lines),))), today),
    ]
    known = {problem.code for problem in kept}
    new = {problem.code: problem for problem in found if problem.code not in known}
    return (*kept, *new.values())
