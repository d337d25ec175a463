"""A form as a flow: its fields are what is asked for, its signatures who has to agree.

A table that describes fields (a row each, under heads such as name, type, required, choices) or a
form that is filled in: a label, and beside it an empty cell, boxes to tick, or a list.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from router.domain.errors import InvalidInput
from router.domain.locale import Localised
from router.extensions.importers.beginning import (
    Beginning,
    BeginningContext,
    FlowSketch,
    both,
    choices_of,
    name_of,
    written,
)
from router.extensions.importers.bpmn_words import asked
from router.extensions.importers.form_table import FormTable, TableCell, table_of
from router.formats.regex import compiled

MOST_FIELDS = 150
LONGEST_LABEL = 40
"""Characters: what is longer is an explanation and no label."""
_HEADS = {
    "label": compiled(r"(?i)^(?:字段|字段名|字段名称|名称|项目|栏位|field|field name|name|label)$"),
    "type": compiled(r"(?i)^(?:类型|字段类型|数据类型|type|data type)$"),
    "required": compiled(r"(?i)^(?:必填|是否必填|必须|required|mandatory)\??$"),
    "choices": compiled(r"(?i)^(?:选项|可选值|取值|枚举|choices|options|values|allowed values)$"),
}
_TYPES = (
    ("file", compiled(r"(?i)附件|文件|扫描件|\b(?:file|attachment|upload)")),
    (
        "money",
        compiled(r"(?i)金额|费用|价格|单价|总价|预算|元\b|\b(?:amount|price|cost|budget|money)"),
    ),
    ("date", compiled(r"(?i)日期|时间|年月日|\b(?:date|day|until|from)\b")),
    ("integer", compiled(r"(?i)数量|人数|件数|份数|整数|\b(?:quantity|count|integer|number of)\b")),
    ("number", compiled(r"(?i)天数|时长|小时数|数字|数值|\b(?:number|hours|days|decimal)\b")),
    ("boolean", compiled(r"(?i)是否|\b(?:yes/no|boolean)\b")),
)
_SIGNED = compiled(
    r"(?i)审批|审核|批准|核准|签字|签名|签章|意见|\b(?:approv|sign(?:ature|ed)|endorse)"
)
_BOX = compiled(r"[☐□☑☒■▢○◯]\s*([^☐□☑☒■▢○◯]+)")
_YES = compiled(r"(?i)^(?:是|必填|必须|y|yes|true|1|x|√|✓|required)$")
_SEPARATOR = compiled(r"[,，、;；/|\n]+")
_BLANK = compiled(r"^[\s_:：/.年月日-]*$")


class PaperField(NamedTuple):
    """A field of a form."""

    label: str
    kind: str
    choices: tuple[str, ...] = ()
    required: bool = True


def beginning_of_form(content: bytes, around: BeginningContext) -> Beginning:
    """The draft that a form gives.

    Raises:
        InvalidInput: it can't be read, or has neither fields nor signatures in a table.
    """
    return written(sketch_of_form(table_of(content)), around)


def sketch_of_form(table: FormTable) -> FlowSketch:
    """The flow that the form asks for: what is filled in, then who agrees, in the form's order."""
    described = _described(table.rows)
    fields = described or list(_filled_in(table.rows))
    signed = [] if described else list(_signed(table.rows))
    if not fields and not signed:
        zh = "没有在表格里找到要填的项目：请发带有表格的表单。"
        en = "No field was found in a table: send a form that has one."
        raise InvalidInput(Localised(zh=zh, en=en))
    sketch = FlowSketch(table.title)
    _add_fields(sketch, fields)
    _add_states(sketch, signed)
    return sketch


def _described(rows: Sequence[Sequence[TableCell]]) -> list[PaperField]:
    """The fields of a table that describes them; none where it is no such table."""
    for number, row in enumerate(rows):
        heads = {
            key: column
            for column, cell in enumerate(row)
            for key, pattern in _HEADS.items()
            if pattern.search(cell.text)
        }
        if "label" in heads and len(heads) > 1:
            return [each for line in rows[number + 1 :] for each in _line(line, heads)]
    return []


def _line(row: Sequence[TableCell], heads: Mapping[str, int]) -> Iterator[PaperField]:
    said = {key: row[at].text if at < len(row) else "" for key, at in heads.items()}
    if label := said["label"].strip():
        choices = tuple(filter(None, map(str.strip, _SEPARATOR.split(said.get("choices", "")))))
        kind = "choice" if choices else _kind_of(said.get("type", "")) or _kind_of(label) or "text"
        needed = "required" not in heads or _YES.search(said["required"].strip()) is not None
        yield PaperField(label, kind, choices, needed)


def _filled_in(rows: Sequence[Sequence[TableCell]]) -> Iterator[PaperField]:
    """The labels that have something to fill in beside them."""
    for row in rows:
        for cell, beside in zip(row, row[1:] or [TableCell()], strict=False):
            label = cell.text.strip(" :：*＊")
            if not label or len(label) > LONGEST_LABEL or _SIGNED.search(label):
                continue
            boxes = tuple(each.strip(" ,，、;；") for each in _BOX.findall(beside.text))
            choices = beside.choices or tuple(filter(None, boxes))
            if choices:
                yield PaperField(label, "choice", choices)
            elif _BLANK.search(beside.text) and not _BOX.search(cell.text):
                yield PaperField(label, _kind_of(label) or "text")


def _signed(rows: Sequence[Sequence[TableCell]]) -> Iterator[str]:
    for row in rows:
        labels = (cell.text.strip(" :：") for cell in row)
        found = [each for each in labels if each and len(each) <= LONGEST_LABEL]
        signed = next((each for each in found if _SIGNED.search(each)), None)
        if signed is not None:
            yield signed


def _kind_of(words: str) -> str:
    return next((kind for kind, pattern in _TYPES if pattern.search(words)), "")


def _add_fields(sketch: FlowSketch, fields: Sequence[PaperField]) -> None:
    if len(fields) > MOST_FIELDS:
        left = len(fields) - MOST_FIELDS
        sketch.leave_out(
            "…",
            f"字段太多，后面 {left} 个没有带过来",
            f"there are too many fields; the last {left} aren't carried over",
        )
    for each in fields[:MOST_FIELDS]:
        name = name_of(each.label, sketch.slots, name_of("field", sketch.slots))
        slot: dict[str, Any] = {"type": each.kind}
        if not each.required:
            slot["required"] = False
        slot |= {"label": both(each.label), "ask": asked(each.label)}
        if each.kind == "choice":
            values: dict[str, str] = {}
            for choice in each.choices:
                values[name_of(choice, values, name_of("option", values))] = choice
            slot["choices"] = choices_of(values)
        sketch.slots[name] = slot


def _add_states(sketch: FlowSketch, signed: Sequence[str]) -> None:
    steps: list[tuple[str, dict[str, Any]]] = []
    if sketch.slots:
        steps.append(("details", {"collect": list(sketch.slots)}))
    for label in signed[:MOST_FIELDS]:
        taken = [name for name, _ in steps]
        name = name_of(label, [*taken, "done", "refused"], name_of("approval", taken))
        title = {
            "zh": f"{{{{ requester.name }}}}：{both(label)['zh']}",
            "en": f"{{{{ requester.name }}}}: {both(label)['en']}",
        }
        state = {"name": both(label), "approve": {"by": "manager(requester)", "title": title}}
        steps.append((name, state))
        sketch.ask(
            f"“{label}”由谁签？草稿先请申请人的上级。",
            f"Who signs “{label}”? The draft asks the requester's manager.",
            *("states", name, "approve", "by"),
        )
    sketch.start = steps[0][0]
    following = [*(name for name, _ in steps[1:]), "done"]
    for (name, state), after in zip(steps, following, strict=True):
        ways = {"next": after} if "collect" in state else {"approved": after, "rejected": "refused"}
        sketch.states[name] = state | ways
    if signed:
        said = {"zh": "申请没有获批。", "en": "It was not approved."}
        sketch.states["refused"] = {"say": said, "end": "rejected"}
    else:
        sketch.ask(
            "填好之后要谁审批，要做什么？", "Once it is filled in: who agrees, what is done?"
        )
    sketch.states["done"] = {"end": "completed"}
