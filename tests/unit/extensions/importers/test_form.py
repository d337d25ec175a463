"""A form becomes a draft: its fields are asked for, its signatures are approvals in their order."""

import io
import zipfile
from html import escape
from pathlib import Path

import pytest

from router.domain.errors import InvalidInput
from router.extensions.importers.beginning import Beginning, BeginningContext
from router.extensions.importers.form import MOST_FIELDS
from router.extensions.importers.source_file import beginning_of_file
from router.flow.definition import FlowDefinition
from router.flow.loader import examine_text
from tests.table import each_row


def packed(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/") + ".xml", text)
    return out.getvalue()


def docx(rows: list[list[str]], title: str = "用印申请表") -> bytes:
    table = "".join(
        "<w:tr>" + "".join(f"<w:tc><w:p><w:r>{cell}</w:r></w:p></w:tc>" for cell in row) + "</w:tr>"
        for row in (
            [cell if cell.startswith("<") else f"<w:t>{escape(cell)}</w:t>" for cell in row]
            for row in rows
        )
    )
    body = f"<w:p><w:r><w:t>{title}</w:t></w:r></w:p><w:tbl>{table}</w:tbl>"
    return packed(
        word__document=f'<w:document xmlns:w="x"><w:body>{body}</w:body></w:document>',
    )


def xlsx(rows: list[list[str]], validations: str = "") -> bytes:
    cells = "".join(
        f'<row r="{r}">'
        + "".join(
            f'<c r="{chr(65 + c)}{r}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'
            for c, text in enumerate(row)
            if text
        )
        + "</row>"
        for r, row in enumerate(rows, 1)
    )
    return packed(
        xl__workbook='<workbook><sheets><sheet name="Room request"/></sheets></workbook>',
        xl__worksheets__sheet1=f"<worksheet><sheetData>{cells}</sheetData>{validations}</worksheet>",
    )


def begun(content: bytes) -> Beginning:
    return beginning_of_file(content, BeginningContext())


def flow_of(made: Beginning) -> FlowDefinition:
    file = examine_text(Path(f"{made.flow}.yaml"), made.text)
    assert not file.problems
    return file.definition


def by_label(flow: FlowDefinition) -> dict[str, str]:
    return {slot.label.zh: slot.type for slot in flow.slots.values() if slot.label}


def test_a_form_to_be_filled_in_becomes_questions_and_signatures() -> None:
    rows = [
        ["申请人电话", "", "使用日期", "   年  月  日"],
        ["合同金额（元）", "", "印章类别", "☐公章 ☐合同章 ☐ 法人章"],
        ["用途说明：", ""],
        ["部门负责人审批", ""],
        ["总经理签字", ""],
    ]

    flow = flow_of(begun(docx(rows)))

    assert flow.title.zh == "用印申请表"
    assert by_label(flow) == {
        "申请人电话": "text",
        "使用日期": "date",
        "合同金额（元）": "money",
        "印章类别": "choice",
        "用途说明": "text",
    }
    (kind,) = (slot for slot in flow.slots.values() if slot.choices)
    assert [each.label.zh for each in kind.choices.values()] == ["公章", "合同章", "法人章"]
    names = [s.name.zh for s in flow.states.values() if s.asks is not None and s.name is not None]
    assert names == ["部门负责人审批", "总经理签字"]


def test_a_list_in_a_document_gives_the_choices() -> None:
    listed = (
        '<w:sdt><w:dropDownList><w:listItem w:displayText="Paper"/><w:listItem w:value="Ink"/>'
        "</w:dropDownList><w:t>Choose</w:t></w:sdt>"
    )

    (slot,) = flow_of(begun(docx([["Goods", listed]]))).slots.values()

    assert [each.label.en for each in slot.choices.values()] == ["Paper", "Ink"]


@each_row("head", [["字段名称", "类型", "必填", "选项"], ["Name", "Type", "Required", "Choices"]])
def test_a_table_that_describes_fields_becomes_slots_of_those_types(head: list[str]) -> None:
    rows = [
        ["Fields of the form"],
        head,
        ["Room", "text", "yes", "Red, Blue"],
        ["Seats", "integer", "y", ""],
        ["On", "date", "是", ""],
        ["Remark", "text", "no", ""],
    ]

    flow = flow_of(begun(xlsx(rows)))

    assert {name: (slot.type, slot.required) for name, slot in flow.slots.items()} == {
        "room": ("choice", True),
        "seats": ("integer", True),
        "on": ("date", True),
        "remark": ("text", False),
    }
    assert list(flow.slots["room"].choices) == ["red", "blue"]


def test_a_list_that_a_sheet_checks_by_gives_the_choices() -> None:
    checked = (
        '<dataValidations><dataValidation type="list" sqref="B1"><formula1>"A4,A3"</formula1>'
        '</dataValidation><dataValidation type="list" sqref="B2"><formula1>$D$1:$D$9</formula1>'
        "</dataValidation></dataValidations>"
    )

    flow = flow_of(begun(xlsx([["Size"], ["Colour"]], checked)))

    assert (flow.slots["size"].type, flow.slots["colour"].type) == ("choice", "text")


def test_a_form_that_nobody_signs_asks_who_agrees() -> None:
    made = begun(docx([["Name", ""]]))

    assert any("who agrees" in each.what.en for each in made.questions)


@pytest.mark.slow
def test_of_ten_thousand_fields_the_first_are_carried_over_and_the_rest_is_told() -> None:
    made = begun(xlsx([["Name", "Type"], *([f"Field {n}", "text"] for n in range(10_000))]))

    assert len(flow_of(made).slots) == MOST_FIELDS
    assert "too many fields" in made.unmapped[0].what.en


def bomb() -> bytes:
    return packed(word__document=f"<document>{'<p>a</p>' * 3_000_000}</document>")


ENTITY = "<!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><document>&x;</document>"
HOSTILE = {
    "no zip at all": b"PK\x03\x04nothing",
    "another zip": packed(readme="hello"),
    "an outside entity": packed(word__document=ENTITY),
    "a bomb": bomb(),
    "too deep": packed(word__document="<a>" * 500 + "</a>" * 500),
    "no sheet": packed(xl__workbook="<workbook/>"),
    "no table": docx([]),
    "a table of prose": docx([["This is a long explanation " * 9, "of nothing to fill in " * 9]]),
    "a shared string that isn't there": packed(
        xl__workbook="<workbook/>",
        xl__worksheets__sheet1='<worksheet><c r="A1" t="s"><v>99</v></c></worksheet>',
    ),
    "a cell at an odd place": packed(
        xl__workbook="<workbook/>",
        xl__worksheets__sheet1='<worksheet><c r="ZZZ9999999"><v>1</v></c><c r="?"/></worksheet>',
    ),
}


@each_row("name", HOSTILE)
def test_files_that_mean_harm_or_say_nothing_are_refused_with_words(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        begun(HOSTILE[name])

    assert not refused.value.said.zh.isascii()
