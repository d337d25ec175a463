from datetime import date

import pytest

from router.entities.dates import Days, find_dates
from router.entities.days import Calendar
from router.entities.normalisation import normalise

WEDNESDAY = date(2026, 11, 18)


def shown(days: Days) -> str:
    """`11-19`, or `11-23..11-25`, with the halves after the days that they belong to."""
    ends = [
        f"{day:%m-%d}" + (half or "")
        for day, half in ((days.first, days.first_half), (days.last, days.last_half))
    ]
    return ends[0] if days.single else "..".join(ends)


def read(typed: str, after: date | None = None, *, past: bool = False) -> str:
    found = find_dates(normalise(typed).text, Calendar(WEDNESDAY, after, past))
    return " ".join(shown(f.value) for f in found)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("今天", "11-18"),
        ("明天", "11-19"),
        ("后天", "11-20"),
        ("大后天", "11-21"),
        ("昨天", "11-17"),
        ("前天", "11-16"),
        ("大前天", "11-15"),
        ("昨晚打车", "11-17"),
        ("三天后", "11-21"),
        ("两周后", "12-02"),
        ("三天前", "11-15"),
        ("周五", "11-20"),
        ("周一", "11-23"),
        ("周三", "11-18"),
        ("这周五", "11-20"),
        ("本周日", "11-22"),
        ("下周三", "11-25"),
        ("下下周一", "11-30"),
        ("上周五", "11-13"),
        ("下下下周三", "12-09"),
        ("上上上周五", "10-30"),
        ("下下下个月5号", "02-05"),
        ("下下下月底", "02-28"),
        ("大大后天", "11-22"),
        ("大大大后天", "11-23"),
        ("大大前天", "11-14"),
        ("然后后天", "11-20"),
        ("下周的周三", "11-25"),
        ("下下周星期三", "12-02"),
        ("这周的周五", "11-20"),
        ("下礼拜三", "11-25"),
        ("下个星期天", "11-29"),
        ("12月1号", "12-01"),
        ("十二月二十四日", "12-24"),
        ("1月5日", "01-05"),
        ("2026年12月24日", "12-24"),
        ("二〇二六年十二月二十四日", "12-24"),
        ("26年12月24号", "12-24"),
        ("12.24号", "12-24"),
        ("5号", "12-05"),
        ("25号", "11-25"),
        ("下个月5号", "12-05"),
        ("12月4日（周五）", "12-04"),
        ("2026-12-24", "12-24"),
        ("2026/12/24", "12-24"),
        ("12/24", "12-24"),
        ("24/12", "12-24"),
        ("today", "11-18"),
        ("tomorrow", "11-19"),
        ("the day after tomorrow", "11-20"),
        ("yesterday", "11-17"),
        ("the day before yesterday", "11-16"),
        ("next Monday", "11-23"),
        ("next next Monday", "11-30"),
        ("Monday, next next week", "11-30"),
        ("this Friday", "11-20"),
        ("this coming Friday", "11-20"),
        ("Monday", "11-23"),
        ("on Friday", "11-20"),
        ("last Friday", "11-13"),
        ("this Monday", "11-16"),
        ("这周一", "11-16"),
        ("the coming Monday", "11-23"),
        ("Monday next week", "11-23"),
        ("the Monday after next", "11-30"),
        ("Dec 24", "12-24"),
        ("December 24th, 2026", "12-24"),
        ("24 Dec", "12-24"),
        ("24th of December", "12-24"),
        ("the 24th", "11-24"),
        ("Friday, December 4th", "12-04"),
        ("in three days", "11-21"),
        ("two weeks ago", "11-04"),
        ("a week from now", "11-25"),
    ],
)
def test_a_day(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("把会挪到12.3", "12-03"),
        ("12.3请年假", "12-03"),
        ("12.8上午", "12-08am..12-08am"),
        ("截至12.15", "12-15"),
        ("12.24那天", "12-24"),
        ("24.12.2026", "12-24"),
        ("1/4报到", "01-04"),
        ("by 9/10", "09-10"),
        ("12/3(周四)", "12-03"),
        ("2026-12-24T10:00", "12-24"),
        ("12.1-12.3去成都", "12-01..12-03"),
        ("12.30-1.2请假", "12-30..01-02"),
        ("12.3到12.15", "12-03..12-15"),
        ("2026.12.3-2026.12.5", "12-03..12-05"),
        ("2026.12.3-5日", "12-03..12-05"),
        ("2026/12/3~12/5", "12-03..12-05"),
        ("2026-12-03~12-05", "12-03..12-05"),
        ("9/8-9/10", "09-08..09-10"),
        ("12/23-1/2", "12-23..01-02"),
        ("12/24-26", "12-24..12-26"),
    ],
)
def test_days_in_figures_alone(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [
        "10.28",
        "系统升级到11.3",
        "更新到12.5版本",
        "python3.10",
        "iOS 12.3更新了",
        "9.9折",
        "3.5天",
        "10.5公里",
        "价格10.28元",
        "评分4.8",
        "从3.5涨到4.5",
        "3.5-4.5天",
        "得分4.5-4.8",
        "1.2-1.5万",
        "a 9/10 from me",
        "page 3/7",
        "room 12/5",
        "1/4的人",
        "3/4 done",
        "订单2026-11-18-001",
    ],
)
def test_figures_that_are_no_day(typed: str) -> None:
    assert read(typed) == ""


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("月底", "11-30"),
        ("下个月底前", "12-31"),
        ("2月底", "02-28"),
        ("本月最后一天", "11-30"),
        ("年底前", "12-31"),
        ("从今天到月底", "11-18..11-30"),
        ("12月25号到月底", "12-25..12-31"),
        ("by the end of next month", "12-31"),
        ("end of February", "02-28"),
        ("the last day of the month", "11-30"),
        ("by month end", "11-30"),
        ("before the end of the year", "12-31"),
        ("the first day of next month", "12-01"),
        ("下个月第一个周一", "12-07"),
        ("本月最后一个周五", "11-27"),
        ("the second Tuesday of December", "12-08"),
        ("the last Friday of the month", "11-27"),
        ("元旦我值班", "01-01"),
        ("圣诞节那天", "12-25"),
        ("五一当天", "05-01"),
        ("平安夜到元旦", "12-24..01-01"),
        ("New Year's Eve", "12-31"),
        ("on Christmas Day", "12-25"),
        ("Boxing Day", "12-26"),
        ("整个八月", "08-01..08-31"),
        ("all of August", "08-01..08-31"),
        ("throughout February 2028", "02-01..02-29"),
        ("12月7号那周", "12-07..12-13"),
        ("春节", "02-06"),
        ("除夕到大年初一", "02-05..02-06"),
        ("2028年春节", "01-26"),
        ("今年中秋节", "09-25"),
        ("清明", "04-05"),
        ("端午节当天", "06-09"),
        ("国庆", "10-01"),
        ("五一", "05-01"),
        ("Chinese New Year's Eve", "02-05"),
        ("the Spring Festival", "02-06"),
        ("Tomb-Sweeping Day", "04-05"),
        ("Dragon Boat Festival 2027", "06-09"),
        ("the Mid-Autumn Festival", "09-15"),
        ("National Day", "10-01"),
        ("the week of December 9", "12-07..12-13"),
    ],
)
def test_days_by_their_place_and_their_name(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [
        "月初",
        "下月初",
        "月中",
        "每月底",
        "年底奖金",
        "early next month",
        "beginning of next week",
        "the end of this week",
        "end of month report",
        "end-of-year party",
        "元旦晚会",
        "元旦放假安排",
        "国庆期间",
        "过春节",
        "中秋月饼",
        "during the Spring Festival",
        "National Day holiday",
        "last last Friday",
        "下个下周三",
        "下下下下下下周三",
        "大大大大大大后天",
        "后后天",
        "前前前天",
        "五一放假",
        "圣诞节礼物",
        "元旦前一天",
        "每年元旦",
        "Christmas party",
        "New Year's Eve dinner",
        "农历八月十五",
        "八月十五",
        "in August",
        "下个月第一周",
    ],
)
def test_what_two_people_would_read_differently_is_none(typed: str) -> None:
    assert read(typed) == ""


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a week from Monday", "11-30"),
        ("two weeks from tomorrow", "12-03"),
        ("Monday week", "11-30"),
        ("two weeks today", "12-02"),
        ("the day after Christmas", "12-26"),
        ("two days before New Year's Day", "12-30"),
        ("I need two weeks from Monday", "11-23"),
        ("Thursday 3rd December", "12-03"),
        ("Friday (Dec 4)", "12-04"),
        ("07-Dec-2026", "12-07"),
        ("Dec-7", "12-07"),
        ("December28th", "12-28"),
        ("by the twentieth", "11-20"),
        ("the third of next month", "12-03"),
        ("Dec 23, 24 and 28", "12-23 12-24 12-28"),
        ("24, 25 and 27 December", "12-24 12-25 12-27"),
        ("7-Dec-26", "12-07"),
        ("tonight", "11-18"),
        ("明晚八点", "11-19"),
        ("5号机票", "12-05"),
        ("3月2日机房停机", "03-02"),
    ],
)
def test_further_ways_to_name_a_day(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [
        "周一鸣的工号",
        "老周三个孩子",
        "周一三五健身",
        "星期天饭店",
        "隔周周五",
        "you may first ask Bob",
        "only 3 may join",
        "on the fifth floor",
        "the 2nd monitor",
        "the 5th and 6th floors",
        "the 30th of February",
        "Sunday Times",
        "Ruby Tuesday",
        "the second Monday shift",
    ],
)
def test_further_words_that_are_no_day(typed: str) -> None:
    assert read(typed) == ""


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("12月3日～12月5日", "12-03..12-05"),
        ("12月3日——5日", "12-03..12-05"),
        ("12月3日…12月5日", "12-03..12-05"),
        ("后天下午开始请到下周一上午", "11-20pm..11-23am"),
        ("从周三休到周五", "11-18..11-20"),
        ("12月1、2、3号", "12-01..12-03"),
        ("25、26号", "11-25..11-26"),
        ("下周一二", "11-23..11-24"),
        ("即日起到月底", "11-18..11-30"),
        ("12月1号上午9点到12月3号下午6点", "12-01..12-03"),
        ("Dec 4th-6th", "12-04..12-06"),
        ("between 5 and 9 December", "12-05..12-09"),
        ("Wednesday to Friday of next week", "11-25..11-27"),
        ("Mon-Wed next week", "11-23..11-25"),
        ("Monday 9am to Wednesday 5pm", "11-23..11-25"),
        ("move item 3 to 26 November", "11-26"),
        ("the afternoon of the 4th", "12-04pm..12-04pm"),
        ("Wed PM to Fri AM", "11-18pm..11-20am"),
    ],
)
def test_further_ways_to_name_a_range(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("下周一到周三", "11-23..11-25"),
        ("下周一至下周三", "11-23..11-25"),
        ("周一到周五", "11-23..11-27"),
        ("周一至五", "11-23..11-27"),
        ("这周五到下周二", "11-20..11-24"),
        ("12月1日到5日", "12-01..12-05"),
        ("12月1-5号", "12-01..12-05"),
        ("1-5号", "12-01..12-05"),
        ("12月1号到12月5号", "12-01..12-05"),
        ("从12月1号开始到5号", "12-01..12-05"),
        ("12月28日到1月3日", "12-28..01-03"),
        ("今天到周五", "11-18..11-20"),
        ("明后天", "11-19..11-20"),
        ("12/24-12/26", "12-24..12-26"),
        ("2026-12-24到2026-12-26", "12-24..12-26"),
        ("下周", "11-23..11-29"),
        ("周末", "11-21..11-22"),
        ("下个月", "12-01..12-31"),
        ("from next Monday to Wednesday", "11-23..11-25"),
        ("Mon-Wed", "11-23..11-25"),
        ("between Monday and Wednesday", "11-23..11-25"),
        ("next Monday through Friday", "11-23..11-27"),
        ("Dec 24-26", "12-24..12-26"),
        ("December 24-26, 2026", "12-24..12-26"),
        ("Dec 28 to Jan 2", "12-28..01-02"),
        ("24th to 26th of December", "12-24..12-26"),
        ("the 24th to the 26th", "11-24..11-26"),
        ("from tomorrow until Friday", "11-19..11-20"),
        ("next week", "11-23..11-29"),
        ("this weekend", "11-21..11-22"),
    ],
)
def test_a_range(typed: str, expected: str) -> None:
    assert read(typed) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("明天下午", "11-19pm..11-19pm"),
        ("明早", "11-19am..11-19am"),
        ("周五早上", "11-20am..11-20am"),
        ("周一上午到周三下午", "11-23am..11-25pm"),
        ("周一下午到周三", "11-23pm..11-25"),
        ("明天上午到下午", "11-19am..11-19pm"),
        ("tomorrow morning", "11-19am..11-19am"),
        ("this afternoon", "11-18pm..11-18pm"),
        ("on the morning of Dec 24", "12-24am..12-24am"),
        ("Monday afternoon to Wednesday morning", "11-23pm..11-25am"),
    ],
)
def test_half_days(typed: str, expected: str) -> None:
    assert read(typed) == expected


def test_a_clock_after_a_half_makes_it_a_time_of_the_day() -> None:
    assert read("明天下午3点") == "11-19"


@pytest.mark.parametrize(
    "typed",
    [
        "五一广场",
        "三楼",
        "周三丰",
        "每周三",
        "一周一次",
        "聪明天才",
        "以后天天如此",
        "第三天",
        "5号楼",
        "3号线",
        "1号会议室",
        "2月30日",
        "1月32日",
        "version 2.5.1",
        "192.168.1.1",
        "March on",
        "I may go",
        "the sun is up",
        "I sat down",
        "every Friday",
        "Black Friday",
        "call me at 5",
        "the 3rd floor",
        "1/2 cup",
        "24/7 support",
        "12月",
        "生日快乐",
    ],
)
def test_nothing_where_there_is_no_day(typed: str) -> None:
    assert read(typed) == ""


def test_a_weekday_after_a_start_is_the_first_one_after_it() -> None:
    monday = date(2026, 11, 23)
    assert read("到周四", after=monday) == "11-26"
    assert read("5号", after=monday) == "12-05"
    assert read("until Friday", after=monday) == "11-27"


def test_an_incomplete_day_of_something_past_is_the_last_one() -> None:
    assert read("周一", past=True) == "11-16"
    assert read("11月20日", past=True) == "11-20"
    assert find_dates("11月20日", Calendar(WEDNESDAY, past=True))[0].value.first.year == 2025
    assert read("12号", past=True) == "11-12"


def test_a_range_never_ends_before_it_starts() -> None:
    assert read("下周五到下周一") == "11-27..11-30"
    assert read("后天到明天") == "11-20 11-19"


def test_a_list_goes_on_in_the_week_and_month_it_began_in() -> None:
    assert read("下周三和周五") == "11-25 11-27"
    assert read("12月24日和25日") == "12-24 12-25"
    assert read("next Tuesday and Thursday") == "11-24 11-26"


def test_a_week_and_a_number_of_days_are_no_weekday() -> None:
    assert read("下周三天假") == "11-23..11-29"


def test_a_leap_day_is_found_years_ahead() -> None:
    assert find_dates("2月29日", Calendar(WEDNESDAY))[0].value.first == date(2028, 2, 29)


def test_a_month_is_as_long_as_it_is() -> None:
    assert find_dates("一个月后", Calendar(date(2027, 1, 31)))[0].value.first == date(2027, 2, 28)
