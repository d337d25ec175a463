"""What differs between two versions of a flow: in sentences, and by which states are others.

    found = difference(before, after, "en")
    found.sentences   # ("“Manager decides”: goes up after was “2 d” and is “1 d” now.", …)
    found.changed     # {"review"}

Sentences are for whoever reviews: states, slots and conditions go by their names in words, and an
expression is shown only where nobody gave it a name, and people by what `names` calls those whom
an expression gives. Patterns are counted: nobody reviews them by reading.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel

from router.domain.locale import LOCALES, Locale, Localised
from router.domain.visible_text import quoted
from router.drawing.flowchart import EXITS
from router.drawing.svg import Mark, Marks
from router.extensions.authoring.new_name import with_slots_read_as
from router.flow.definition import Branch, FlowDefinition, State
from router.flow.prompts.values import span
from router.flow.slot_types.slot import SKIPPABLE, Slot, SlotCheck
from router.flow.view import STATUSES
from router.formats.regex import compiled

TitlesByName = Mapping[str, Localised]
"""What expressions are called, by the expression: `manager(requester)` is “their manager”."""
NO_NAMES: TitlesByName = MappingProxyType({})


@dataclass(frozen=True)
class FlowDifference:
    """What somebody would want to know before they let the second version hold."""

    sentences: tuple[str, ...] = ()
    added: frozenset[str] = frozenset()
    """States that are new, by name."""
    removed: frozenset[str] = frozenset()
    """States that are gone, by the name that they had."""
    changed: Mapping[str, str] = field(default_factory=dict)
    """States that are in both and do something else: by the name that they have, the one that they
    had."""

    @property
    def marks_before(self) -> Marks:
        """How the states of the first version are marked in its picture."""
        gone: dict[str, Mark] = dict.fromkeys(self.removed, "removed")
        return gone | dict.fromkeys(self.changed.values(), "changed")

    @property
    def marks_after(self) -> Marks:
        """How the states of the second version are marked in its picture."""
        new: dict[str, Mark] = dict.fromkeys(self.added, "added")
        return new | dict.fromkeys(self.changed, "changed")


def difference(
    before: FlowDefinition | None,
    after: FlowDefinition,
    locale: Locale,
    names: TitlesByName = NO_NAMES,
) -> FlowDifference:
    """What the second does otherwise than the first; None: there was none of that name."""
    if before is None:
        counts = (len(after.states), len(after.slots))
        return FlowDifference((_NEW.within(locale).format(*counts),), frozenset(after.states))
    slots = _renamed(before.slots, after.slots, _slot_content)
    was = _with_slots_renamed(before, slots)
    states = _renamed(was.states, after.states, _state_content)
    was = _with_states_renamed(was, states)
    words = _Words(locale, names, was, after)
    changed: dict[str, str] = {}
    lines = [*words.renames(slots, states), *words.of_flow(), *words.of_slots()]
    former = {now: then for then, now in states.items()}
    for name in after.states:
        if name in was.states and was.states[name] != after.states[name]:
            changed[name] = former.get(name, name)
            lines += words.of_state(name)
    lines[len(lines) :] = words.of_states()
    if not lines:
        same = was.model_dump(exclude={"version"}) == after.model_dump(exclude={"version"})
        lines.append((_WRITTEN if same else _UNSAID).within(locale))
    return FlowDifference(
        tuple(lines),
        frozenset(after.states.keys() - was.states.keys()),
        frozenset(was.states.keys() - after.states.keys()),
        changed,
    )


def _words(zh: str, en: str) -> Localised:
    return Localised(zh=zh, en=en)


_NEW = _words("这是一个新流程：{} 个步骤，{} 项内容。", "This flow is new: {} steps, {} slots.")
_WRITTEN = _words(
    "步骤、内容和文字都没有变，只是文件写法不同。",
    "No step, slot or text is another: only how the file is written.",
)
_UNSAID = _words("还有别的改动，请看文件对比。", "Something else is another: see the file.")
_CHANGED = _words("{0}：{1}由{2}改为{3}。", "{0}: {1} was {2} and is {3} now.")
_SET = _words("{0}：{1}现在是{2}，原来没有。", "{0}: {1} is {2} now; there was none.")
_UNSET = _words("{0}：{1}原为{2}，现在没有了。", "{0}: {1} was {2}; now there is none.")
_ADDED = _words("{0}：{1}增加{2}。", "{0}, {1}: now with {2}.")
_TAKEN = _words("{0}：{1}去掉{2}。", "{0}, {1}: now without {2}.")
_FILLED = _words("{0}：{1}里填入的内容变了。", "{0}: {1} has something else filled in.")
_OTHERWISE = _words("{0}：{1}的判断方式变了。", "{0}: {1} is decided in another way.")
_LIMIT = _words("{0}：{1}的界限由 {2} 改为 {3}。", "{0}: {1} has another limit, {2} ▸ {3}.")
_COUNTED = _words("{0}：{1}增加 {2} 条，减少 {3} 条。", "{0}: {1}: {2} added, {3} taken out.")
_WENT = _words("{0}，{1}：原先{2}，现在{3}。", "{0}, {1}: it led {2}; it leads {3} now.")
_AFTERWARDS = _words("之后", "afterwards")
_GOES = _words("去{}", "to {}")
_NOWHERE = _words("没有去处", "nowhere")
_IF = _words("{}时去{}", "to {1} if {0}")
_ELSE = _words("否则去{}", "otherwise to {}")
_STATE_NAMED = _words(
    "步骤“{}”在文件里改名为“{}”。", "The step “{}” is called “{}” in the file now."
)
_SLOT_NAMED = _words(
    "内容“{}”在文件里改名为“{}”。", "The slot “{}” is called “{}” in the file now."
)
_STATE_ADDED = _words("新增步骤{}（{}）。", "There is a new step: {} ({}).")
_STATE_REMOVED = _words("删去步骤{}（{}）。", "A step is gone: {} ({}).")
_KIND = _words("{0}：由“{1}”改为“{2}”。", "{0}: it was a step that {1}, and {2} now.")
_SLOT_ADDED = _words("新增内容{}。", "There is a new slot: {}.")
_SLOT_REMOVED = _words("删去内容{}。", "A slot is gone: {}.")
_FLOW = _words("流程", "The flow")
_WITHDRAWAL = _words("办结后的撤回", "Taking back a completed run")
_UNNAMED = _words("一个条件", "a condition")
_PART = _words("{0}的{1}", "{1} of {0}")
_IN = {
    "zh": _words("{}（中文）", "{} in Chinese"),
    "en": _words("{}（英文）", "{} in English"),
}
_YES, _NO = _words("是", "yes"), _words("否", "no")
_NOTHING = _words("无", "nothing")

LABELS: Mapping[str, Localised] = MappingProxyType(
    {
        "title": _words("标题", "the title"),
        "description": _words("说明", "the description"),
        "names": _words("别称", "other names"),
        "verbs": _words("动词", "its verbs"),
        "idle": _words("等人答复多久后提醒", "how long it waits for a word"),
        "start": _words("开始的步骤", "the first step"),
        "amend": _words("审批中可否修改", "whether it can be changed while it waits"),
        "withdrawal": _words("办结后的撤回", "taking it back once completed"),
        "patterns": _words("触发句式", "the patterns that start it"),
        "topics": _words("话题句式", "the topics that start it"),
        "unless": _words("排除句式", "the patterns that keep it from starting"),
        "without": _words("不用的排除规则", "the blockers that don't hold for it"),
        "examples": _words("例句", "the example sentences"),
        "roles": _words("可以发起或告知的角色", "the roles that may"),
        "type": _words("类型", "the type"),
        "label": _words("名称", "the label"),
        "ask": _words("问法", "the question"),
        "required": _words("是否必填", "whether it is required"),
        "find": _words("识别句式", "the patterns that find it"),
        "reference": _words("单据编号", "the number of a document"),
        "check": _words("检查", "the checks"),
        "warn": _words("提醒", "the warnings"),
        "documents": _words("单据种类", "the documents it is meant for"),
        "from": _words("从单据读取", "what of a document fills it"),
        "lookup": _words("自动查询", "what looks it up"),
        "when": _words("何时才问", "when it is asked"),
        "range": _words("日期段的哪一端", "its part of a date range"),
        "min": _words("最少几项", "the fewest items"),
        "max": _words("最多几项", "the most items"),
        "more": _words("是否还有下一项的问法", "the question for another"),
        "max_length": _words("最多字数", "the most characters"),
        "synonyms": _words("同义词", "the words for it"),
        "of": _words("所指", "what it is of"),
        "pattern": _words("编号格式", "the pattern of numbers"),
        "say": _words("告知的话", "what is said"),
        "name": _words("步骤名", "its name"),
        "locked": _words("不能再撤回时说的话", "what is said where it can't be taken back"),
        "call": _words("调用的工具", "the tool that is called"),
        "with": _words("参数", "the argument"),
        "save": _words("结果的名字", "the name of the result"),
        "undo": _words("撤销用的工具", "the tool that takes it back"),
        "retry": _words("重试", "trying again"),
        "hold": _words("失败时等管理员", "whether an operator is waited for"),
        "each": _words("逐项处理的列表", "the list that it is done for"),
        "at_once": _words("同时最多几项", "how many at once"),
        "collect": _words("收集的内容", "what is asked for"),
        "confirm": _words("请确认的话", "what is to be confirmed"),
        "flow": _words("办理的流程", "the flow that is started"),
        "detached": _words("是否不等它办完", "whether it isn't waited for"),
        "parallel": _words("同时进行的分支", "what is done side by side"),
        "wait_for": _words("等哪些分支", "which branches are waited for"),
        "rest": _words("其余分支怎么办", "what becomes of the rest"),
        "forget": _words("清空的内容", "what is emptied"),
        "end": _words("结束状态", "how it ends"),
        "keep": _words("是否保留已填内容", "whether values are kept"),
        "by": _words("审批人", "who approves"),
        "otherwise": _words("没有审批人时找谁", "who approves where there is nobody"),
        "mode": _words("几个人要同意", "how many have to agree"),
        "remind_every": _words("多久催一次", "how often they are reminded"),
        "escalate_after": _words("多久后升级", "when it goes up"),
        "escalate_to": _words("升级给谁", "whom it goes up to"),
        "expire_after": _words("多久后过期", "when it expires"),
        "hours": _words("时间怎么算", "how time is counted"),
        "cc": _words("抄送", "who is told"),
        "skip_same": _words("同意过的人是否不再问", "whether who agreed is asked no more"),
        "bulk": _words("可否批量审批", "whether several are decided at once"),
        "until": _words("等到何时", "until when it waits"),
        "for": _words("等多久", "how long it waits"),
        "event": _words("等的事件", "the event that is waited for"),
        "attempts": _words("最多几次", "the most calls"),
        "every": _words("每隔多久", "how long after each"),
        "any": _words("任一人同意即可", "any one"),
        "all": _words("全部同意", "all"),
        "sequential": _words("依次同意", "one after the other"),
        "calendar": _words("自然时间", "as the calendar has it"),
        "working": _words("工作时间", "in working time"),
        "choices": _words("选项", "the choices"),
        "fields": _words("字段", "the field"),
    }
)
"""What keys, and the few words that they may have, are called in sentences."""

_COUNTED_KEYS = frozenset({"patterns", "topics", "unless", "find", "pattern"})
_LEFT_OUT = frozenset(
    {"flow", "version", "triggers", "slots", "states", "words", SKIPPABLE, "=save"}
)
_CHOSEN = frozenset({"mode", "hours", "wait_for"})
_ORDERED = frozenset({"collect", "parallel", "from"})
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_FILLED_IN = compiled(r"(?s)\{\{\s*(?:(?:shown|slots)\.(\w+))?.*?\}\}")
_BLOCKS = compiled(r"(?s)\{%.*?%\}")


def _slot_content(name: str, slot: Slot) -> str:
    """All of it, under whatever name it reads itself; nothing to know it by without a label."""
    if slot.label is None:
        return ""
    whole = {"slots": {name: slot.model_dump(mode="json", by_alias=True)}}
    return json.dumps(with_slots_read_as(whole, {name: "="})["slots"][name])


def _state_content(_: str, state: State) -> str:
    """What it does, wherever it leads: only by that a state of another name is known again."""
    ways = {*state.needs, *state.may}
    return json.dumps([state.kind, state.model_dump(mode="json", exclude={*ways, "parallel"})])


Made = TypeVar("Made")


def _renamed(
    before: Mapping[str, Made], after: Mapping[str, Made], content: Callable[[str, Made], str]
) -> dict[str, str]:
    """By the name that it had, the one that something has which is otherwise the same."""
    new = [name for name in after if name not in before]
    found: dict[str, str] = {}
    for name in before:
        what = content(name, before[name])
        same = [n for n in new if content(n, after[n]) == what and n not in found.values()]
        if name not in after and what and same:
            found[name] = same[0]
    return found


def _with_slots_renamed(flow: FlowDefinition, names: Mapping[str, str]) -> FlowDefinition:
    if not names:
        return flow
    whole = with_slots_read_as(flow.model_dump(mode="json", by_alias=True), names)
    whole["slots"] = {names.get(name, name): slot for name, slot in whole["slots"].items()}
    return FlowDefinition.model_validate(whole)


def _with_states_renamed(flow: FlowDefinition, names: Mapping[str, str]) -> FlowDefinition:
    if not names:
        return flow
    whole = flow.model_dump(mode="json")
    for name, state in flow.states.items():
        for exit_ in state.exits():
            for branch in whole["states"][name][exit_]:
                branch["to"] = names.get(branch["to"], branch["to"])
        if "parallel" in whole["states"][name]:
            those = whole["states"][name]["parallel"]
            whole["states"][name]["parallel"] = [names.get(each, each) for each in those]
    whole["start"] = names.get(flow.start, flow.start)
    whole["states"] = {names.get(name, name): state for name, state in whole["states"].items()}
    return FlowDefinition.model_validate(whole)


@dataclass(frozen=True)
class _Words:
    """Sentences in one language about two versions, which call things alike by now."""

    locale: Locale
    names: TitlesByName
    before: FlowDefinition
    after: FlowDefinition

    def _say(self, words: Localised, *values: object) -> str:
        return words.within(self.locale).format(*values)

    def renames(self, slots: Mapping[str, str], states: Mapping[str, str]) -> Iterator[str]:
        for words, names in ((_SLOT_NAMED, slots), (_STATE_NAMED, states)):
            yield from (self._say(words, then, now) for then, now in names.items())

    def of_flow(self) -> Iterator[str]:
        owner = _FLOW.within(self.locale)
        yield from self._models(owner, self.before, self.after)
        yield from self._models(owner, self.before.triggers, self.after.triggers)

    def of_slots(self) -> Iterator[str]:
        yield from self._slots(self.before.slots, self.after.slots)

    def of_states(self) -> Iterator[str]:
        """Those that there weren't, and those that there aren't any more."""
        words = ((_STATE_ADDED, self.after, self.before), (_STATE_REMOVED, self.before, self.after))
        for said, there, elsewhere in words:
            for name, state in there.states.items():
                if name not in elsewhere.states:
                    yield self._say(said, self._state(name), state.label.within(self.locale))

    def of_state(self, name: str) -> Iterator[str]:
        """What a state that is in both does otherwise."""
        then, now = self.before.states[name], self.after.states[name]
        owner = self._state(name)
        if then.kind != now.kind:
            kinds = (each.label.within(self.locale) for each in (then, now))
            yield self._say(_KIND, owner, *kinds)
            return
        yield from self._models(owner, then, now)
        yield from self._ways(owner, then, now)

    def _state(self, name: str) -> str:
        state = self.after.states.get(name) or self.before.states.get(name)
        named = state.name.within(self.locale) if state and state.name else name
        return quoted(named)

    def _slot(self, name: str) -> str:
        slot = self.after.slots.get(name) or self.before.slots.get(name)
        return quoted(slot.label.within(self.locale) if slot and slot.label else name)

    def _label(self, key: str) -> str:
        return LABELS[key].within(self.locale) if key in LABELS else key

    def _ways(self, owner: str, then: State, now: State) -> Iterator[str]:
        for exit_ in (*now.needs, *now.may):
            led, leads = (tuple(getattr(each, exit_)) for each in (then, now))
            said = [self._route(each) for each in (led, leads)]
            if said[0] != said[1] or [each.to for each in led] != [each.to for each in leads]:
                event = (EXITS[exit_] if exit_ != "next" else _AFTERWARDS).within(self.locale)
                yield self._say(_WENT, owner, event, *said)
            else:
                # By their names they lead the same way; a condition may be another for all that.
                for a, b in zip(led, leads, strict=False):
                    named = quoted(b.name.within(self.locale)) if b.name else ""
                    yield from self._condition(owner, named, a.condition, b.condition)

    def _route(self, branches: Sequence[Branch]) -> str:
        """Where an exit leads, in words."""
        if not branches:
            return _NOWHERE.within(self.locale)
        comma = "，" if self.locale == "zh" else ", "
        return comma.join(self._branch(each, len(branches) > 1) for each in branches)

    def _branch(self, branch: Branch, one_of_several: bool) -> str:
        target = self._state(branch.to)
        if branch.condition is not None:
            named = branch.name.within(self.locale) if branch.name else f"`{branch.condition}`"
            return self._say(_IF, named, target)
        return self._say(_ELSE if one_of_several else _GOES, target)

    def _condition(
        self, owner: str, named: str, then: str | None, now: str | None
    ) -> Iterator[str]:
        if then == now:
            return
        of = named or _UNNAMED.within(self.locale)
        numbers = [_NUMBER.findall(each or "") for each in (then, now)]
        if _NUMBER.sub("", then or "") == _NUMBER.sub("", now or ""):
            changed = [each for each in zip(*numbers, strict=True) if each[0] != each[1]]
            told = (", ".join(each) for each in zip(*changed, strict=True))
            yield self._say(_LIMIT, owner, of, *told)
        else:
            yield self._say(_OTHERWISE, owner, of)

    def _models(self, owner: str, then: BaseModel, now: BaseModel) -> Iterator[str]:
        """Key by key, what is another in two of the same make."""
        for name, info in type(now).model_fields.items():
            key = info.alias or name
            a, b = getattr(then, name), getattr(now, name)
            is_way = isinstance(now, State) and name in {*now.needs, *now.may}
            is_left = key in _LEFT_OUT and not (key == "flow" and isinstance(now, State))
            if a != b and not is_way and not is_left:
                yield from self._values(owner, key, a, b)

    def _values(self, owner: str, key: str, then: Any, now: Any) -> Iterator[str]:
        """What is another under one key."""
        if key in _COUNTED_KEYS:
            yield from self._counts(owner, key, then, now)
        elif key in {"check", "warn"} and not isinstance(now, str):
            yield from self._checks(owner, key, then, now)
        elif isinstance(then, dict) or isinstance(now, dict):
            yield from self._entries(owner, key, then or {}, now or {})
        elif isinstance(then, BaseModel) and type(then) is type(now) and not _is_text(now):
            within = _WITHDRAWAL.within(self.locale) if key == "withdrawal" else owner
            yield from self._models(within, then, now)
        elif isinstance(then, tuple | frozenset) and key not in {"by", "cc"}:
            yield from self._lists(owner, key, then, now)
        else:
            yield self._changed(owner, key, then, now)

    def _changed(self, owner: str, key: str, then: Any, now: Any) -> str:
        label = self._label(key)
        if isinstance(then, Localised) and isinstance(now, Localised):
            return self._reworded(owner, label, then, now)
        a, b = self._worded(key, then), self._worded(key, now)
        if not a or not b:
            return self._say(_SET if b else _UNSET, owner, label, b or a)
        return self._say(_CHANGED, owner, label, a, b)

    def _reworded(self, owner: str, label: str, then: Localised, now: Localised) -> str:
        other = next(each for each in LOCALES if each != self.locale)
        for locale, called in ((self.locale, label), (other, self._say(_IN[other], label))):
            a, b = (self._text(each, locale) for each in (then, now))
            if a != b:
                return self._say(_CHANGED, owner, called, quoted(a), quoted(b))
        return self._say(_FILLED, owner, label)

    def _text(self, text: Localised, locale: Locale | None = None) -> str:
        """The text with slots by what they are called in the place of what is filled in."""
        read = _FILLED_IN.sub(self._called, text.within(locale or self.locale))
        return " ".join(_BLOCKS.sub("", read).split())

    def _called(self, filled_in: Any) -> str:
        name = filled_in[1]
        slot = self.after.slots.get(name or "") or self.before.slots.get(name or "")
        return f"[{slot.label.within(self.locale)}]" if slot and slot.label else "…"

    def _worded(self, key: str, value: Any) -> str:
        """The value as it is read; empty for nothing."""
        if value is None or value == ():
            return ""
        if isinstance(value, bool | timedelta | Localised):
            return self._simple(value)
        if isinstance(value, tuple | frozenset):
            comma = "、" if self.locale == "zh" else ", "
            ordered = sorted(value) if isinstance(value, frozenset) else value
            return comma.join(self._worded(key, each) for each in ordered)
        if isinstance(value, BaseModel):
            return self._parts(value)
        return self._plain(key, value)

    def _simple(self, value: bool | timedelta | Localised) -> str:
        if isinstance(value, Localised):
            return quoted(self._text(value))
        if isinstance(value, timedelta):
            return span(value, self.locale)
        return (_YES if value else _NO).within(self.locale)

    def _plain(self, key: str, value: Any) -> str:
        if value in self.names:
            return quoted(self.names[value].within(self.locale))
        if key in _CHOSEN:
            return quoted(self._label(value))
        if key == "end":
            return quoted(STATUSES[value].within(self.locale))
        if key in {"collect", "forget"}:
            return self._slot(value)
        if key in {"start", "parallel"}:
            return self._state(value)
        return quoted(str(value)) if isinstance(value, str) else str(value)

    def _parts(self, value: BaseModel) -> str:
        comma = "；" if self.locale == "zh" else "; "
        fields = ((i.alias or n, getattr(value, n)) for n, i in type(value).model_fields.items())
        told = ((key, self._worded(key, each)) for key, each in fields if key not in _LEFT_OUT)
        return comma.join(f"{self._label(key)} {said}" for key, said in told if said)

    def _counts(self, owner: str, key: str, then: Any, now: Any) -> Iterator[str]:
        a, b = ([each] if isinstance(each, str) else list(each or ()) for each in (then, now))
        added, gone = ([e for e in x if e not in y] for x, y in ((b, a), (a, b)))
        if added or gone:
            yield self._say(_COUNTED, owner, self._label(key), len(added), len(gone))

    def _lists(
        self, owner: str, key: str, then: Iterable[Any], now: Iterable[Any]
    ) -> Iterator[str]:
        a, b = list(then), list(now)
        for words, those in (
            (_ADDED, [e for e in b if e not in a]),
            (_TAKEN, [e for e in a if e not in b]),
        ):
            if those:
                said = self._worded(key, tuple(sorted(those, key=str)))
                yield self._say(words, owner, self._label(key), said)
        if sorted(a, key=str) == sorted(b, key=str) and a != b and key in _ORDERED:
            yield self._changed(owner, key, tuple(a), tuple(b))

    def _checks(
        self, owner: str, key: str, then: Sequence[SlotCheck], now: Sequence[SlotCheck]
    ) -> Iterator[str]:
        """Checks go by what they say, and so are the same where their condition is another."""
        a, b = ({self._text(each.say): each for each in those} for those in (then, now))
        for said in [*a, *(each for each in b if each not in a)]:
            if said not in b or said not in a:
                words = _ADDED if said in b else _TAKEN
                yield self._say(words, owner, self._label(key), quoted(said))
                continue
            yield from self._condition(owner, quoted(said), a[said].that, b[said].that)
            if a[said].say != b[said].say:
                yield self._changed(owner, "say", a[said].say, b[said].say)

    def _entries(
        self, owner: str, key: str, then: Mapping[str, Any], now: Mapping[str, Any]
    ) -> Iterator[str]:
        if key == "fields":
            yield from self._slots(then, now, owner)
            return
        for name in dict.fromkeys([*then, *now]):
            a, b = then.get(name), now.get(name)
            if a == b:
                continue
            called = getattr(b or a, "label", None)
            label = quoted(called.within(self.locale) if called else name)
            label = f"{self._label(key)} {label}"
            if isinstance(a, BaseModel) and isinstance(b, BaseModel):
                yield from self._models(self._say(_PART, owner, label), a, b)
            elif isinstance(b or a, BaseModel):
                words = _ADDED if b else _TAKEN
                named = quoted(called.within(self.locale) if called else name)
                yield self._say(words, owner, self._label(key), named)
            elif a is None or b is None:
                words = _SET if b is not None else _UNSET
                yield self._say(words, owner, label, self._worded(key, b or a))
            else:
                yield self._say(_CHANGED, owner, label, self._worded(key, a), self._worded(key, b))

    def _slots(
        self, then: Mapping[str, Slot], now: Mapping[str, Slot], owner: str = ""
    ) -> Iterator[str]:
        for name in dict.fromkeys([*now, *then]):
            a, b = then.get(name), now.get(name)
            slot = b or a
            called = quoted(slot.label.within(self.locale) if slot and slot.label else name)
            within = self._say(_PART, owner, called) if owner else called
            if a is None or b is None:
                yield self._say(_SLOT_REMOVED if b is None else _SLOT_ADDED, within)
            else:
                yield from self._models(within, a, b)


def _is_text(value: Any) -> bool:
    return isinstance(value, Localised)
