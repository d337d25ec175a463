"""What an opening sentence fills of a request, and what it leaves to be asked."""

from datetime import datetime
from typing import Any

from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.slot_types.slot import Slot
from router.understanding.items.items import find_items
from router.understanding.slots.prefill import prefill
from router.understanding.triggers.patterns import PatternIndex
from tests.table import each_row
from tests.unit.entities.tables import spread, typed
from tests.unit.understanding.dialogue import NOW, SUNDAY
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, KIT, LEAVE, TRIP


def opened(typed: str, flow: FlowDefinition = LEAVE, now: datetime = NOW) -> dict[str, Any]:
    utterance = Utterance.of(typed, now)
    matches = PatternIndex([flow]).find(utterance.normalised, EMPLOYEE)
    return prefill(flow.slots, utterance, matches)


def leave(
    leave_type: str, start: str | None = None, end: str | None = None, **more: Any
) -> dict[str, Any]:
    """What is known of a leave of this year; days as `11-23`."""
    days = {name: f"2026-{day}" for name, day in (("start", start), ("end", end)) if day}
    return {"leave_type": leave_type, **days, **more}


@each_row(
    ("typed", "slots"),
    {
        "我要请假": {},
        "你好，我要请假，谢谢": {},
        "我要请年假，下周一到周三，家里有事": leave("annual", "11-23", "11-25", reason="家里有事"),
        "想请两天年假，下周四开始": leave("annual", "11-26", duration={"days": 2}),
        "明天身体不舒服请一天病假": leave(
            "sick", "11-19", duration={"days": 1}, reason="身体不舒服"
        ),
        "I'd like to take next Friday off": {"start": "2026-11-27"},
        "book vacation for Dec 24": leave("annual", "12-24"),
        "我想请周四和周五的事假，因为要搬家": leave("personal", "11-19", "11-20", reason="要搬家"),
        "明天下午请假": {
            "start": "2026-11-19",
            "start_half": "pm",
            "end": "2026-11-19",
            "end_half": "pm",
        },
        "从明天下午开始请假": {"start": "2026-11-19", "start_half": "pm"},
        "12月24日下午到12月26日上午请年假": leave(
            "annual", "12-24", "12-26", start_half="pm", end_half="am"
        ),
        "请假三天，周一回来": {"duration": {"days": 3}},
        "我要请假，明天，去医院看病": leave("sick", "11-19", reason="去医院看病"),
        "I need sick leave tomorrow, I have a fever": leave(
            "sick", "11-19", reason="I have a fever"
        ),
        "I'd like annual leave from Dec 1 to Dec 5 because of my sister's wedding": leave(
            "annual", "12-01", "12-05", reason="my sister's wedding"
        ),
        "hi, please book vacation for Dec 24, thanks": leave("annual", "12-24"),
        "我要请假，因为要搬家": {"reason": "要搬家"},
        "请年假，我下周五": leave("annual", "11-27"),
        "annual leave tomorrow because my parents visit": leave(
            "annual", "11-19", reason="my parents visit"
        ),
        # One day that is given as both ends is a whole range; nothing is left to ask.
        "annual leave from 2026-12-28 to 2026-12-28": leave("annual", "12-28", "12-28"),
        "从12月28号到12月28号请年假": leave("annual", "12-28", "12-28"),
        "想请假，时间是下周五，原因是搬家": {"start": "2026-11-27", "reason": "搬家"},
        # The address of a page is one word, whatever it is written with.
        "我要请事假，明天一天，事由是办手续 见 https://wiki.example/a?b=1&c=2": leave(
            "personal",
            "11-19",
            duration={"days": 1},
            reason="办手续 见 https://wiki.example/a?b=1&c=2",
        ),
        "I need sick leave tomorrow, because of https://hr.example/x;y=1, thanks": leave(
            "sick", "11-19", reason="https://hr.example/x;y=1"
        ),
    }.items(),
)
def test_leave_takes_what_the_sentence_names(typed: str, slots: dict[str, Any]) -> None:
    assert opened(typed) == slots


def claimed(typed: str) -> str:
    """The items of a claim, a day of this year as month and day."""
    lines = []
    for each in opened(typed, EXPENSE).get("items", []):
        money, day = each.get("amount"), str(each.get("date", "")).removeprefix("2026-")
        amount = f"{money['amount']} {money['currency']}" if money else ""
        words = (each.get("category", ""), amount, day, each.get("invoice", ""))
        lines.append(" ".join(word for word in words if word).replace(" CNY", ""))
    return "; ".join(lines)


@each_row(
    ("items", "typed"),
    spread(
        ("transport 36.00 11-17", "报一下昨天打车的钱 36 块"),
        ("transport 58.00; transport 36.00; transport 32.00", "三张打车票 58、36、32 要报销"),
        ("transport 36.00 11-17; meal 25.00 11-18", "昨天打车36块，今天午饭25块，报销一下"),
        ("transport 36.00; meal 25.00; hotel 500.00", "报销三笔：打车36、午饭25、酒店500"),
        ("transport 36.00 12345678", "打车报销36元，发票号12345678"),
        ("hotel", "reimburse my hotel bill"),
        ("transport 45.00 USD 11-10", "claim $45 for a taxi on Nov 10"),
    ),
)
def test_a_claim_takes_its_items(typed: str, items: str) -> None:
    assert claimed(typed) == items
    assert [*opened(typed, EXPENSE)] == ["items"]


@each_row(
    ("typed", "items"),
    {
        # The number of a document is no amount
        "报销打车费，发票号 25312000000000123456，58 元，昨天": (
            "transport 58.00 11-17 25312000000000123456"
        ),
        "报销打车费 58 元，25312000000000123456": "transport 58.00 25312000000000123456",
        "报销打车费58元，发票号A123，昨天，见客户": "transport 58.00 11-17 A123",
        "claim a taxi 58 yuan, receipt 20261": "transport 58.00 20261",
        "claim a taxi 58 yuan, invoice no. 12": "transport 58.00 12",
        "报销打车发票 58": "transport 58.00",
        "报销打车发票 1200": "transport 1200.00",
        # Rows: one each, in order
        "三张打车票58 36 32报销": "transport 58.00; transport 36.00; transport 32.00",
        "claim 3 taxi rides: 58 + 36 + 32": "transport 58.00; transport 36.00; transport 32.00",
        "报销昨天和前天的打车费，30 和 40": "transport 30.00 11-17; transport 40.00 11-16",
        "报销打车和午饭，30 和 40": "transport 30.00; meal 40.00",
        "报销打车58块，午餐36，发票号 A1 和 A2": "transport 58.00 A1; meal 36.00 A2",
        "三张打车票 58、36、32 报销，发票号分别是 A1、A2、A3，出差上海": (
            "transport 58.00 A1; transport 36.00 A2; transport 32.00 A3"
        ),
        "claim taxi 58, 36 and 32, invoices A11, A12, A13; Shanghai trip": (
            "transport 58.00 A11; transport 36.00 A12; transport 32.00 A13"
        ),
        "claim a taxi on Nov 3 and lunch on Nov 4, 35 and 68": (
            "transport 35.00 11-03; meal 68.00 11-04"
        ),
        "claim taxi 30 and lunch 40, the invoice of the second one is E2": (
            "transport 30.00; meal 40.00 E2"
        ),
        # A row that fits nothing is asked for
        "报销打车和午饭，30、40、50": "transport; meal",
        "报销打车58、午餐36、酒店500，发票号 A1 和 A2": "transport 58.00; meal 36.00; hotel 500.00",
        # What looks like a figure of money and is none, or could be two
        "报销话费 ¥99，10月的": "telecom 99.00",
        "claim 86,5 yuan lunch": "meal",
        "claim 1.234,50 yuan hotel": "hotel",
        "报销打车 58，360元酒店": "transport; hotel",
        "报销打车 1,200 元": "transport 1200.00",
        "报销打车费 58.999": "transport",
        "报销打车费 58.999 元": "transport",
        "报销打车费 -5 元": "transport -5.00",
        "报销打车费负五元": "transport -5.00",
        "报销打车费-58元": "transport 58.00",
        # Said again in place of the first
        "报销昨天打车 58，不对，是 85，发票号 C1": "transport 85.00 11-17 C1",
        "claim taxi 58, no sorry, 85": "transport 85.00",
        "报销昨天，不对，前天的打车费 58": "transport 58.00 11-16",
        "claim taxi 58, no, 85, and lunch 36": "transport 85.00; meal 36.00",
        "claim taxi 58, no receipt, lunch 36": "transport 58.00; meal 36.00",
        "报销打车 58，没有发票，午餐 36": "transport 58.00; meal 36.00",
        # A day for all stands before or after them; one in between is of what it stands with
        "claim taxi 30 yuan and lunch 40 yuan yesterday": "transport 30.00 11-17; meal 40.00 11-17",
        "claim taxi 30 yuan and lunch 40 yuan, both yesterday": (
            "transport 30.00 11-17; meal 40.00 11-17"
        ),
        "报销昨天打车 30 和午餐 40": "transport 30.00 11-17; meal 40.00 11-17",
        "claim taxi 58 on Nov 3 and lunch 40": "transport 58.00 11-03; meal 40.00",
        # The same twice
        "报销昨天打车36、昨天打车58": "transport 36.00 11-17; transport 58.00 11-17",
        "报销餐饮和招待费 200元": "meal 200.00",
    }.items(),
)
def test_a_claim_takes_each_item_as_it_was_meant(typed: str, items: str) -> None:
    assert claimed(typed) == items


@typed("报销打车 58，不对，是 85  claim taxi 58, no sorry, 85  报销打车 58，发票号 A1")
def test_words_of_correction_and_documents_are_no_reason(typed: str) -> None:
    assert "reason" not in opened(typed, EXPENSE)


@each_row("typed", ["我要报销", "我要报销昨天的费用", "打车和午饭一共100块，报销"])
def test_what_is_not_sure_is_left_to_be_asked(typed: str) -> None:
    assert opened(typed, EXPENSE) == {}


def test_what_is_left_over_is_the_reason_of_a_claim() -> None:
    slots = opened("报销差旅费1200元，去上海见客户", EXPENSE)
    assert slots["reason"] == "去上海见客户"


def test_a_single_day_without_a_slot_for_how_long_ends_where_it_starts() -> None:
    slots = {name: slot for name, slot in LEAVE.slots.items() if name != "duration"}
    day = "2026-11-19"
    assert prefill(slots, Utterance.of("明天请一天假", NOW)) == {"start": day, "end": day}


def test_a_plain_date_slot_takes_the_one_date() -> None:
    slots = {"day": LEAVE.slots["start"].model_copy(update={"part_of_range": None})}
    assert prefill(slots, Utterance.of("下周三", NOW)) == {"day": "2026-11-25"}
    assert prefill(slots, Utterance.of("下周三到周五", NOW)) == {}


@each_row(
    ("typed", "moment"),
    [
        ("明天下午3点有客户来访", "2026-11-19T15:00:00+08:00"),
        ("下周三9:30", "2026-11-25T09:30:00+08:00"),
        ("a room on Friday at 2pm for 6 people", "2026-11-20T14:00:00+08:00"),
        ("明天", None),
        ("下午3点", None),
        ("明天下午2点到5点", "2026-11-19T14:00:00+08:00"),
        ("tomorrow 2pm to 4pm", "2026-11-19T14:00:00+08:00"),
        ("明天2点和5点", None),
        ("周三到周五，每天9点", None),
    ],
)
def test_a_slot_for_a_moment_takes_the_one_day_with_the_one_time(
    typed: str, moment: str | None
) -> None:
    slots = {"at": Slot(type="datetime")}
    said = Utterance.of(typed, NOW)
    assert prefill(slots, said) == ({"at": moment} if moment else {})


def test_two_slots_for_moments_leave_it_to_be_asked_which() -> None:
    slots = {"leaves": Slot(type="datetime"), "lands": Slot(type="datetime")}
    assert prefill(slots, Utterance.of("明天下午3点", NOW)) == {}


def test_a_slot_that_is_only_looked_up_is_not_filled() -> None:
    slots = {"end": LEAVE.slots["end"].model_copy(update={"ask": None, "part_of_range": None})}
    assert prefill(slots, Utterance.of("下周三", NOW)) == {}


@each_row(
    ("reason", "typed"),
    spread(
        (None, "Hi there, I'd like to take some time off"),
        (None, "Hello, hope you're well. I'd like to take some time off"),
        (None, "Hi, quick one: I need annual leave tomorrow"),
        (None, "I'd like annual leave tomorrow. Best regards, Frank"),
        (None, "sorry to bother you, I need a day of annual leave tomorrow  领导好，我想请假"),
        (None, "请婚假，12月10号到20号，顺便问下要带什么材料  我要请假，病假，哦不，事假"),
        (None, "请假三天，周一回来"),
        ("家里有事", "我要请假，家里有事，谢谢领导"),
        ("我妈病了", "请假，我妈病了"),
        ("要搬家", "我因为要搬家想请两天事假，从后天开始"),
        ("I am moving house", "since I am moving house I need a day off tomorrow"),
        ("去接孩子", "周五下午想请半天假去接孩子"),
        ("to pick up my kids", "I need a day off tomorrow to pick up my kids"),
        ("family visit", "annual leave Dec 1 to Dec 3, family visit"),
        ("dentist", "annual leave tomorrow morning, dentist"),
        ("dentist", "annual leave tomorrow, thanks, dentist"),
        ("moving house", "personal leave from Dec 1 for 3 days, moving house"),
        ("kids", "annual leave Dec 1, kids"),
    ),
)
def test_a_reason_is_what_is_said_besides_the_request(typed: str, reason: str | None) -> None:
    assert opened(typed, now=SUNDAY).get("reason") == reason


@each_row(
    ("start", "end", "typed"),
    spread(
        ("2026-11-11", "2026-11-12", "补请11月11日到12日的病假，发烧了"),
        ("2026-11-16", "2026-11-17", "I was sick on Nov 16 and 17 and want to file sick leave"),
        (None, None, "sick leave for Nov 10 and Nov 11, fever  请病假，11月30日到11月25日，发烧了"),
        (None, None, "sick leave from Nov 30 to Nov 25, flu  我要请12月1日周三的年假一天"),
        (None, None, "annual leave Wednesday 1 Dec  请一天年假，12月1号，不是周末"),
        (None, None, "请年假，下周一还是下周三好呢  请年假，下周一或者下周三"),
        ("2027-11-10", "2027-11-11", "annual leave for Nov 10 and Nov 11"),
        ("2026-11-30", None, "11月30日补休一天"),
        ("2026-12-28", "2027-01-03", "请年假12月28号到1月3号"),
        ("2026-12-01", None, "annual leave Tuesday 1 Dec  我要请12月1日周二的年假一天"),
        ("2026-12-01", None, "3 days of annual leave from Dec 1 to Dec 2"),
        ("2026-11-25", None, "请三天年假，下周三开始到下周四  下周请三天年假，从周三开始"),
        ("2026-12-01", "2026-12-02", "请两天年假，从12月1号到2号"),
        ("2026-12-07", "2026-12-11", "请一周年假，12月7号到11号"),
        ("2026-11-26", None, "sick leave this Thursday"),
        ("2026-11-20", None, "sick leave last Friday"),
        ("2026-11-24", "2026-11-26", "我要请年假，下周一，哦不对，下周二到周四，回老家"),
        (
            "2026-11-24",
            "2026-11-26",
            "annual leave from Monday, sorry, Tuesday to Thursday next week",
        ),
        ("2026-12-28", "2027-01-05", "我想从12月28号休年假到1月5号，回家"),
        ("2026-12-01", "2026-12-03", "请年假，12.1到12.3，旅游"),
        ("2026-11-23", "2026-11-30", "请年假到月底，明天开始"),
        ("2026-11-25", "2026-11-27", "请假到周五，年假，从周三起"),
        ("2026-11-26", "2026-11-27", "I'd like Thursday and Friday off this week"),
        ("2026-11-23", "2026-11-24", "annual leave tomorrow and the day after"),
        ("2026-11-23", "2026-11-24", "annual leave tomorrow and the day after tomorrow"),
        (None, "2026-12-04", "我要请年假到12月4号"),
    ),
)
def test_the_days_are_those_that_are_meant(typed: str, start: str | None, end: str | None) -> None:
    slots = opened(typed, now=SUNDAY)
    assert (slots.get("start"), slots.get("end")) == (start, end)


@each_row("typed", ["请年假周五中午到周一中午", "annual leave Friday afternoon to Monday noon"])
def test_noon_is_half_a_day_at_either_end(typed: str) -> None:
    slots = opened(typed, now=SUNDAY)
    assert (slots["start_half"], slots["end_half"]) == ("pm", "am")


def test_a_length_stands_beside_the_day_that_begins_like_it() -> None:
    assert opened("请假一天后天", now=SUNDAY) == {"start": "2026-11-24", "duration": {"days": 1}}


@each_row(
    ("kind", "typed"),
    spread(
        (None, "妈妈住院了需要我照顾，请三天假，从明天  my son is ill, I need tomorrow off"),
        (None, "妹妹结婚，请一天假"),
        ("sick", "我住院了，请三天假  I am ill, I need tomorrow off"),
        ("sick", "I need annual leave, no wait, sick leave tomorrow"),
        ("bereavement", "参加爷爷葬礼请假两天"),
        ("personal", "妈妈住院了，请三天事假"),
    ),
)
def test_what_happens_to_others_is_no_leave_of_ones_own(typed: str, kind: str | None) -> None:
    assert opened(typed, now=SUNDAY).get("leave_type") == kind


@each_row(
    ("destination", "typed"),
    spread(
        ("上海", "我下周一到周三要去上海出差，拜访客户"),
        ("北京", "下周三去北京见客户，出差两天"),
        ("深圳", "申请到深圳出差"),
        ("杭州", "去杭州分公司培训三天"),
        ("成都", "我要飞成都出差，12月1日到3日"),
        ("Berlin", "business trip to Berlin next week"),
        ("New York", "I have to travel to New York for a trade fair"),
        (None, "下周一到周三出差  我要出差  apply for a business trip"),
    ),
)
def test_a_sentence_names_where_it_goes(typed: str, destination: str | None) -> None:
    assert prefill(TRIP.slots, Utterance.of(typed, NOW)).get("destination") == destination


def test_a_request_names_the_last_day_by_how_long_it_takes() -> None:
    ends = {"申请下周一去上海出差三天": "25", "fly to Leeds next Monday for 2 days": "24"}
    for said, end in ends.items():
        assert prefill(TRIP.slots, Utterance.of(said, NOW))["end"] == f"2026-11-{end}"


@each_row(
    ("items", "typed"),
    spread(
        ([("laptop", 1), ("monitor", 2)], "申请一台笔记本和两个显示器"),
        ([("laptop", 1), ("monitor", 2)], "I need a laptop and two monitors for the new office"),
        ([("monitor", 2), ("keyboard", 3)], "显示器两台，键盘3个  显示器两台键盘三个"),
        ([("monitor", 2), ("keyboard", 3)], "两台显示器三个键盘"),
        ([("monitor", 2), ("keyboard", 2)], "显示器和键盘各两台"),
        ([("laptop", 2), ("monitor", 4)], "申请笔记本 2台 显示器 4 台"),
        (
            [("laptop", 1), ("monitor", 2), ("keyboard", 1)],
            "给新人申请电脑一台、显示器两台、键鼠一套",
        ),
        ([("monitor", 2), ("keyboard", 1)], "monitors x 2, keyboard: 1"),
        ([("headset", 1)], "another headset, please"),
        ([("laptop", 25)], "25 new laptops for the team"),
        ([("laptop", 2), ("monitor", None)], "笔记本两台，显示器"),
        ([("laptop", None), ("monitor", 2)], "给新人申请电脑、显示器两台"),
        ([("monitor", None)], "申请显示器  三台 27 寸显示器  0 monitors"),
        ([("laptop", None)], "1.5 laptops"),
    ),
)
def test_things_are_counted_where_the_count_is_certain(
    typed: str, items: list[tuple[str, int | None]]
) -> None:
    found, _ = find_items(KIT.slots["items"], Utterance.of(typed, NOW))
    assert [(item.get("kind"), item.get("quantity")) for item in found] == items
