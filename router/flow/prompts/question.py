"""A run as its requester sees it: what is being asked, and how.

The ways on from a question are buttons that can be said as well (docs/flows.md), so a terminal
needs none of them.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Literal, get_args

from pydantic import JsonValue

from router.domain import messages
from router.domain.locale import LOCALES, Locale, Localised
from router.domain.value import Value
from router.flow.definition import FlowDefinition
from router.flow.engine import changes, documents, waiting
from router.flow.engine.changes import CHANGE
from router.flow.engine.context import rendered
from router.flow.engine.elicitation import extended
from router.flow.engine.run import Run
from router.flow.engine.slots import LONGEST, at, captions, root
from router.flow.language import templates
from router.flow.slot_types.slot import HALF_DAY, Slot, both_halves, files_in, label_of, name_slots
from router.flow.view import FlowView

OtherWay = Literal["help", "skip", "start_over", "cancel", "person"]

OTHERWISE = Localised(zh="也可以：", en="Or:")
_PREFIX = "act:"
"""Tells them from the values of choices, which files and tools name."""
_LABELS: dict[OtherWay, Localised] = {
    "help": Localised(zh="怎么填？", en="What can I say?"),
    "skip": Localised(zh="跳过", en="Skip it"),
    "start_over": Localised(zh="从头来", en="Start over"),
    "cancel": Localised(zh="取消", en="Cancel"),
    "person": Localised(zh="找人工", en="Talk to a person"),
}


def value_of(way: OtherWay) -> str:
    """What a button for this way is pressed with, shown or not."""
    return f"{_PREFIX}{way}"


def way_of(value: object) -> OtherWay | None:
    """The way that a pressed button stands for; None where it is the answer to a question."""
    name = str(value).removeprefix(_PREFIX)
    if value == name:
        return None
    return next((way for way in get_args(OtherWay) if way == name), None)


ANY_MORE = Localised(zh="还有别的吗？", en="Is there another one?")
MAY_SKIP = Localised(zh="（可以跳过）", en=" (You can skip this.)")
SEEN = Localised(zh="上面看起来是 {value}，对吗？", en=" It looks like {value}; is that right?")
CHANGED = Localised(zh="和上次提交的不同：", en="Changed since it was handed in:")
REMARKS = Localised(zh="请注意：", en="Please note:")
NONE = "-"
UNCLEAR = Localised(zh="没看明白。", en="Sorry, I didn't get that.")
WAYS_OUT_AFTER = 3
"""Misses after which a question comes with the ways on from it."""


def view(definition: FlowDefinition, run: Run) -> FlowView:
    """The run as it stands, with the question it asks, if it asks one."""
    kept, definition = waiting.kept(definition, run), extended(definition, run)
    return FlowView(
        id=run.id,
        flow=definition.flow,
        title=definition.title,
        version=definition.version,
        status=_status(run),
        state=run.state,
        question=run.question_id,
        amends=run.approvals.asks_to_amend,
        whole=_whole(definition, run),
        awaiting=[run.question.path] if run.status == "collecting" and run.question.path else [],
        slots=run.form.slots,
        latest=run.form.latest_slots,
        slot_set=_slot_set(definition, run),
        replies=_asked(definition, run),
        events=run.events,
        no_matches=run.question.no_matches,
        kept=kept,
        reading=reading(definition, run),
        skipped=run.form.skipped_slots if kept is not None else [],
    )


def _status(run: Run) -> messages.FlowStatus:
    if run.approvals.amendment is None:
        return run.status
    return "confirming" if run.approvals.asks_to_amend else "running"


def _whole(definition: FlowDefinition, run: Run) -> str | None:
    above = run.parent or ""
    return above.rpartition("/")[2] if above.startswith(f"{definition.flow}/") else None


def reading(definition: FlowDefinition, run: Run) -> list[str]:
    """The files that were offered and that the run waits to be read, by id."""
    if not any(task.name == documents.LOOKUP for task in run.work.tasks.values()):
        return []
    return documents.offered(definition.slots, run.form.offered_values)


def fillable(definition: FlowDefinition, run: Run) -> dict[str, Slot]:
    """Return the slots that a person may fill while the run listens.

    What to change is one of them. They may change them, too, while others decide.
    """
    return _fillable(extended(definition, run), run)


def _fillable(definition: FlowDefinition, run: Run) -> dict[str, Slot]:
    if run.status not in ("collecting", "confirming", "waiting_approval"):
        return {}
    if run.question.path != CHANGE:
        return definition.fillable
    return {**definition.fillable, CHANGE: changes.changeable(definition, run)}


def _slot_set(definition: FlowDefinition, run: Run) -> str:
    slots = _fillable(definition, run)
    return definition.slot_set if slots is definition.fillable else name_slots(slots)


def question(definition: FlowDefinition, run: Run) -> messages.Reply | None:
    """What the run asks its requester now; None where it asks nothing."""
    if run.approvals.asks_to_amend:
        return _named(run, _amending(definition, run))
    if run.status == "confirming":
        return _named(run, _confirmation(definition, run))
    if run.status == "collecting" and run.question.path:
        asked = _named(run, _asking(definition, run, run.question.path))
        if isinstance(asked, messages.Skippable) and can_skip(definition, run):
            return asked.replace(skip=_way_on("skip", run))
        return asked
    return None


def _asked(definition: FlowDefinition, run: Run) -> list[messages.Reply]:
    asked = question(definition, run)
    if asked is None:
        return []
    if run.question.no_matches != WAYS_OUT_AFTER or isinstance(asked, messages.ChoicesReply):
        return [asked]
    may_skip = run.status == "collecting" and can_skip(definition, run)
    options = [_way_on(way, run) for way in _LABELS if may_skip or way != "skip"]
    others = messages.ChoicesReply(text=OTHERWISE.within(run.locale), options=options)
    named = getattr(asked, "question", None)
    ways = others.replace(question=named) if named else _named(run, others)
    return [asked, *([ways] if ways else [])]


def _way_on(way: OtherWay, run: Run) -> messages.Option:
    return messages.Option(label=_LABELS[way].within(run.locale), value=value_of(way))


def _named(run: Run, reply: messages.Reply | None) -> messages.Reply | None:
    if reply is None or isinstance(reply, messages.TextReply):
        return reply
    shown = reply.summary if isinstance(reply, messages.ConfirmReply) else {}
    name = f"{run.question_id}:{messages.digest_of([run.id, dict(shown)])}"
    return reply.replace(question=name)


def _confirmation(definition: FlowDefinition, run: Run) -> messages.Reply | None:
    text = definition.states[run.state].texts.get(("confirm",))
    if text is None:
        return None
    said = rendered(definition, run, text, run.locale)
    shown = templates.put_out(text.within(run.locale))
    known_slots = (n for n in captions(definition) if run.form.slots.get(n) is not None)
    named = all(name in shown for name in known_slots)
    known = summary(definition, run, run.locale)
    return messages.ConfirmReply(
        text=said + _changes(definition, run) + _remarks(definition, run),
        summary=known,
        told=named and _says(said, known.values()),
        files=_files(definition, run) or None,
    )


class ChangedValue(Value):
    """What one thing is, by its caption, and what it would be; empty for nothing."""

    caption: Localised
    before: Localised
    now: Localised


def changed_values(definition: FlowDefinition, run: Run) -> list[ChangedValue]:
    """What would be different with the change that the requester is asked about."""
    after = run.approvals.amendment.after if run.approvals.amendment else None
    if after is None:
        return []
    found = []
    for name, caption in captions(definition).items():
        had, has = run.form.slots.get(name), after.get(name)
        if had != has:
            before, now = (_said(definition, run, name, value) for value in (had, has))
            found.append(ChangedValue(caption=caption, before=before, now=now))
    return found


def _said(definition: FlowDefinition, run: Run, name: str, value: JsonValue) -> Localised:
    slot = definition.slots[name]
    zh, en = (
        "; ".join(templates.shown(slot, value, loc, run.form.file_names).split("\n"))
        for loc in LOCALES
    )
    return Localised(zh=zh, en=en)


def _worded(changed: Iterable[ChangedValue]) -> tuple[Localised, bool]:
    """The question whether to make it, and whether that says in full all that is different."""
    each, whole = [], True
    for one in changed:
        whole = whole and max(len(one.before.zh), len(one.now.zh)) <= LONGEST
        each.append(Localised(zh=_in_zh(one), en=_in_en(one)))
    zh = "，".join(one.zh for one in each)
    en = "; ".join(one.en for one in each)
    asked = Localised(
        zh=f"{zh}，需要重新审批。确认吗？",
        en=f"{en[:1].upper()}{en[1:]}. It then has to be approved anew. Shall I?",
    )
    return asked, whole


def _in_zh(one: ChangedValue) -> str:
    before, now = one.before.zh[:LONGEST], one.now.zh[:LONGEST]
    if not before:
        return f"补上{one.caption.zh}：{now}"
    return (
        f"把{one.caption.zh}从 {before} 改成 {now}" if now else f"去掉{one.caption.zh}（{before}）"
    )


def _in_en(one: ChangedValue) -> str:
    before, now = one.before.en[:LONGEST], one.now.en[:LONGEST]
    if not before:
        return f"add “{one.caption.en}”: {now}"
    if not now:
        return f"drop “{one.caption.en}” ({before})"
    return f"change “{one.caption.en}” from {before} to {now}"


YES_CHANGE = Localised(zh="确认修改", en="Change it")
NO_CHANGE = Localised(zh="不改了", en="Leave it")


def _amending(definition: FlowDefinition, run: Run) -> messages.ConfirmReply:
    """Whether a change of what was handed in is to be made."""
    locale, changed = run.locale, changed_values(definition, run)
    asked, told = _worded(changed)
    return messages.ConfirmReply(
        text=asked.within(locale),
        summary={
            one.caption.within(locale): CHANGE_OF.format(
                before=one.before.within(locale) or NONE, now=one.now.within(locale) or NONE
            )
            for one in changed
        },
        told=told,
        yes=YES_CHANGE.within(locale),
        no=NO_CHANGE.within(locale),
    )


CHANGE_OF = "{before} → {now}"


def _files(definition: FlowDefinition, run: Run) -> dict[str, str]:
    held = (files_in(slot, run.form.slots.get(name)) for name, slot in definition.slots.items())
    return {
        file: run.form.file_names[file]
        for file in chain.from_iterable(held)
        if file in run.form.file_names
    }


def _says(text: str, values: Collection[str]) -> bool:
    """True where each value stands in the text, by itself, at a place of its own."""
    # The longest first, each out of the text: one day isn't said twice by being said once.
    for value in sorted(values, key=len, reverse=True):
        at = text.find(value)
        while at >= 0 and _is_cut(text, at, at + len(value)):
            at = text.find(value, at + 1)
        if at < 0:
            return False
        text = f"{text[:at]}\0{text[at + len(value) :]}"
    return True


def _is_cut(text: str, start: int, end: int) -> bool:
    """True for a part of a word or a number: 3 isn't said by 13, nor by 3.5."""
    before, after, further = text[max(0, start - 1) : start], text[end : end + 1], text[end + 1 :]
    if any(sign.isascii() and sign.isalnum() for sign in (before, after)) or before in {".", ","}:
        return True
    return after in {".", ","} and further[:1].isdecimal()


def _changes(definition: FlowDefinition, run: Run) -> str:
    """What is different from what an approver sent back, a line each; nothing where nothing is."""
    if run.approvals.slots_before is None:
        return ""
    locale = run.locale
    before = known_in(definition, run.approvals.slots_before, locale, run.form.file_names)
    after = summary(definition, run, locale)
    lines = [
        f"{label}: {before.get(label, NONE)} → {after.get(label, NONE)}"
        for label in {**before, **after}
        if before.get(label) != after.get(label)
    ]
    return "\n".join(["\n\n" + CHANGED.within(locale), *lines]) if lines else ""


def _remarks(definition: FlowDefinition, run: Run) -> str:
    """What is to be known of the files, a line each."""
    lines = [remark.within(run.locale) for remark in documents.remarks(definition, run)]
    return "\n".join(["\n\n" + REMARKS.within(run.locale), *lines]) if lines else ""


def summary(definition: FlowDefinition, run: Run, locale: Locale) -> dict[str, str]:
    """What is known, as people read it."""
    return known_in(definition, run.form.slots, locale, run.form.file_names)


def known_in(
    definition: FlowDefinition,
    values: Mapping[str, JsonValue],
    locale: Locale,
    files: Mapping[str, str],
) -> dict[str, str]:
    """Every value by its caption, as people read it; `files` has their names by id."""
    slots = definition.slots
    half, other = both_halves(slots, values) or ("", "")
    return {
        (HALF_DAY if name == half else caption).within(locale): templates.shown(
            slots[name], values[name], locale, files
        )
        for name, caption in captions(definition).items()
        if values.get(name) is not None and name != other
    }


def _asking(definition: FlowDefinition, run: Run, path: str) -> messages.Reply | None:
    locale = run.locale
    if path == CHANGE:
        asks = changes.asks(run).within(locale)
        return _choices(asks, changes.changeable(definition, run), locale)
    slot = definition.slot_at(path)
    if slot is None:
        return None
    text = _prompt(definition, run, path, slot)
    seen = documents.suggestion(definition, run, path)
    if seen is not None and not slot.kind.options(slot):
        return _suggested(text, *seen, locale)
    if slot.kind.options(slot):
        return _choices(text, slot, locale)
    if slot.kind.has_field:
        label = label_of(path.rsplit(".", maxsplit=1)[-1], slot).within(locale)
        needed = not can_skip(definition, run)
        field = messages.FormField(name=path, type=slot.type, label=label, required=needed)
        return messages.FormReply(text=text, fields=[field])
    return messages.TextReply(text=text)


def _suggested(text: str, slot: Slot, value: JsonValue, locale: Locale) -> messages.Reply:
    """The question with what a file may say, which is pressed, or another value that is said."""
    said = templates.shown(slot, value, locale)
    text += SEEN.within(locale).format(value=said)
    return messages.ChoicesReply(text=text, options=[messages.Option(label=said, value=value)])


def _choices(text: str, slot: Slot, locale: Locale) -> messages.ChoicesReply:
    offered = slot.kind.options(slot)
    options = [messages.Option(label=say.within(locale), value=value) for say, value in offered]
    return messages.ChoicesReply(text=text, options=options)


def _prompt(definition: FlowDefinition, run: Run, path: str, slot: Slot) -> str:
    locale = run.locale
    if slot.of is not None:
        return rendered(definition, run, slot.more or ANY_MORE, locale)
    label = label_of(path.rsplit(".", maxsplit=1)[-1], slot)
    plainly = Localised(zh=f"请提供{label.zh}。", en=f"Please give the {label.en}.")
    text = rendered(definition, run, slot.ask or plainly, locale)
    if can_skip(definition, run):
        text += MAY_SKIP.within(locale)
    item = next((int(part) for part in path.split(".") if part.isdigit()), 0)
    items = run.form.slots.get(root(path))
    if item == 0 and not (isinstance(items, list) and len(items) > 1):
        return text
    kind = _kind_of(definition, run, path)
    if locale == "zh":
        return f"第 {item + 1} 项{f'（{kind}）' if kind else ''}：{text}"
    return f"Item {item + 1}{f' ({kind})' if kind else ''}: {text}"


def _kind_of(definition: FlowDefinition, run: Run, path: str) -> str:
    """What the item that is asked about is, where a choice of its own says so already."""
    above = path.rpartition(".")[0]
    row, item = definition.slot_at(above), at(run.form.slots, above)
    fields = row.fields if row is not None else {}
    kinds = (
        templates.shown(field, item[name], run.locale)
        for name, field in fields.items()
        if field.choices and isinstance(item, dict) and item.get(name) is not None
    )
    return next(kinds, "")


def can_skip(definition: FlowDefinition, run: Run) -> bool:
    """True where what is asked may be left empty: an optional slot of which nothing is known, or a
    part of one that was only to be supplied by wish.
    """  # noqa: D205 - one sentence
    name = root(run.question.path or "")
    if run.question.path in run.form.wanted_paths and run.question.path != name:
        return True
    slot = definition.slots.get(name)
    return slot is not None and slot.skippable and not run.form.slots.get(name)


def hint(definition: FlowDefinition, run: Run) -> Localised:
    """What would be an answer to the question that is asked, for someone who gave none."""
    say = what_fits(definition, run)
    return Localised(zh=UNCLEAR.zh + say.zh, en=f"{UNCLEAR.en} {say.en}")


def what_fits(definition: FlowDefinition, run: Run) -> Localised:
    """What would be an answer to the question that is asked."""
    if run.status == "confirming":
        return Localised(
            zh="请回答“确认”或“不”，也可以直接说要改什么。",
            en="Please answer yes or no, or say what to change.",
        )
    slot = asked_slot(definition, run)
    return slot.kind.hint(slot)


def asked_slot(definition: FlowDefinition, run: Run) -> Slot:
    """What is asked for; what to change is a choice among the slots."""
    if run.question.path == CHANGE:
        return changes.changeable(definition, run)
    return definition.slot_at(run.question.path or "") or Slot(type="text")
