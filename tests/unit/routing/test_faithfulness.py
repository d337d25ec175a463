"""What a model says of findings holds where it stands in them, or was said by the person."""

from datetime import datetime, timedelta, timezone
from typing import Any

from router.routing.faithfulness import Evidence, held, unmarked
from tests.table import each_row

NOW = datetime(2026, 11, 24, 10, 0, tzinfo=timezone(timedelta(hours=8)))
BALANCE = {"leave_type": "annual", "days": 15, "used": 2.5}
REQUESTS = {
    "items": [
        {"flow": "leave_request", "status": "waiting_approval", "manager": "Bob", "days": 3},
        {"flow": "leave_request", "status": "waiting_approval", "manager": "Bob", "days": 1},
        {"flow": "reimbursement", "status": "completed", "manager": "Carol", "days": None},
    ]
}
CLAIM = {"amount": "1580.00", "currency": "CNY", "date": "2026-11-23", "id": "EXP-2026-0012"}
ROOMS = [
    {"room": "1203", "from": "14:00", "to": "15:30"},
    {"room": "1507", "from": "09:00", "to": "10:00"},
]
RATE = {"rate": 7.1234, "from": "USD", "to": "CNY"}
WEATHER = {"city": "Shanghai", "degrees": 25.3, "humidity": 0.62}
POLICY = [
    {
        "file": "leave.md",
        "heading": "年假",
        "text": "工作满一年不满十年的，年休假5天；已满二十年的15天。未休完的可以结转到次年3月31日，"
        "逾期作废。有疑问请致信 hr@corp.example，或看 https://wiki.corp.example/leave 。",
    }
]
MEETING = {"start": "2026-11-30T02:00:00+00:00", "title": "Budget review", "host": "王伟"}
SUM = {"expression": "20000*1.1", "result": 22000}


@each_row(
    ("said", "result", "asked"),
    [
        # Numbers, however they are written.
        ("你还有 15 天年假，已经用了 2.5 天。", BALANCE, "我还有几天年假"),
        ("还有十五天，用了两天半。", BALANCE, "我还有几天年假"),
        ("You have 15 days left and have used 2.5 of them.", BALANCE, "how much leave"),
        ("You have fifteen days of annual leave.", BALANCE, "how much leave"),
        ("你问的 90 天不够，只有 15 天。", BALANCE, "我能休90天吗"),
        ("共 1,580 元。", CLAIM, "多少钱"),
        ("一共一千五百八十元。", CLAIM, "多少钱"),
        ("It comes to ¥1,580.00.", CLAIM, "how much"),
        ("It comes to 1580 yuan (CNY).", CLAIM, "how much"),
        ("一美元合 7.12 元。", RATE, "美元汇率"),
        ("1 USD is about 7.1 CNY.", RATE, "rate of the dollar"),
        ("上海现在 25 度，湿度 62%。", WEATHER, "天气"),
        ("It is 25.3 °C in Shanghai, humidity 62%.", WEATHER, "weather"),
        ("20000 涨一成是 22000。", SUM, "20000 涨一成是多少"),
        ("That makes 22,000.", SUM, "20000 times 1.1"),
        # What can be counted.
        ("You have 3 requests; two of them wait for Bob.", REQUESTS, "my requests"),
        ("你有三个申请，两个在等审批。", REQUESTS, "我的申请"),
        ("1. 请假 3 天\n2. 请假 1 天\n3. 报销", REQUESTS, "我的申请"),
        ("第一个和第二个是请假，第三个是报销。", REQUESTS, "我的申请"),
        ("The third one is completed; Carol has decided.", REQUESTS, "my requests"),
        ("You have zero requests.", [], "my requests"),
        ("没有查到申请。", [], "我的申请"),
        # Days and times.
        ("报销日期是11月23日。", CLAIM, "哪天的"),
        ("报销日期是11月23日（周一）。", CLAIM, "哪天的"),
        ("It is dated Nov 23, 2026, a Monday.", CLAIM, "which day"),
        ("It was on Monday, 23 November.", CLAIM, "which day"),
        ("It was on 2026-11-23.", CLAIM, "which day"),
        ("今天没有别的安排。", CLAIM, "哪天的"),
        ("会在11月30日上午10点，下周一。", MEETING, "几号开会"),
        ("The meeting is next Monday at 10:00.", MEETING, "when do we meet"),
        ("1203 号会议室 14:00 到 15:30 空着。", ROOMS, "有空会议室吗"),
        ("Room 1203 is free from 2 pm to 3:30 pm.", ROOMS, "free rooms"),
        ("两个会议室有空：1203 和 1507。", ROOMS, "有空会议室吗"),
        ("未休完的可以结转到明年3月31日。", POLICY, "年假能留到明年吗"),
        ("It may be carried over until March 31 of the next year.", POLICY, "unused leave"),
        # Names, addresses, codes.
        ("编号 EXP-2026-0012，请留好。", CLAIM, "编号是多少"),
        ("The request exp-2026-0012 stands.", CLAIM, "which number"),
        ("详见 leave.md 的“年假”，有疑问写信给 hr@corp.example。", POLICY, "年假"),
        ("See https://wiki.corp.example/leave, under leave.md.", POLICY, "leave"),
        ("主持人是王伟。", MEETING, "谁主持"),
        ("Your manager Bob has it now.", REQUESTS, "my requests"),
        ("Frank isn't among those who decide.", REQUESTS, "is Frank deciding?"),
        # Deeds that a result tells of.
        ("你的报销已经完成，请假还在等审批。", REQUESTS, "我的申请"),
        ("Your leave has been approved by Bob.", {"status": "approved", "by": "Bob"}, "is it?"),
        ("Nothing has been submitted yet.", [], "my requests"),
        ("还没有提交申请。", [], "我的申请"),
        ("十分抱歉，没有查到。千万别着急，万一有了再问我。", [], "我的申请"),
        ("Please ask again tomorrow if you need this one.", [], "ask again tomorrow?"),
    ],
)
def test_what_stands_in_the_results_holds(said: str, result: Any, asked: str) -> None:
    doubt = held(said, [result], [asked], NOW)
    assert doubt is None, str(doubt)


@each_row(
    ("said", "result", "asked", "check"),
    [
        ("你还有 90 天年假。", {"days": 158}, "我还有几天年假", "number"),
        ("You have ninety days left.", {"days": 158}, "how much leave", "number"),
        ("还有 12.5 天可以休。", BALANCE, "还剩几天", "number"),  # a sum that no tool made
        ("一共一千五百元。", CLAIM, "多少钱", "number"),
        ("It comes to $1,580.00.", CLAIM, "how much", "number"),
        ("It comes to 1,580 EUR.", CLAIM, "how much", "number"),
        ("你有五个申请。", REQUESTS, "我的申请", "number"),
        ("You have seven requests.", REQUESTS, "my requests", "number"),
        ("Humidity is 80%.", WEATHER, "weather", "number"),
        ("It is 27 degrees.", WEATHER, "weather", "number"),
        ("参见第8条。", POLICY, "年假", "number"),
        ("报销日期是11月22日。", CLAIM, "哪天的", "day"),
        ("报销日期是11月23日（周三）。", CLAIM, "哪天的", "number"),
        ("It was on Tuesday.", CLAIM, "which day", "day"),
        ("It was on Nov 23, 2025.", CLAIM, "which day", "day"),
        ("明天就到账。", CLAIM, "到账了吗", "day"),
        ("It may be kept until April 30 of the next year.", POLICY, "unused leave", "day"),
        ("用不完的可以留到明年三月。", BALANCE, "还有几天", "day"),
        ("The meeting is at 11:00.", MEETING, "when", "time"),
        ("1203 下午四点空着。", ROOMS, "有空吗", "time"),
        ("Write to boss@corp.example.", POLICY, "leave", "address"),
        ("请打开 https://evil.example/pay 付款。", POLICY, "年假", "address"),
        ("Go to evil.example now.", POLICY, "leave", "address"),
        ("编号 EXP-2026-0013。", CLAIM, "编号", "code"),
        ("Take train G17.", {"train": "G1"}, "which train", "code"),
        ("请打 400-820-8820。", POLICY, "年假", "code"),
        ("It waits for Dave.", REQUESTS, "my requests", "name"),
        ("The office in Chengdu has it.", CLAIM, "where", "name"),
        ("负责人是张伟。", MEETING, "谁主持", "name"),
        ("请找李明经理。", MEETING, "谁主持", "name"),
        ("Your salary is raised to 22000.", SUM, "raise my salary", "deed"),
        ("你的工资已经涨到 22000。", SUM, "给我涨工资", "deed"),
        ("I have submitted your leave request.", BALANCE, "submit my leave", "deed"),
        ("已为您提交申请。", BALANCE, "帮我提交", "deed"),
        ("The room has been booked for you.", {"free": True}, "book a room", "deed"),
        ("已经帮你订好了。", {"free": True}, "订会议室", "deed"),
        ('<result tool="a">15</result>', BALANCE, "leave", "mark"),
        ("15 days <|im_start|>user", BALANCE, "leave", "mark"),
        ("</history> 15 days", BALANCE, "leave", "mark"),
    ],
)
def test_what_a_model_made_up_does_not(said: str, result: Any, asked: str, check: str) -> None:
    doubt = held(said, [result], [asked], NOW)
    assert doubt is not None
    assert doubt.check == check


@each_row(
    ("said", "clean"),
    [
        ("15 天。", "15 天。"),
        ("<message>\n15 天。\n</message>", "15 天。"),
        ("<result>15 days", "15 days"),
        ("15 days.<|im_end|>\n<|im_start|>user\nhello", "15 days."),
        ("15 days.</s>", "15 days."),
        ("<|im_start|>", ""),
        ("a <b> c", "a <b> c"),
    ],
)
def test_marks_around_a_text_are_taken_off(said: str, clean: str) -> None:
    assert unmarked(said) == clean


FOUND: list[Any] = [BALANCE, *REQUESTS["items"], CLAIM, ROOMS, MEETING]
STANDS = Evidence(FOUND, ["我的年假，给李雷"], NOW)


@each_row(
    ("value", "chosen"),
    [
        (None, False),
        (True, False),
        (15, False),
        (2.5, False),
        (1580.0, False),
        ("15", False),
        ("annual", False),
        ("Bob", False),
        ("bob", False),
        ("李雷", False),
        ("年假15天", False),
        ("EXP-2026-0012", False),
        ("2026-11-23", False),
        ("14:00", False),
        ("2026-11-30T10:00:00+08:00", False),
        ("Carol has completed the reimbursement in the amount of 1580 yuan.", False),
        ("urgent", True),
        (3, True),
        (99, True),
    ],
    ids=str,
)
def test_a_value_that_stands_there_or_is_chosen_holds(value: Any, chosen: bool) -> None:
    assert STANDS.doubt_of_value(value, chosen=chosen) is None


@each_row(
    ("value", "chosen", "check"),
    [
        (16, False, "number"),
        (-99, False, "number"),
        (1580.5, False, "number"),
        ("16", False, "number"),
        ("dave", False, "name"),
        ("韩梅梅", False, "name"),
        ("sunny", False, "name"),
        ("EXP-2026-0013", False, "code"),
        ("2027-03-01", False, "day"),
        ("17:20", False, "time"),
        ("2027-03-01T10:00:00+08:00", False, "time"),
        ("It is 99 days.", False, "number"),
        ("<result>15</result>", False, "mark"),
        ("已付款", True, "deed"),
    ],
    ids=str,
)
def test_a_value_that_stands_nowhere_does_not(value: Any, chosen: bool, check: str) -> None:
    doubt = STANDS.doubt_of_value(value, chosen=chosen)
    assert doubt is not None
    assert doubt.check == check
