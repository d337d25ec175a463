"""A process told in a paragraph: what a model is asked about it, and the draft of what it answers.

The answer is untrusted, as the paragraph is. What it says comes into the draft as texts, and as
expressions that are written here: of fields that it has itself, numbers, and roles that somebody
holds. Anything else it wishes for is a question to the author.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from router.domain.visible_text import one_line
from router.extensions.authoring.worded_checks import CHECKS
from router.extensions.importers.beginning import (
    Beginning,
    BeginningContext,
    FlowSketch,
    both,
    choices_of,
    name_of,
    written,
)
from router.flow.language.functions import WITHOUT_CENTS
from router.llm.types import ChatAnswer, ChatRequest, Function, SystemMessage, UserMessage

LONGEST_PARAGRAPH = 4_000
"""Characters of what an author tells."""
MOST_TOKENS = 3_000
SKETCH, NO_PROCESS = "sketch_flow", "no_process"
MOST_FIELDS, MOST_APPROVALS, MOST_AFTERWARDS, MOST_OPEN = 40, 10, 10, 20
MOST_OPTIONS = 30
MOST_ROLES = 100
"""That a model is told of."""
MOST_HOURS, MOST_DAYS = 24 * 30, 365
LARGEST_NUMBER = 10**12
TYPES = (
    *("text", "number", "integer", "money", "date", "datetime", "duration", "boolean", "file"),
    "choice",
)
APPROVERS = {
    "manager": "manager(requester)",
    "managers_manager": "manager(manager(requester))",
}
"""Who approves by where they stand, by the words of the function."""
HOME_CURRENCY = "CNY"
"""What an amount is in where nobody says; that is asked."""
_LONGEST_LABEL = 80
_HAN = re.compile(r"[\u3400-\u9fff]")
_CURRENCY = re.compile(r"[A-Z]{3}")
_LIMITS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "at_least": {"number": ("at_least", "least"), "money": ("amount_at_least", "least")},
    "at_most": {"number": ("at_most", "most"), "money": ("amount_at_most", "most")},
}
"""The worded check of each limit, by the kind of number, with what its parameter is called."""


def _texts(about: str, *names: str) -> dict[str, Any]:
    languages = {"zh": "Chinese", "en": "English"}
    return {
        f"{name}_{key}": {"type": "string", "maxLength": 300, "description": f"{about}, in {word}"}
        for name in names
        for key, word in languages.items()
    }


def _or_null(kind: str, description: str) -> dict[str, Any]:
    return {"type": [kind, "null"], "description": description}


def _listed(most: int, description: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "maxItems": most,
        "description": description,
        "items": _object(**properties),
    }


def _object(**properties: Any) -> dict[str, Any]:
    closed = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **closed}


def _words(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_FIELD = {
    "name": {"type": "string", "maxLength": 40, "description": "in English, as_snake_case"},
    **_texts("what it is called", "label"),
    "type": {"type": "string", "enum": list(TYPES)},
    "required": {"type": "boolean"},
    "choices_zh": _words("of a choice: what may be chosen, in Chinese; else empty"),
    "choices_en": _words("the same in English, in the same order"),
    "at_least": _or_null("number", "the least that it may be"),
    "at_most": _or_null("number", "the most that it may be"),
    "currency": _or_null("string", "of money, such as CNY"),
    "rule": _or_null("string", "any other rule for it, in the author's words"),
}
_APPROVAL = {
    **_texts("what this approval is called", "label"),
    "who": {"type": "string", "enum": [*APPROVERS, "role", "person", "unclear"]},
    "role": _or_null("string", "the role, as <roles> has it, or the person's name"),
    "above_field": _or_null("string", "asked only where this field, by its name, is above a limit"),
    "above": _or_null("number", "that limit"),
    "condition": _or_null("string", "any other condition for it, in the author's words"),
    "remind_hours": _or_null("integer", "hours after which they are reminded"),
    "expire_days": _or_null("integer", "days after which the request lapses"),
}
_SKETCH = Function(
    name=SKETCH,
    description="Hand over the process.",
    parameters=_object(
        name={"type": "string", "maxLength": 40, "description": "in English, as_snake_case"},
        **_texts("what people call the process", "title"),
        **_texts("a sentence on what it is for", "description"),
        fields=_listed(MOST_FIELDS, "what is filled in, in order", **_FIELD),
        approvals=_listed(MOST_APPROVALS, "who has to agree, in order", **_APPROVAL),
        afterwards=_listed(
            MOST_AFTERWARDS,
            "what is done once all have agreed, in order",
            **_texts("the step", "label"),
        ),
        open=_words("what the author has to decide, or what has no place above: a sentence each"),
    ),
)
_NO_PROCESS = Function(
    name=NO_PROCESS,
    description="The paragraph tells of no process at all.",
    parameters=_object(why={"type": "string"}),
)


def question(paragraph: str, roles: Collection[str], rules: str, fingerprint: str) -> ChatRequest:
    """The question about a paragraph; it and the roles that there are are marked as material."""
    listed = ", ".join(sorted(roles)[:MOST_ROLES]) or "none is known"
    told = f"<roles>\n{_fenced(listed)}\n</roles>\n<paragraph>\n{_fenced(paragraph)}\n</paragraph>"
    return ChatRequest(
        messages=(SystemMessage(text=rules), UserMessage(text=told)),
        functions=(_SKETCH, _NO_PROCESS),
        max_calls=1,
        max_tokens=MOST_TOKENS,
        prompt=fingerprint,
    )


def _fenced(text: str) -> str:
    """Somebody's words, unable to end the section that they stand in."""
    return text.replace("</", "<\\/")


UnusableReason = Literal["no_process", "unfit"]


@dataclass(frozen=True)
class UnusableAnswer:
    """Why no draft can be made of an answer.

    Attributes:
        why: `no_process` concerns the author; after `unfit` the model is asked once more.
        words: What is wrong, for the model.
    """

    why: UnusableReason
    words: str


class UnusableSketch(Exception):
    """An answer of which no draft can be made; see `UnusableAnswer`."""

    def __init__(self, why: UnusableReason, words: str) -> None:
        super().__init__(words)
        self.why = why


def beginning_of_answer(answer: ChatAnswer, around: BeginningContext) -> Beginning | UnusableAnswer:
    """Return the draft that an answer gives, or why it gives none.

    The draft is read as a flow file is. That takes time, so a server does this in another process
    (`router.api.isolated_work`): the reason is a result there, and no exception.

    Raises:
        InvalidInput: The draft would be larger than a flow may be.
    """
    try:
        return written(sketch_of_answer(answer, around.roles), around)
    except UnusableSketch as unusable:
        return UnusableAnswer(unusable.why, str(unusable))


ReadAnswer = Callable[[ChatAnswer, BeginningContext], Awaitable[Beginning | UnusableAnswer]]
"""Does what `beginning_of_answer` does, elsewhere than on the event loop."""


def sketch_of_answer(answer: ChatAnswer, roles: Collection[str]) -> FlowSketch:
    """The flow that an answer tells of, of people who hold these roles; raises `UnusableSketch`."""
    call = next((each for each in answer.calls if each.known), None)
    if call is None:
        why = "; ".join(map(str, answer.problems)) or "no function was called"
        raise UnusableSketch("unfit", f"{why}: call {SKETCH} with all of its fields")
    if call.name == NO_PROCESS:
        raise UnusableSketch("no_process", "it tells of no process")
    return _Sketching(call.arguments, roles).sketch()


class _Sketching:
    def __init__(self, said: Mapping[str, Any], roles: Collection[str]) -> None:
        self._said = said
        self._roles = frozenset(roles)
        title = _said(said, "title")
        if not title["zh"]:
            raise UnusableSketch("unfit", "title_zh and title_en are missing")
        about = _said(said, "description")
        self._sketch = FlowSketch(title=title["zh"], description=about["zh"])
        self._sketch.title_en, self._sketch.description_en = title["en"], about["en"]
        self._sketch.name = _text(said, "name") or title["en"]
        self._names: dict[str, str] = {}
        """Of fields, by what the answer calls them."""

    def sketch(self) -> FlowSketch:
        """All of it; what the author is asked about the whole comes first."""
        self._sketch.ask(
            "这份草稿是模型按你的话写的：字段、审批人、条件和两种语言的文字，请逐项核对。",
            "A model wrote this from your words: check every field, approver, condition, and the "
            "texts in both languages.",
        )
        fields = self._part("fields", MOST_FIELDS)
        for each in fields:
            self._add_field(each)
        approvals = self._part("approvals", MOST_APPROVALS)
        afterwards = self._part("afterwards", MOST_AFTERWARDS)
        if not (fields or approvals or afterwards):
            raise UnusableSketch("unfit", "it has neither fields, nor approvals, nor anything done")
        self._add_states(approvals, afterwards)
        sketch = self._sketch
        made = [{"en": sketch.title_en}, sketch.slots, sketch.states]
        sketch.is_translated = sketch.title != sketch.title_en and not _has_chinese(made)
        for said in _sentences(self._said.get("open"), MOST_OPEN):
            self._sketch.ask(f"模型问：{said}", f"The model asks: {said}")
        return self._sketch

    def _part(self, name: str, most: int) -> list[Mapping[str, Any]]:
        """The objects of a list that say what they are called, as many as are taken."""
        given = self._said.get(name)
        listed = given if isinstance(given, list) else []
        named: list[Mapping[str, Any]] = [
            each for each in listed if isinstance(each, dict) and _said(each, "label")["zh"]
        ]
        found = named[:most]
        if left := len(listed) - len(found):
            self._sketch.leave_out(
                name,
                f"模型给的 {left} 项没有带过来：太多，或者没有名称",
                f"{left} that the model gave aren't carried over: too many, or without a name",
            )
        return found

    def _add_field(self, said: Mapping[str, Any]) -> None:
        label, called = _said(said, "label"), _text(said, "name")
        taken = self._sketch.slots
        name = name_of(called or label["en"], taken, name_of("field", taken))
        if called:
            self._names.setdefault(called, name)
        kind = said.get("type")
        if kind not in TYPES:
            kind = "text"
            self._ask_field(name, label, "是什么类型", "what type is it")
        options = _choices(said) if kind == "choice" else {}
        if kind == "choice" and len(options) < 2:  # noqa: PLR2004
            kind, options = "text", {}
            self._ask_field(name, label, "可以选什么", "what may be chosen")
        slot: dict[str, Any] = {"type": kind}
        if said.get("required") is False:
            slot["required"] = False
        slot["label"] = label
        slot["ask"] = {"zh": f"请填写：{label['zh']}", "en": f"{label['en']}?"}
        if options:
            slot["choices"] = options
        if checks := list(self._checks(name, kind, said, label)):
            slot["check"] = checks
        taken[name] = slot

    def _ask_field(self, name: str, label: Mapping[str, str], zh: str, en: str) -> None:
        said = f"“{label['zh']}”{zh}？", f"“{label['en']}”: {en}?"
        self._sketch.ask(*said, "slots", name)

    def _checks(
        self, name: str, kind: str, said: Mapping[str, Any], label: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        limits = {each: bound for each in _LIMITS if (bound := _number(said, each)) is not None}
        if limits and kind == "money":
            yield from self._in_one_currency(name, said, label)
        for limit, bound in limits.items():
            if kind not in {"number", "integer", "money"}:
                plain = f"{limit.replace('_', ' ')} {bound:g}"
                self._ask_rule(name, label, plain)
                continue
            check, parameter = _LIMITS[limit]["money" if kind == "money" else "number"]
            value = round(bound * 100) if kind == "money" else bound
            given = {parameter: value}
            shown = {parameter: f"{bound:,.12g}"}
            say = CHECKS[check].say
            yield {
                "that": CHECKS[check].expression_of(f"slots.{name}", given),
                "say": both(say.zh.format(**shown), say.en.format(**shown)),
            }
        if rule := _text(said, "rule"):
            self._ask_rule(name, label, rule)

    def _ask_rule(self, name: str, label: Mapping[str, str], rule: str) -> None:
        self._ask_field(
            name, label, f"要这样检查：{rule}。怎么写成 check", f"how is this checked: {rule}"
        )

    def _in_one_currency(
        self, name: str, said: Mapping[str, Any], label: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        """What makes a limit of the amount mean one thing."""
        currency = _text(said, "currency")
        if not _CURRENCY.fullmatch(currency) or currency in WITHOUT_CENTS:
            currency = HOME_CURRENCY
            zh, en = "的界限是哪种货币？草稿按人民币算", "in which currency is its limit"
            self._ask_field(name, label, zh, f"{en}? The draft has {HOME_CURRENCY}")
        check = CHECKS["in_currency"]
        given = {"currency": currency}
        yield {
            "that": check.expression_of(f"slots.{name}", given),
            "say": both(check.say.zh.format(**given), check.say.en.format(**given)),
        }

    def _add_states(
        self, approvals: Sequence[Mapping[str, Any]], afterwards: Sequence[Mapping[str, Any]]
    ) -> None:
        taken = ["details", "review", "called_off", "refused", "lapsed", "done"]
        steps: list[tuple[str, dict[str, Any]]] = []
        conditions: dict[str, str] = {}
        for said in approvals:
            name = name_of(_said(said, "label")["en"], taken, name_of("approval", taken))
            taken.append(name)
            steps.append((name, self._approval(name, said)))
            if condition := self._condition(name, said):
                conditions[name] = condition
        for said in afterwards:
            name = name_of(_said(said, "label")["en"], taken, name_of("step", taken))
            taken.append(name)
            steps.append((name, self._afterwards(name, said)))
        self._lay_out(steps, conditions)

    def _lay_out(
        self, steps: Sequence[tuple[str, dict[str, Any]]], conditions: Mapping[str, str]
    ) -> None:
        """One after the other; a step with a condition is passed by where that doesn't hold."""
        names = [*(name for name, _ in steps), "done"]
        states, slots = self._sketch.states, self._sketch.slots
        if slots:
            states["details"] = {"collect": list(slots), "next": "review"}
        states["review"] = {
            "confirm": {"zh": "请确认以上内容，提交吗？", "en": "Shall I submit it?"},
            "confirmed": _way(names, conditions),
            "declined": "details" if slots else "called_off",
        }
        self._sketch.start = next(iter(states))
        for place, (name, state) in enumerate(steps, 1):
            after = _way(names[place:], conditions)
            if "approve" in state:
                ways: dict[str, Any] = {"approved": after, "rejected": "refused"}
                ways |= {"returned": "details"} if slots else {}
                ways |= {"expired": "lapsed"} if "expire_after" in state["approve"] else {}
            else:
                ways = {"next": after}
            states[name] = state | ways
        if any("expired" in state for state in states.values()):
            lapsed = {"zh": "没有人在期限内审批，申请已失效。", "en": "Nobody decided in time."}
            states["lapsed"] = {"say": lapsed, "end": "expired"}
        if not slots:
            called_off = {"zh": "好的，不提交了。", "en": "All right, it isn't submitted."}
            states["called_off"] = {"say": called_off, "end": "cancelled"}
        if any("refused" in state.values() for state in states.values()):
            refused = {"zh": "申请没有获批。", "en": "It was not approved."}
            states["refused"] = {"say": refused, "end": "rejected"}
        states["done"] = {"say": {"zh": "办好了。", "en": "It is done."}, "end": "completed"}

    def _approval(self, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
        label = _said(said, "label")
        title = {
            key: f"{{{{ requester.name }}}}{'：' if key == 'zh' else ': '}{text}"
            for key, text in label.items()
        }
        approve = {"by": self._approver(name, said, label), "title": title}
        for key, most, part, spelt in (
            ("remind_hours", MOST_HOURS, "remind_every", "PT{}H"),
            ("expire_days", MOST_DAYS, "expire_after", "P{}D"),
        ):
            number = _number(said, key)
            if number is None:
                continue
            if number != int(number) or not 1 <= number <= most:
                self._sketch.ask(
                    f"“{label['zh']}”多久提醒、多久失效？模型写的是 {number:g}。",
                    f"“{label['en']}”: reminded after how long, lapsed after how long? The model "
                    f"says {number:g}.",
                    *("states", name, "approve"),
                )
                continue
            approve[part] = spelt.format(int(number))
        return {"name": label, "approve": approve}

    def _approver(self, name: str, said: Mapping[str, Any], label: Mapping[str, str]) -> str:
        """The expression for whoever decides: one that is known to come to somebody."""
        who, role = said.get("who"), _text(said, "role")
        if isinstance(who, str) and who in APPROVERS:
            return APPROVERS[who]
        if who == "role" and role in self._roles:
            return f"role('{role}')"
        here = ("states", name, "approve", "by")
        if role:
            self._sketch.ask(
                f"“{label['zh']}”由“{role}”审批：没有叫这个名字的角色。草稿先请申请人的上级。",
                f"“{label['en']}” is decided by “{role}”, and no role is called so. The draft asks "
                "the requester's manager.",
                *here,
            )
        else:
            self._sketch.ask(
                f"谁来审批“{label['zh']}”？草稿先请申请人的上级。",
                f"Who decides at “{label['en']}”? The draft asks the requester's manager.",
                *here,
            )
        return APPROVERS["manager"]

    def _condition(self, name: str, said: Mapping[str, Any]) -> str:
        """Where the approval is needed, as an expression; empty: always, or that is asked."""
        label = _said(said, "label")
        field, above, words = (
            _text(said, "above_field"),
            _number(said, "above"),
            _text(said, "condition"),
        )
        slot = self._names.get(field, field)
        kind = self._sketch.slots.get(slot, {}).get("type")
        if field and above is not None and kind in {"number", "integer", "money"}:
            if words:
                self._ask_condition(name, label, words)
            return self._above(slot, kind, above)
        if field or words:
            limit = f"{field} > {above:g}" if field and above is not None else field
            self._ask_condition(name, label, " ".join(filter(None, (limit, words))))
        return ""

    def _above(self, slot: str, kind: str, above: float) -> str:
        made = self._sketch.slots[slot]
        read = f"slots.{slot}"
        if kind == "money":
            if not any("currency" in each["that"] for each in made.get("check", ())):
                checks = list(self._in_one_currency(slot, {}, made["label"]))
                made["check"] = [*checks, *made.get("check", ())]
            limit = CHECKS["amount_more_than"].expression_of(read, {"bound": round(above * 100)})
        else:
            limit = CHECKS["more_than"].expression_of(read, {"bound": above})
        return limit if made.get("required", True) else f"has({read}) && {limit}"

    def _ask_condition(self, name: str, label: Mapping[str, str], words: str) -> None:
        self._sketch.ask(
            f"“{label['zh']}”只在这种情况下才要吗：{words}？草稿总是要。",
            f"Is “{label['en']}” asked for only in this case: {words}? The draft always asks.",
            *("states", name),
        )

    def _afterwards(self, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
        label = _said(said, "label")
        self._sketch.ask(
            f"“{label['zh']}”由谁做：调用一个工具（call），等人来告知（wait），还是只告诉申请人？"
            "草稿只说一声。",
            f"Who does “{label['en']}”: a tool (call), somebody who tells of it (wait), or is the "
            "requester only told? The draft only says so.",
            *("states", name),
        )
        return {"name": label, "say": both(f"接下来：{label['zh']}", f"Next: {label['en']}")}


def _way(names: Sequence[str], conditions: Mapping[str, str]) -> Any:
    """On to the first of these steps whose condition holds; the last one has none."""
    branches: list[dict[str, str]] = []
    for name in names:
        if name not in conditions:
            branches.append({"to": name})
            break
        branches.append({"if": conditions[name], "to": name})
    return branches if len(branches) > 1 else names[0]


def _text(said: Mapping[str, Any], key: str, most: int = _LONGEST_LABEL) -> str:
    value = said.get(key)
    return one_line(value[: most * 2], most) if isinstance(value, str) else ""


def _said(said: Mapping[str, Any], key: str) -> dict[str, str]:
    """A text in both languages, each in its own; where one is missing, the other one twice."""
    most = 300 if key == "description" else _LONGEST_LABEL
    zh, en = _text(said, f"{key}_zh", most), _text(said, f"{key}_en", most)
    return both(zh, "" if _HAN.search(en) and zh else en)


def _has_chinese(made: Any) -> bool:
    """True where an English text is written in Chinese."""
    if isinstance(made, dict):
        return any(
            _HAN.search(value) is not None
            if key == "en" and isinstance(value, str)
            else _has_chinese(value)
            for key, value in made.items()
        )
    return isinstance(made, list) and any(map(_has_chinese, made))


def _number(said: Mapping[str, Any], key: str) -> float | None:
    value = said.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= LARGEST_NUMBER else None


def _sentences(given: Any, most: int) -> list[str]:
    listed = given[: most * 2] if isinstance(given, list) else []
    texts = (one_line(each[:600], 300) for each in listed if isinstance(each, str))
    return list(filter(None, texts))[:most]


def _choices(said: Mapping[str, Any]) -> dict[str, Any]:
    zh, en = (_sentences(said.get(f"choices_{key}"), MOST_OPTIONS) for key in ("zh", "en"))
    english = en if len(en) == len(zh) else zh or en
    made = choices_of({})
    for chinese, other in zip(zh or en, english, strict=True):
        label = both(chinese[:_LONGEST_LABEL], other[:_LONGEST_LABEL])
        if label not in [each["label"] for each in made.values()]:
            made[name_of(other, made, name_of("option", made))] = {"label": label}
    return made
