"""A story written down from what was played: its steps, and what came of each as expectations.

What is expected is what came out twice, so that nothing is which is another each time, such as an
id. It is put at the end of a story file, of which every byte stays as it was. Pure.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from router.domain.errors import InvalidInput
from router.domain.locale import Localised
from router.extensions.authoring.trials.protocol import (
    PlayedCall,
    PlayedStep,
    PlayedTrial,
    TrialPlay,
)
from router.flow.validation.phrases import told
from router.formats.yaml_document import Unreadable, read_yaml
from router.story.entries import STEPS, AfterStep, UserStep, is_expression

MOST_PIECES = 3
"""Of what was said at one step."""
LONGEST_PIECE = 48
_SHORTEST_PIECE = 2
_ASIDE = ":：,，;；"
"""What a line ends with that only leads on to the next."""
_PART = re.compile(r"[^。！？!?；;\n]*[。！？!?；;]?")
_PAUSES = " ，、,"
_PLAIN = re.compile(
    r"[A-Za-z_\u4e00-\u9fff][\w\u4e00-\u9fff，。？！、；-]*(?: [\w，。？！、；-]+)*"
)
"""Texts that mean the same without quotes, wherever they stand."""
_NO_TEXTS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})

StepData = dict[str, JsonValue]


@dataclass(frozen=True)
class PlayedStory:
    """What was played, twice over, and under which name it is to be kept."""

    title: str
    asked: TrialPlay
    once: PlayedTrial
    again: PlayedTrial
    made_up: Mapping[str, JsonValue]
    """What tools answered of which the trial said nothing, by name."""

    def entry(self) -> dict[str, JsonValue]:
        """The story as its file has it."""
        entry: dict[str, JsonValue] = {"story": self.title, "user": self.asked.user}
        if answers := self._answers():
            entry["tool_answers"] = answers
        return {**entry, "steps": list(self._steps())}

    def _answers(self) -> dict[str, JsonValue]:
        """What each tool answered that was called, as long as no step said otherwise."""
        answers = {**self.made_up, **self.asked.answers}
        calls = [call for step in self.once.steps for call in step.calls]
        called = {c.tool for c in calls if c.error is not None or c.result == answers.get(c.tool)}
        return {name: answers[name] for name in sorted(called) if name in answers}

    def _steps(self) -> Iterator[JsonValue]:
        before = PlayedStep()
        for step, once, again in zip(
            self.asked.steps, self.once.steps, self.again.steps, strict=True
        ):
            yield step
            yield from expected(step, before, once, again)
            before = once


def expected(
    step: StepData, before: PlayedStep, once: PlayedStep, again: PlayedStep
) -> Iterator[JsonValue]:
    """What came of a step both times, as steps of a story."""
    if pieces := list(_pieces(once.said, again.said)):
        yield {"bot": pieces[0] if len(pieces) == 1 else list[JsonValue](pieces)}
    if stands := _stands(step, before, once, again):
        yield {"expect": stands}
    for call in _calls(once.calls, again.calls):
        yield {"tool": call.tool, **({"with": call.arguments} if call.arguments else {})}
    if _is(step, AfterStep):
        for told in dict.fromkeys((each.person, each.how) for each in once.told):
            if told in {(each.person, each.how) for each in again.told}:
                yield dict(zip(("told", "how"), told, strict=True))


def _is(step: StepData, sort: type) -> bool:
    return any(STEPS.get(key) is sort for key in step)


def _pieces(once: Sequence[StepData], again: Sequence[StepData]) -> Iterator[str]:
    """A short piece of each of the last replies, of those that were said both times."""
    for reply, other in list(zip(once, again, strict=False))[-MOST_PIECES:]:
        found = piece(str(reply.get("text", "")), str(other.get("text", "")))
        if found is not None:
            yield found


def piece(text: str, other: str) -> str | None:
    """The part of the text that says most in few words, and stands in the other one too.

    >>> piece("请确认： 年假，共 3 天。提交吗？", "年假，共 3 天。要提交？")
    '年假，共 3 天。'
    """
    parts = [part.strip() for line in text.splitlines() for part in _PART.findall(line)]
    short = [part if len(part) <= LONGEST_PIECE else _cut(part) for part in parts]
    fit = [p for p in short if len(p) >= _SHORTEST_PIECE and p in other and not is_expression(p)]
    telling = [part for part in fit if part[-1] not in _ASIDE]
    return max(telling or fit, key=len, default=None)


def _cut(part: str) -> str:
    """Its beginning, up to where one would pause."""
    head = part[:LONGEST_PIECE]
    pause = max(head.rfind(each) for each in _PAUSES)
    return head[:pause] if pause > LONGEST_PIECE // 3 else head


def _stands(
    step: StepData, before: PlayedStep, once: PlayedStep, again: PlayedStep
) -> dict[str, JsonValue] | None:
    now, then, was = once.standing, again.standing, before.standing
    if (
        now is None
        or then is None
        or (now.flow, now.status, now.state)
        != (
            then.flow,
            then.status,
            then.state,
        )
    ):
        return None
    found: dict[str, JsonValue] = {}
    if was is None or was.flow != now.flow:
        found["flow"] = now.flow
    if was is None or (was.flow, was.status, was.state) != (now.flow, now.status, now.state):
        found |= {"status": now.status, "state": now.state}
    if (
        now.approvers
        and now.approvers == then.approvers
        and now.approvers != (was.approvers if was else ())
    ):
        found["approvers"] = list(now.approvers)
    if now.status == "confirming" and _is(step, UserStep):
        known = was.slots if was and was.flow == now.flow else {}
        new = {n: v for n, v in now.slots.items() if v == then.slots.get(n) and v != known.get(n)}
        found |= {"slots": new} if new else {}
    return found or None


def _calls(once: Iterable[PlayedCall], again: Iterable[PlayedCall]) -> Iterator[PlayedCall]:
    """Calls that were made both times, each once, with the arguments that were the same."""
    left, seen = list(again), set[str]()
    for call in once:
        other = next((each for each in left if each.tool == call.tool), None)
        if other is None:
            continue
        left.remove(other)
        same = {n: v for n, v in call.arguments.items() if v == other.arguments.get(n)}
        key = json.dumps([call.tool, same], sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield call.replace(arguments=same)


def appended(stories: str, entry: Mapping[str, JsonValue]) -> str:
    """The story file with one more story at its end; what was there stays to the byte.

    Raises `InvalidInput` where nothing can be put there, or a story has this name.
    """
    before = _read(stories)
    if before is not None and not isinstance(before, list):
        raise InvalidInput(_NO_LIST)
    known = [
        each.get("story", next(iter(each), "")) for each in before or () if isinstance(each, dict)
    ]
    if entry["story"] in known:
        zh, en = f"已经有故事 {entry['story']!r}", f"there is a story {entry['story']!r} already"
        raise InvalidInput.at("title", Localised(zh=zh, en=en))
    items = (line.partition("- ") for line in stories.splitlines())
    indent = next((before for before, dash, _ in items if dash and not before.strip(" ")), "")
    text = "".join(_lines(entry, indent))
    between = "" if not stories else "\n" if stories.endswith("\n") else "\n\n"
    whole = f"{stories}{between}{text}"
    try:
        is_whole = _read(whole) == [*(before or []), entry]
    except InvalidInput:
        is_whole = False
    if not is_whole:
        raise InvalidInput(_NO_LIST)
    return whole


_NO_LIST = Localised(
    zh="stories：只能写到一份 `- story: …` 列表的末尾，请先把它写成这样",
    en="stories: a story can be put at the end of a list of `- story: …` alone: write it so first",
)


def _read(stories: str) -> Any:
    try:
        document = read_yaml(stories)
    except Unreadable as bad:
        raise InvalidInput.at("stories", told(*bad.fault, bad.line)) from None
    return document.data


def _lines(entry: Mapping[str, JsonValue], indent: str) -> Iterator[str]:
    """A story as people write it: a line each step, whose values are JSON, which is YAML too."""
    head = {key: value for key, value in entry.items() if key != "steps"}
    for first, (key, value) in zip(_dashes(), head.items(), strict=False):
        yield f"{indent}{first}{key}: {_value(value)}\n"
    yield f"{indent}  steps:\n"
    steps: Any = entry["steps"]
    for step in steps:
        for first, (key, value) in zip(_dashes(), step.items(), strict=False):
            yield f"{indent}    {first}{_text(key)}: {_value(value)}\n"


def _dashes() -> Iterator[str]:
    yield "- "
    while True:
        yield "  "


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXTS:
        return text
    # JSON's, in which what YAML takes for the end of a line is written out.
    written = json.dumps(text, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", written)


def _value(value: JsonValue) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(k)}: {_value(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)
