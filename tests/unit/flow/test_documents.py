"""Slots that are filled from what was read of a file: `documents`, `from` and `warn`."""

from typing import Any, cast

from pydantic import JsonValue

from router.domain.documents import Document, DocumentProblem, ReadField
from router.domain.locale import Localised
from router.domain.messages import ChoicesReply, ConfirmReply
from router.flow.engine.changes import CHANGE
from router.flow.prompts.question import view
from tests.table import each_row
from tests.unit.flow.world import World, sample

CLAIM, LEAVE = sample("reimbursement"), sample("leave_request")
A, B, C = "a" * 24, "b" * 24, "c" * 24


def document(type_: str = "invoice", /, *, sure: float = 0.95, **fields: Any) -> Document:
    read = {n: ReadField(value=v, source="text", confidence=sure) for n, v in fields.items()}
    lacks = ("number",) if type_ == "invoice" and "number" not in fields else ()
    return Document(type=type_, fields=read, lacks=lacks, content=f"{type_[0]}{len(fields)}" * 9)


def money(amount: str) -> dict[str, JsonValue]:
    return {"amount": amount, "currency": "CNY"}


MEAL = document(number="2401", date="2026-11-17", amount=money("86.00"), item="*餐饮服务*餐费")
TAXI = document("taxi_receipt", date="2026-11-16", amount=money("36.00"))
BLURRED = Document.unreadable("blurred", Localised(zh="太模糊", en="it is blurred"))


def world(flow: Any = CLAIM, used: str = "", **files: Document | None) -> World:
    made = World(flow, claimed="2400")
    papers = {{"a": A, "b": B, "c": C}[name]: paper for name, paper in files.items()}
    made.world.lookups |= {
        "file_name": lambda _, file: f"{file[0]}.pdf",
        "document_of": lambda _, file: (
            paper.model_dump(mode="json") if (paper := papers.get(file)) else None
        ),
        "used_before": lambda file: used if file == A else "",
        "is_company": lambda name: name == "本公司",
    }
    return made


def items(made: World) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", made.run.form.slots["items"])


def test_papers_alone_are_a_whole_claim_but_for_the_reason() -> None:
    made = world(a=MEAL, b=TAXI).begin(items__0__receipt=A, items__1__receipt=B)
    made.answer(items__0__receipt=A, items__1__receipt=B)
    assert [item["category"] for item in items(made)] == ["meal", "transport"]
    assert items(made)[0] == {
        "category": "meal",
        "amount": money("86.00"),
        "date": "2026-11-17",
        "invoice": "2401",
        "receipt": A,
    }
    assert items(made)[1]["invoice"] == "FILE-T2T2T2T2T2T2"  # a taxi's receipt has no number
    assert made.run.question.path == "reason"


def test_an_invoice_whose_number_was_not_found_is_asked_for_it() -> None:
    made = world(a=document(amount=money("9.00"), date="2026-11-17", item="餐费"))
    made.begin().answer(items__0__receipt=A)
    assert made.run.question.path == "items.0.invoice"


def test_what_was_read_is_said_and_only_the_rest_is_asked() -> None:
    made = world(a=MEAL).begin().answer(items__0__receipt=A)
    assert made.run.question.path == "reason"
    assert made.said[0] == (
        "“a.pdf”：类别 餐饮，金额 ¥86.00，日期 2026年11月17日（周二），发票 2401。"
    )


def test_a_paper_is_told_of_once() -> None:
    made = world(a=MEAL).begin(**{"items.0.receipt": A})
    assert sum("a.pdf" in said for said in made.said) == 1


def test_said_words_beat_read_ones_and_the_difference_is_shown_to_both() -> None:
    made = world(a=MEAL).begin()
    made.answer(items__0__amount=money("80.00"), items__0__receipt=A)
    assert items(made)[0]["amount"] == money("80.00")
    made.answer(reason="出差")
    (reply,) = view(CLAIM, made.run).replies
    assert isinstance(reply, ConfirmReply)
    assert "“a.pdf”：金额填的是 ¥80.00，上面是 ¥86.00。" in reply.text
    made.confirm()
    assert "上面是 ¥86.00" in made.approval.summary["=remarks"].zh


def test_a_paper_finds_the_item_that_says_the_same_else_makes_one_of_its_own() -> None:
    made = world(a=TAXI, b=MEAL).begin()
    made.answer(items__0__category="transport", items__0__amount=money("36.00"))
    made.answer(items__1__receipt=B, items__2__receipt=A)
    assert [item["receipt"] for item in items(made)] == [A, B]


def test_an_item_that_says_another_amount_keeps_a_strange_paper_out() -> None:
    made = world(a=TAXI).begin().answer(items__0__category="meal", items__0__amount=money("5.00"))
    made.answer(items__1__receipt=A)
    assert items(made)[0].get("receipt") is None
    assert items(made)[1]["amount"] == money("36.00")


def test_what_is_not_sure_is_asked_with_what_it_looks_like() -> None:
    unsure = document(sure=0.5, number="2401", amount=money("86.00"))
    made = world(a=unsure).begin().answer(items__0__receipt=A, items__0__category="meal")
    assert made.run.question.path == "items.0.amount"
    (reply,) = view(CLAIM, made.run).replies
    assert isinstance(reply, ChoicesReply)
    assert "¥86.00" in reply.text
    assert [option.value for option in reply.options] == [money("86.00")]


@each_row("paper", [BLURRED, None])
def test_a_file_that_is_not_read_is_attached_and_the_item_asked_for(paper: Document | None) -> None:
    made = world(a=paper).begin().answer(items__0__receipt=A)
    assert items(made) == [{"receipt": A}]
    assert made.run.question.path == "items.0.category"
    assert "没能读出来" in made.said[0]


@each_row(
    ("paper", "used"),
    [(document(number="2400", amount=money("9")), ""), (MEAL, "same")],
)
def test_a_paper_that_was_claimed_before_is_left_out_with_all_that_it_says(
    paper: Document, used: str
) -> None:
    made = world(a=paper, b=TAXI, used=used).begin()
    made.answer(items__0__receipt=A, items__1__receipt=B)
    assert [item["receipt"] for item in items(made)] == [B]
    assert any("没有加进来" in said for said in made.said)


def test_the_same_number_twice_in_a_claim_is_left_out_once() -> None:
    made = world(a=MEAL, b=MEAL).begin().answer(items__0__receipt=A, items__1__receipt=B)
    assert [item["invoice"] for item in items(made) if "invoice" in item] == ["2401"]


def test_what_is_only_suspect_is_taken_and_told_to_whoever_decides() -> None:
    total = DocumentProblem(
        code="total", text=Localised(zh="合计对不上。", en="It doesn't add up.")
    )
    values: dict[str, Any] = {name: field.value for name, field in MEAL.fields.items()}
    paper = document(**values, buyer="别的公司")
    paper = paper.model_copy(update={"problems": (total,)})
    made = world(a=paper, used="alike").begin().answer(items__0__receipt=A, reason="午饭")
    made.confirm()
    told = made.approval.summary["=remarks"].zh
    assert "合计对不上" in told
    assert "别的公司" in told
    assert "一样" in told


def test_a_later_paper_in_place_of_another_brings_its_own_values() -> None:
    made = world(a=TAXI, b=MEAL).begin().answer(items__0__receipt=A)
    made.answer(**{CHANGE: "items.0.receipt"})
    assert items(made) == [{}]
    made.answer(items__0__receipt=B)
    assert items(made)[0]["amount"] == money("86.00")


def test_a_read_value_is_corrected_as_any_other() -> None:
    made = world(a=MEAL).begin().answer(items__0__receipt=A, reason="午饭")
    made.confirm(False).answer(items__0__amount=money("80.00"))
    assert items(made)[0]["amount"] == money("80.00")
    assert made.run.status == "confirming"


def test_a_doctors_note_says_what_leave_and_how_long() -> None:
    note = document("medical_certificate", date="2026-11-18", days="3", name="Alice")
    made = world(LEAVE, a=note).begin(sick_note=A)
    assert {n: made.run.form.slots.get(n) for n in ("leave_type", "start", "end")} == {
        "leave_type": "sick",
        "start": "2026-11-18",
        "end": "2026-11-20",
    }
    assert made.run.question.path == "reason"


@each_row(("name", "told"), [("Alice", False), ("Bob Chen", True)])
def test_whose_doctors_note_it_is_is_told_where_it_is_somebody_elses(name: str, told: bool) -> None:
    note = document("medical_certificate", date="2026-11-18", days="3", name=name)
    made = world(LEAVE, a=note).begin(sick_note=A, reason="flu").confirm()
    assert ("=remarks" in made.approval.summary) == told


def test_a_doctors_note_changes_nothing_that_was_said() -> None:
    note = document("medical_certificate", date="2026-11-18", days=3)
    made = world(LEAVE, a=note).begin(leave_type="sick", start="2026-11-23", end="2026-11-24")
    made.answer(sick_note=A)
    assert (made.run.form.slots["start"], made.run.form.slots["end"]) == (
        "2026-11-23",
        "2026-11-24",
    )
