"""Several wishes in one message: each is taken, or left for who decides; none becomes a slot."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from activities.capabilities import Capabilities
from router.domain import commands
from router.domain.messages import Message, Option
from router.entities.utterance import Utterance
from router.flow.paused import Situation
from router.flow.view import FormView
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from router.understanding.reader import Reader
from router.understanding.reading import Reading
from router.understanding.wishes import MAX_PARTS, clauses
from tests.table import each_row
from tests.unit.understanding.dialogue import NOW, asking
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, LEAVE, TRIP


@pytest.fixture(scope="module")
def capabilities(tmp_path_factory: pytest.TempPathFactory) -> Capabilities:
    return load_capabilities(Settings.load(data=tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def reader(capabilities: Capabilities) -> Reader:
    return Reader(capabilities.flows(), capabilities.phrases(), capabilities.listed())


def read(reader: Reader, text: str, active: FormView | None = None, **more: Any) -> Reading:
    given = {"now": NOW, "locale": "zh", "roles": EMPLOYEE} | more
    return reader.read(Message(text=text), Situation.model_validate(given).showing(active))


def aims(reading: Reading) -> str:
    """What the commands begin or call, in the order of the message, and what is left."""
    routes = [reading.route, *reading.others] if reading.route else []
    named = " + ".join(route.target or route.kind for route in routes)
    return f"{named} | {reading.rest}" if reading.rest else named


ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "wishes.jsonl").read_text("utf-8").splitlines()
]
"""Messages with what their wishes aim at and what is left of them; without aims it is one wish."""


@each_row("row", [row for row in ROWS if row["aims"]], ids=lambda row: row["text"])
def test_every_wish_of_a_message_is_taken_or_left(reader: Reader, row: dict[str, Any]) -> None:
    reading = read(reader, row["text"])
    expected = " + ".join(row["aims"])
    assert aims(reading) == (f"{expected} | {row['rest']}" if row["rest"] else expected)
    for command in reading.commands:
        if isinstance(command, commands.StartFlow):
            said = str(command.slots.get("reason", ""))
            assert not any(word in said for word in ("顺便", "另外", "查", "by the way", "?", "？"))


@pytest.mark.slow
@each_row("text", [row["text"] for row in ROWS if not row["aims"]], ids=lambda text: text)
def test_what_gives_a_slot_or_a_reason_is_no_wish_of_its_own(reader: Reader, text: str) -> None:
    reading = read(reader, text)
    assert (reading.others, reading.rest) == ([], "")
    assert len(reading.commands) <= 1


TRIP_TO = asking(TRIP, "destination")
LEAVE_KIND = asking(LEAVE, "leave_type")
LEAVE_START = asking(LEAVE, "start", {"leave_type": "annual"})
LEAVE_WHY = asking(
    LEAVE, "reason", {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-25"}
)
LEAVE_READY = asking(LEAVE, None, {"leave_type": "annual"}, "confirming")
COST = asking(EXPENSE, "items.0.amount", {"items": [{"category": "transport"}]})
MORE = asking(
    EXPENSE,
    "items",
    {"items": [{"category": "transport", "amount": {"amount": "30.00", "currency": "CNY"}}]},
)


@each_row(
    ("view", "text", "expected"),
    [
        (TRIP_TO, "就上海吧，顺便查下那边天气", "business_trip | 查下那边天气"),
        (TRIP_TO, "Shanghai. By the way, what's the hotel limit there?",
         "business_trip | what's the hotel limit there?"),
        (LEAVE_KIND, "年假，顺便看看我年假还剩几天", "leave_request + get_leave_balance"),
        (LEAVE_KIND, "annual. Also, who is Gina's manager?",
         "leave_request | who is Gina's manager?"),
        (LEAVE_START, "下周一。那天上海天气怎么样？", "leave_request | 那天上海天气怎么样？"),
        (LEAVE_START, "下周一，另外帮我报销昨天打车58块", "leave_request + reimbursement"),
        (LEAVE_START, "next Monday, and by the way how much sick leave is left?",
         "leave_request + get_leave_balance"),
        (LEAVE_WHY, "家里有事，顺便帮我查一下报销到哪一步了", "leave_request + get_my_requests"),
        (LEAVE_WHY, "moving house, and by the way can you tell me when the canteen opens?",
         "leave_request | can you tell me when the canteen opens?"),
        (LEAVE_READY, "确认，顺便看看我年假还剩几天", "leave_request + get_leave_balance"),
        (LEAVE_READY, "yes. Also, how much sick leave is left?",
         "leave_request + get_leave_balance"),
        (LEAVE_READY, "算了不请了，顺便帮我报销昨天打车的58块", "leave_request + reimbursement"),
        (COST, "58，对了，打车票怎么贴？", "reimbursement | 打车票怎么贴？"),
    ],
)  # fmt: skip
def test_a_wish_beside_an_answer_is_none_of_the_flows(
    reader: Reader, view: FormView, text: str, expected: str
) -> None:
    reading = read(reader, text, view)
    assert aims(reading) == expected
    first = reading.commands[0]
    if isinstance(first, commands.FillSlots):
        assert all("顺便" not in str(v) and "查" not in str(v) for v in first.slots.values())


@each_row(
    ("view", "text"),
    [
        (LEAVE_WHY, "去上海见客户，顺便看展会"),
        (LEAVE_WHY, "回老家，顺便看看父母"),
        (LEAVE_WHY, "陪我妈看病，顺便帮我爸拿药"),
        (LEAVE_WHY, "搬家，另外还要办证"),
        (LEAVE_WHY, "客户那边出了问题。不知道要弄几天"),
        (LEAVE_WHY, "seeing a client, and by the way visiting a fair"),
        (LEAVE_START, "下周一，可以吗？"),
        (LEAVE_START, "下周一。可以吗？"),
        (LEAVE_START, "Monday. Is that ok?"),
        (MORE, "另外打车30块"),
        (MORE, "另外帮我再报一笔打车费30块"),
        (MORE, "还有一张发票，顺便把午饭32也报了"),
        (TRIP_TO, "去上海，顺便去趟苏州"),
    ],
)
def test_an_answer_with_more_to_it_is_still_one(reader: Reader, view: FormView, text: str) -> None:
    reading = read(reader, text, view)
    assert (reading.others, reading.rest) == ([], "")


def test_a_text_that_a_tools_form_asks_for_is_taken_whole(
    reader: Reader, capabilities: Capabilities
) -> None:
    form = capabilities.definition("translate")
    assert form is not None
    name = next(name for name, slot in form.slots.items() if slot.kind.is_text)
    said = "你好。顺便问一下，明天几点开会？"
    assert read(reader, said, asking(form, name)).rest == ""


def test_what_a_skill_asked_is_answered_beside_a_request(reader: Reader) -> None:
    reading = read(reader, "第二个吧，顺便帮我请明天的年假", skill="blog-writer")
    assert aims(reading) == "blog-writer + leave_request"
    first = reading.commands[0]
    assert isinstance(first, commands.RunSkill)
    assert first.request == "第二个吧"
    whole = read(reader, "短一点，顺便查一下有没有错字", skill="blog-writer")
    said = "短一点，顺便查一下有没有错字"
    assert whole.commands == [
        commands.RunSkill(skill="blog-writer", request=said, addressed_by="answer")
    ]


@each_row(
    ("text", "begun", "rest"),
    [
        ("再正式一点，顺便帮我请明天的年假", "leave_request", "再正式一点"),
        ("加一个总结，另外帮我报销昨天打车58块", "reimbursement", "加一个总结"),
        (
            "make it shorter, and by the way I'd like Friday off",
            "leave_request",
            "make it shorter",
        ),
    ],
)
def test_what_a_skill_has_answered_is_gone_on_with_beside_a_request(
    reader: Reader, text: str, begun: str, rest: str
) -> None:
    reading = read(reader, text, answered="blog-writer")
    assert aims(reading) == f"{begun} | {rest}"
    (command,) = reading.commands
    assert isinstance(command, commands.StartFlow)
    assert rest not in command.slots.values()


OFFERED = [Option(label="费用报销", value="reimbursement")]


@each_row("text", ["费用报销", "reimbursement"])
def test_what_is_offered_beside_a_flow_that_asks_is_chosen_in_words(
    reader: Reader, text: str
) -> None:
    more = {"offered": OFFERED, "offered_for": "昨天打车58"}
    (begun,) = read(reader, text, LEAVE_WHY, **more).commands
    assert isinstance(begun, commands.StartFlow)
    assert begun.flow == "reimbursement"
    assert begun.slots["items"]


def test_a_number_is_for_the_flow_that_asks_and_not_for_what_is_offered_beside_it(
    reader: Reader,
) -> None:
    reading = read(reader, "1", LEAVE_KIND, offered=OFFERED)
    assert isinstance(reading.commands[0], commands.FillSlots)


def test_the_words_that_options_are_about_stand_with_them(reader: Reader) -> None:
    reading = read(reader, "我要请假和报销打车费，另外我的请假批了吗")
    (asked,) = (c for c in reading.commands if isinstance(c, commands.Clarify))
    assert asked.about == "我要请假和报销打车费"


@each_row("text", ["我要请假。" * 60, "顺便查下天气" * 60, "请假，" * 120, "a? " * 130])
def test_of_a_text_of_many_parts_the_last_has_whatever_follows(text: str) -> None:
    parts = clauses(Utterance.of(text, NOW))
    assert len(parts) in {0, MAX_PARTS}
    assert all(one.end <= other.start for one, other in pairwise(parts))
    if parts:
        assert len(text.rstrip("。? ")) - parts[-1].end <= 1


BUSY = "今天很忙。" * 13


@each_row(
    ("text", "aims_at", "unread"),
    [
        (f"帮我查下年假余额。{BUSY}报销打车费30元", "reimbursement", ""),
        (f"我要请假下周一。{BUSY}顺便报销打车费30元", "leave_request + reimbursement", ""),
        (
            "今天报销打车30元。明天请假。" * 7,
            " + ".join(["reimbursement", "leave_request"] * 6),
            "今天报销打车30元 明天请假",
        ),
    ],
)
def test_nothing_is_lost_of_a_message_of_many_sentences(
    reader: Reader, text: str, aims_at: str, unread: str
) -> None:
    reading = read(reader, text)
    assert aims(reading).split(" | ")[0] == aims_at
    assert reading.unread == unread
    if "余额" in text:
        assert reading.rest.startswith("帮我查下年假余额")
