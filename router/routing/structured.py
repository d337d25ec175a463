"""An answered turn as an object of the caller's schema: by rules where that is certain, else asked.

Certain is what is named alike: what the one tool found, or the slots of the turn's own flow, where
the schema's properties are theirs; and for a schema that names none, the turn itself. For anything
else a model is shown what was said and found, and calls `answer` with it. Whatever it gives fits
the schema, and stands in what it was shown; what doesn't is refused, in words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from router.domain.locale import Locale, Localised
from router.domain.messages import (
    FlowSummary,
    RefusalCode,
    Reply,
    Route,
    SpokenLine,
    StructuredRefusal,
    as_plain_text,
)
from router.llm.json_repair import NotJson, read_json
from router.llm.request import compact
from router.llm.types import (
    ChatAnswer,
    ChatRequest,
    Function,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.routing.faithfulness import Evidence
from router.routing.prompts import Prompt, material
from router.routing.replies import Finding, told_of
from router.routing.response_schema import ResponseSchema

ANSWER, CANNOT = "answer", "cannot_answer"
MOST_TOKENS = 2_000
MAX_LENGTH = 32 * 1024
"""Characters of an object as JSON: a turn is kept, and travels."""

REFUSALS: dict[RefusalCode, Localised] = {
    "asks": Localised(zh="还需要先回答一个问题。", en="A question has to be answered first."),
    "unanswered": Localised(
        zh="这条消息没有得出可以填进格式的答案。",
        en="Nothing came of this message that could be put into the schema.",
    ),
    "no_model": Localised(
        zh="现在没有语言模型可以把答案整理成要求的格式。",
        en="No language model is there to put the answer into the schema.",
    ),
    "budget": Localised(
        zh="模型额度用完了，没有把答案整理成要求的格式。",
        en="The model budget is spent, so the answer wasn't put into the schema.",
    ),
    "time": Localised(
        zh="时间不够，没有把答案整理成要求的格式。",
        en="There was no time left to put the answer into the schema.",
    ),
    "missing": Localised(
        zh="要求的格式里有些内容，这次的回答和查到的结果里没有。",
        en="The schema requires what neither the answer nor what was found has.",
    ),
    "unfit": Localised(
        zh="没能把答案整理成要求的格式。", en="The answer couldn't be put into the schema."
    ),
    "unfaithful": Localised(
        zh="整理出来的内容在查到的结果里没有依据，所以不给出。",
        en="What was made of the answer doesn't stand in what was found, so it isn't given.",
    ),
    "too_long": Localised(
        zh="按要求的格式整理出来太长了，请少要一些。",
        en="The object would be too long; ask for less.",
    ),
    "stopped": Localised(
        zh="已停下，没有把答案整理成要求的格式。",
        en="It was stopped before the answer was put into the schema.",
    ),
}


def refused(code: RefusalCode, locale: Locale, said: Sequence[Reply] = ()) -> StructuredRefusal:
    """The refusal in words; where the turn asks something, its question."""
    question = as_plain_text(said, locale) if code == "asks" else ""
    return StructuredRefusal(code=code, message=question or REFUSALS[code].within(locale))


@dataclass(frozen=True)
class AnsweredTurn:
    """What a turn said and found, for whoever said `text`."""

    text: str
    said: Sequence[Reply]
    asks: bool
    route: Route
    findings: Sequence[Finding]
    flow: FlowSummary | None
    history: Sequence[SpokenLine]
    locale: Locale

    @property
    def words(self) -> str:
        """What was answered, as plain text."""
        return as_plain_text(self.said, self.locale)

    @property
    def found(self) -> list[tuple[str, JsonValue]]:
        """The tools that came to something, each with that."""
        return [(tool, result) for tool, result, error in self.findings if error is None]

    @property
    def slots(self) -> dict[str, JsonValue]:
        """Those of the flow that it was about."""
        return self.flow.slots if self.flow else {}

    @property
    def as_object(self) -> dict[str, JsonValue]:
        """The turn itself: what a schema that names nothing is given."""
        flow = (
            self.flow.model_dump(mode="json", include={"id", "name", "status", "slots"})
            if self.flow
            else None
        )
        return {
            "text": self.words,
            "asks": self.asks,
            "route": {"kind": self.route.kind, "target": self.route.target},
            "results": [{"tool": tool, "result": result} for tool, result in self.found],
            "flow": flow,
        }

    def evidence(self, now: datetime) -> Evidence:
        """What may be said: what was said, what was found, and the person's own words."""
        said = [line.text for line in self.history if line.role == "user"]
        found = [result for _, result in self.found]
        return Evidence([*found, self.slots, self.words], [*said, self.text], now)


def by_rules(schema: ResponseSchema, turn: AnsweredTurn) -> dict[str, JsonValue] | None:
    """The object, where it is certain what belongs into it; else None."""
    if schema.is_open:
        whole = turn.as_object
        return None if schema.problems(whole) else whole
    if turn.asks:
        return None
    alone = turn.found[0][1] if len(turn.findings) == len(turn.found) == 1 else None
    for given in (alone, turn.slots):
        if isinstance(given, dict) and (fits := _named_alike(schema, given)) is not None:
            return fits
    return None


def _named_alike(
    schema: ResponseSchema, given: Mapping[str, JsonValue]
) -> dict[str, JsonValue] | None:
    names = schema.names
    if not names or not given.keys() >= set(names):
        return None
    made = {name: given[name] for name in names}
    return None if schema.problems(made) else made


def request(prompt: Prompt, schema: ResponseSchema, turn: AnsweredTurn) -> ChatRequest:
    """The question to a model: what was asked, said and found, all of it marked as material."""
    before = material("\n".join(f"{line.role}: {line.text}" for line in turn.history[-4:]))
    parts = [f"<history>\n{before}\n</history>"]
    for tool, result in turn.found:
        parts.append(f'<result tool="{tool}">\n{material(told_of(result))}\n</result>')
    if turn.flow is not None:
        known = material(compact(turn.slots))
        parts.append(f'<slots flow="{turn.flow.name}">\n{known}\n</slots>')
    parts.append(f"<message>\n{material(turn.text)}\n</message>")
    parts.append(f"<reply>\n{material(turn.words)}\n</reply>")
    functions = (
        Function(
            name=ANSWER,
            description="Give the reply as these fields.",
            parameters=schema.schema,
        ),
        Function(
            name=CANNOT,
            description="A field that has to be there stands nowhere, and may not be null.",
            parameters=_MISSING,
        ),
    )
    return ChatRequest(
        messages=(SystemMessage(text=prompt.text), UserMessage(text="\n".join(parts))),
        functions=functions,
        max_calls=1,
        max_tokens=MOST_TOKENS,
        prompt=prompt.fingerprint,
    )


_MISSING = {
    "type": "object",
    "properties": {"missing": {"type": "string", "description": "the field's name"}},
    "required": ["missing"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Rejection:
    """Why what a model gave isn't taken: for the caller a `code`, for the model in words.

    It is `final` where asking once more wouldn't help.
    """

    code: RefusalCode
    words: str
    check: str = ""
    """Which check of faithfulness says so, where one does."""
    final: bool = False


def judged(
    answer: ChatAnswer, schema: ResponseSchema, evidence: Evidence
) -> dict[str, JsonValue] | Rejection:
    """The object that a model gave, or why it isn't taken."""
    call = next((c for c in answer.calls if c.known), None)
    if call is not None and call.name == CANNOT:
        return Rejection("missing", "it can't be answered", final=True)
    given = call.arguments if call is not None else _written(answer.text)
    if given is None:
        why = "; ".join(map(str, answer.problems)) or "no function was called"
        return Rejection("unfit", f"{why}: call {ANSWER} with all of its fields")
    if problems := schema.problems(given):
        return Rejection("unfit", "; ".join(problems))
    if len(compact(given)) > MAX_LENGTH:
        return Rejection("too_long", "it is too long", final=True)
    for place, value in _values(given, schema):
        doubt = evidence.doubt_of_value(value, chosen=str(value) in schema.choices)
        if doubt is not None:
            said = f"{place}: {doubt.words!r:.80} stands nowhere in what you were shown"
            return Rejection("unfaithful", f"{said}; copy what stands there", doubt.check)
    return given


def _written(text: str) -> dict[str, JsonValue] | None:
    """The object that a text is; models that are asked for one may write it down instead."""
    fenced = _FENCED.fullmatch(text.strip())
    try:
        value = read_json(fenced[1] if fenced else text).value
    except NotJson:
        return None
    return value if isinstance(value, dict) else None


_FENCED = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)


def _values(
    value: JsonValue, schema: ResponseSchema, place: str = ""
) -> Iterator[tuple[str, str | int | float | bool | None]]:
    """All that a model put into it, and where: names of its own too, but none of the schema's."""
    if isinstance(value, dict):
        for name, inner in value.items():
            at = f"{place}.{name}" if place else name
            if name not in schema.all_names:
                yield at, name
            yield from _values(inner, schema, at)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _values(inner, schema, f"{place}[{number}]")
    else:
        yield place, value


def again(asked: ChatRequest, answer: ChatAnswer, why: str) -> ChatRequest:
    """The question once more, with what was wrong with the answer."""
    told = f"error: {why}"
    results = tuple(ToolMessage(call_id=c.id, name=c.name, text=told) for c in answer.calls)
    said = (answer.said,) if answer.calls or answer.text else ()
    more = (*said, *(results or (UserMessage(text=told),)))
    return asked.replace(messages=(*asked.messages, *more))
