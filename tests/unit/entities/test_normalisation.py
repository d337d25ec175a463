"""One spelling: compatibility forms, keys held down, traditional characters."""

from pathlib import Path

from router.entities.normalisation import normalise, simplified
from router.understanding.triggers.patterns import PatternIndex
from tests.table import each_row
from tests.unit.entities.tables import phrases, table
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, LEAVE


@each_row(
    ("typed", "text"),
    [
        ("我要请假", "我要请假"),
        ("我 要 请 假", "我要请假"),
        ("我要請假，報銷兩張發票", "我要请假,报销两张发票"),
        ("ＬＥＡＶＥ　request", "leave request"),
        ("  Leave \t\n Request  ", "leave request"),
        *((unseen, "请假") for unseen in ("请\u200b假", "请\x07假", "请\ufe0f假\U000e0100")),
        *((unseen, "请假") for unseen in ("\u202e请\u2066假\u2069", "请🏖️假")),
        ("请\ufeff\u2060\u034f\u3164假", "请假"),
        ("打车 36 块", "打车 36 块"),
        ("１２月２４日", "12月24日"),
        ("￥58", "¥58"),
        ("cafe\u0301", "café"),
        ("Straße", "strasse"),
        ("", ""),
        (" \u3000 ", ""),
        ("请½天", "请½天"),
        ("请 3 天 假", "请 3 天假"),
        ("下周 一 到 周 三", "下周一到周三"),
        ("2026 年 12 月 24 日", "2026年 12月 24日"),
        ("你好 ， 请假 ！ 谢谢", "你好,请假!谢谢"),
        ("原因 ： 家里有事", "原因:家里有事"),
        ("leave , please", "leave , please"),
        ("1\ufe0f\u20e3", "1"),
        ("apply 🙏🏽 for leave 👍", "apply for leave"),
        ("👍🏽", "👍🏽"),
        ("❤️ 🙏", "❤ 🙏"),
    ],
)
def test_there_is_one_spelling(typed: str, text: str) -> None:
    assert normalise(typed).text == text


def test_a_span_refers_to_the_text_as_typed() -> None:
    found = normalise("你好， 我 要 請\u200b 假 ！")
    start = found.text.index("请假")
    assert found.as_typed(start, start + 2) == "請\u200b 假"


def test_spans_of_what_was_folded_or_is_empty_have_a_place() -> None:
    found = normalise("a㍿b")
    assert (found.text, found.span(1, 5)) == ("a株式会社b", (1, 2))
    apart = normalise("请 假")
    assert (apart.span(1, 1), apart.span(2, 2)) == ((2, 2), (3, 3))


def test_lone_surrogates_and_ligatures_of_whole_sentences_do_no_harm() -> None:
    assert normalise("请\ud800假").text.encode() == "请\ufffd假".encode()
    assert normalise("\ufdfa" * 10).text == "\ufdfa" * 10


@each_row(("typed", "text"), table("emphasis", "a key held down counts once"))
def test_a_key_held_down_counts_once(typed: str, text: str) -> None:
    assert normalise(typed).text == text
    assert normalise(text).text == text


DOUBLED = phrases("""
    看看  谢谢  天天  下下下周三  上上上个月  大大大后天  后后后天  人人  妈妈  催催  查查
    告诉我我的年假  重要要求  申请请假  二〇〇〇  一一一  36...50  1--3  好!!
    book  need  off  www.example.com  iii  100  2000  1000000  aaa7  7aaa
""")


@each_row("text", [*DOUBLED, "a" * 50 + "b"])
def test_what_doubles_or_counts_stays(text: str) -> None:
    assert normalise(text).text == text


def test_a_span_covers_everything_that_was_typed() -> None:
    found = normalise("pleeease 請請請 假！！！")
    assert found.text == "please 请假!"
    assert found.as_typed(2, 4) == "eeea"
    assert found.as_typed(7, 9) == "請請請 假"
    assert found.as_typed(9, 10) == "！！！"


INDEX = PatternIndex([LEAVE, EXPENSE])


def started(text: str) -> str:
    hits = [match.hit for match in INDEX.find(normalise(text), EMPLOYEE)]
    return " ".join(sorted({hit.flow for hit in hits if hit.blocked_by is None})) or "none"


@each_row(("typed", "flow"), table("emphasis", "what starts a flow still does"))
def test_what_starts_a_flow_still_does(typed: str, flow: str) -> None:
    assert started(typed) == flow


ROOT = Path(__file__).parents[3]

SENTENCES = [
    ("我要請假", "我要请假", "leave_request"),
    ("我想請兩天年假，下週一開始", "我想请两天年假，下周一开始", "leave_request"),
    ("幫我請明天下午的病假", "帮我请明天下午的病假", "leave_request"),
    (
        "麻煩幫我申請下週三到週五的特別假，要請假",
        "麻烦帮我申请下周三到周五的特别假，要请假",
        "leave_request",
    ),
    ("身體不舒服，今天想請一天病假", "身体不舒服，今天想请一天病假", "leave_request"),
    ("家裡有事，想請半天事假", "家里有事，想请半天事假", "leave_request"),
    ("屋企裏有事，想請半日假", "屋企里有事，想请半日假", "leave_request"),
    ("小孩發燒，明天我想請假帶他看醫生", "小孩发烧，明天我想请假带他看医生", "leave_request"),
    ("太太下個月生產，我要請陪產假", "太太下个月生产，我要请陪产假", "leave_request"),
    ("12月24號到26號想請婚假", "12月24号到26号想请婚假", "leave_request"),
    ("我要報銷", "我要报销", "reimbursement"),
    ("我要報銷計程車費三百五十塊", "我要报销计程车费三百五十块", "reimbursement"),
    ("幫我報銷這張發票", "帮我报销这张发票", "reimbursement"),
    ("出差的機票錢想報銷", "出差的机票钱想报销", "reimbursement"),
    ("想報銷昨天的餐費，共一萬二千元", "想报销昨天的餐费，共一万二千元", "reimbursement"),
    ("我要報帳，高鐵票1490元", "我要报账，高铁票1490元", None),
    ("客戶請客的費用怎麼報銷？", "客户请客的费用怎么报销？", "none"),
    ("請問我的年假還剩幾天？", "请问我的年假还剩几天？", "none"),
    ("請假要提前幾天申請？", "请假要提前几天申请？", "none"),
    ("我的報銷審批到哪個階段了", "我的报销审批到哪个阶段了", "none"),
    ("想瞭解一下請假的規定", "想了解一下请假的规定", "none"),
    ("取消我上週提交的請假", "取消我上周提交的请假", "none"),
    ("甚麼時候可以請年假？", "什么时候可以请年假？", "none"),
    ("請假單的格式在哪裡下載", "请假单的格式在哪里下载", "none"),
    ("妳好，想問報銷標準", "你好，想问报销标准", "none"),
    ("我還沒有要請假", "我还没有要请假", "none"),
    ("主管回覆說要補發票", "主管回复说要补发票", None),
    ("後天下午三點開會", "后天下午三点开会", None),
    ("把開始日期改為十二月一號", "把开始日期改为十二月一号", None),
    ("從週二請到週四，總共三天", "从周二请到周四，总共三天", None),
    ("臺北到臺中的車票", "台北到台中的车票", None),
    ("餅乾和乾洗的錢可以報嗎", "饼干和干洗的钱可以报吗", None),
    ("祇有一張收據，佔比很低", "只有一张收据，占比很低", None),
    ("同事跟著主管去客戶那邊", "同事跟着主管去客户那边", None),
    ("著作權的問題要問誰", "著作权的问题要问谁", None),
    ("會議室預訂：週五兩點半", "会议室预订：周五两点半", None),
    ("電腦壞了，請幫忙送修", "电脑坏了，请帮忙送修", None),
    ("員工證遺失，要補辦", "员工证遗失，要补办", None),
    ("對，就這樣，沒問題", "对，就这样，没问题", None),
    ("不對，金額應該是五十八塊", "不对，金额应该是五十八块", None),
    ("算了，不用辦了，謝謝", "算了，不用办了，谢谢", None),
    ("綫上課程的發票，羣組已經同意", "线上课程的发票，群组已经同意", None),
]


@each_row(("typed", "simple", "flow"), SENTENCES)
def test_a_traditional_sentence_reads_as_the_simplified_one(
    typed: str, simple: str, flow: str | None
) -> None:
    assert normalise(typed).text == normalise(simple).text
    assert started(typed) == started(simple)
    assert flow is None or started(typed) == flow


@each_row("text", table("simplified", "what is simplified already stays"))
def test_what_is_simplified_already_stays(text: str) -> None:
    assert simplified(text) == text


def test_no_chinese_that_this_project_ships_is_changed() -> None:
    folders = [ROOT / "flows", ROOT / "skills", ROOT / "company" / "policies"]
    files = [path for folder in folders for path in folder.rglob("*.*") if path.is_file()]
    texts = {path: path.read_text() for path in files if path.suffix in {".md", ".yaml", ".jsonl"}}
    assert len(texts) > 10
    assert [path for path, text in texts.items() if simplified(text) != text] == []


@each_row("text", ["乾隆吃餅乾", "想瞭解瞭望塔", "甚麼甚至", "於是樊於期", "薴"])
def test_one_character_stays_one_and_a_second_time_changes_nothing(text: str) -> None:
    once = simplified(text)
    assert len(once) == len(text)
    assert simplified(once) == once
