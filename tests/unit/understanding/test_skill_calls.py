"""Skills that a message calls by name, in both languages, and what only sounds like it."""

from router.domain.commands import RunSkill
from router.domain.locale import Localised
from router.domain.principals import Capability, Entitlement, NameSelection
from router.entities.normalisation import normalise
from router.understanding.reader import Reader
from router.understanding.skill_calls import SkillNames
from tests.table import each_row
from tests.unit.understanding.dialogue import asking, read, routed
from tests.unit.understanding.flows import EXPENSE, FLOWS, LEAVE


def skill(name: str, zh: str, en: str, **more: bool | frozenset[str]) -> Capability:
    title = Localised(zh=zh, en=en)
    about = {"kind": "skill", "name": name, "title": title, "description": title, **more}
    return Capability.model_validate(about)


WEEKLY = skill("weekly-report", "周报助手", "Weekly report", by_model=False)
REVIEW = skill("code-review", "代码评审", "Code review")
WRITER = skill("blog-writer", "文章写手", "Blog writer")
UNTOLD = skill("house-rules", "内部规则", "House rules", by_name=False)
AUDIT = skill("audit", "审计", "Audit trail", roles=frozenset({"finance"}))
NAMES = SkillNames([WEEKLY, REVIEW, WRITER, UNTOLD])
READER = Reader(FLOWS, (), [WEEKLY, REVIEW, UNTOLD, AUDIT])


@each_row(
    "said",
    [
        "/weekly-report",
        "/weekly-report 上周的",
        "／weekly-report last week",
        "  /Weekly-Report, please",
        "用周报助手写一份",
        "请帮我用「周报助手」技能写上周的",
        "麻烦叫周报助手来",
        "使用 weekly-report 写周报",
        "@周报助手 写上周的",
        "@weekly-report for last week",
        "周报助手：写上周的",
        "weekly report: last week's please",
        "use the weekly report skill",
        "please use weekly-report for last week",
        "could you run the “weekly report” for last week?",
        "ask weekly report about last week",
    ],
)
def test_it_is_called_by_its_name(said: str) -> None:
    called = NAMES.called_in(normalise(said).text)
    assert called == WEEKLY


@each_row(
    "said",
    [
        "周报助手是什么",
        "帮我写周报",
        "weekly report",
        "the weekly report is late",
        "I use weekly-reports at home",
        "用周报助手的同事是谁",
        "/weekly-reports",
        "/house-rules",
        "use the house rules skill",
        "看一下 /weekly-report 是什么",
        "/",
        "@",
        "用",
        "",
        "/代码评审",
    ],
)
def test_what_only_has_its_name_calls_nobody(said: str) -> None:
    assert NAMES.called_in(normalise(said).text) is None


def test_the_longest_name_is_meant() -> None:
    longer = skill("code-review-java", "代码评审专家", "Code review for Java")
    names = SkillNames([REVIEW, longer])
    assert names.called_in("/code-review-java x") == longer
    assert names.called_in("/code-review x") == REVIEW
    assert names.called_in("用代码评审专家看看") == longer


def test_without_skills_nothing_is_called() -> None:
    assert SkillNames().called_in("/weekly-report") is None


@each_row("view", [None, asking(LEAVE, "reason"), asking(EXPENSE, "reason")])
def test_it_is_called_whatever_else_is_asked_or_said(view: object) -> None:
    said = "/weekly-report 我要请年假，顺便报销打车"
    reading = read(said, view, reader=READER)  # type: ignore[arg-type]
    assert routed(reading) == ("skill", "weekly-report", "pattern")
    assert reading.commands == [RunSkill(skill="weekly-report", request=said, addressed_by="name")]


def test_one_that_the_person_may_not_use_is_not_called() -> None:
    assert read("/audit 上个月", reader=READER).route is None
    reading = read("/audit 上个月", reader=READER, roles=frozenset({"finance"}))
    assert routed(reading) == ("skill", "audit", "pattern")
    none = Entitlement(skills=NameSelection(only=("x",)))
    reading = read("/weekly-report", reader=READER, entitlement=none)
    assert reading.route is None
