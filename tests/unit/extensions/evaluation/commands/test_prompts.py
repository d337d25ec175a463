"""`prompts`: cases asked of a scripted model, and what operators do over the API."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router.extensions.evaluation.commands.prompt_evaluation import read_all_cases
from router.runtime.prompts import prompt_jobs
from router.settings import Settings
from tests.fakes.model_server import Behaviour, ModelServer, calls, fails, rate_limits, says
from tests.fakes.web_server import Received, Reply
from tests.unit.cli.conftest import Run, serving
from tests.unit.cli.test_operators import Api
from tests.unit.routing.test_prompts import write

ONE = """\
job: translate
cases:
  - case: lift
    locale: en
    given: {text: The lift is out of order., to: zh}
    expect: {language: zh, contains: 电梯}
  - case: friday
    locale: en
    given: {text: By Friday., to: zh}
    expect: {language: zh}
"""
JUDGED = ONE.replace("{language: zh, contains: 电梯}", "{judge: Is the lift out of order?}")
OF = ("prompts", "eval", "--cases", "cases", "--at-once", "1")


@pytest.fixture
def cases(elsewhere: Path) -> Path:
    folder = elsewhere / "cases"
    folder.mkdir()
    (folder / "translate.yaml").write_text(ONE)
    return folder


def by_version(**answers: str) -> Behaviour:
    """Says another thing by whose rules it is asked: those in which a word stands."""

    def behave(received: Received) -> Reply:
        rules = json.dumps(received.body, ensure_ascii=False)
        said = next(answer for word, answer in answers.items() if word in rules)
        return says(said)(received)

    return behave


@pytest.mark.slow
def test_a_prompt_s_cases_are_asked_and_what_holds_is_counted(
    run: Run, model: ModelServer, cases: Path
) -> None:
    model.then(says("电梯坏了。"), says("By Friday."))
    printed = run.printed(*OF, "--out", "deep/report.html")
    assert "translate-1    50.0 % [9.5, 90.5] of 2 cases pass, score 0.50; 2 calls" in printed
    assert "0/1  friday  language: it is in en" in printed
    page = Path("deep/report.html").read_text("utf-8")
    assert "电梯坏了。" in page
    assert "translate-1@" in page
    assert "http" not in page.partition("<body>")[0].replace("http-equiv", "")


@pytest.mark.slow
def test_a_question_is_the_one_that_is_asked_in_conversations(
    run: Run, model: ModelServer, cases: Path
) -> None:
    model.then(says("电梯坏了。"), says("周五前。"))
    run.printed(*OF)
    system, user = model.chats[0]["messages"]
    assert system["content"].startswith("You translate for a company's employees.")
    assert user["content"] == "<to>\nzh\n</to>\n<text>\nThe lift is out of order.\n</text>"


@pytest.fixture
def versions(model: ModelServer, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """A second version of what translates, by which the model answers otherwise."""
    folder = elsewhere / "own"
    folder.mkdir()
    write(folder, translate_2_zh="第二版", translate_2_en="The second.")
    monkeypatch.setenv("ROUTER_PROMPTS", str(folder))
    model._script = by_version(**{"The second.": "电梯坏了。", "You translate": "The lift."})
    return model


@pytest.mark.slow
def test_two_versions_stand_side_by_side_on_the_same_cases(
    run: Run, versions: ModelServer, cases: Path
) -> None:
    words = ("--prompt", "translate-2", "--against", "translate-1", "--runs", "3", "--json")
    (job,) = run.json(*OF, *words)["jobs"]
    first, second = job["versions"]
    assert (first["version"], first["passed"]["share"]) == ("translate-1", 0.0)
    assert (second["version"], second["passed"]["share"]) == ("translate-2", 1.0)
    assert (job["difference"]["value"], job["difference"]["better"]) == (1.0, 2)
    assert [len(case["runs"]) for case in second["cases"]] == [3, 3]
    assert second["usage"]["llm_calls"] == 6
    assert len(versions.chats) == 12


@pytest.mark.slow
def test_too_few_that_pass_end_with_1(run: Run, model: ModelServer, cases: Path) -> None:
    model.then(says("电梯坏了。"), says("By Friday."))
    outcome = run(*OF, "--at-least", "0.9")
    assert outcome.status == 1
    assert "0.5 of the cases pass, below --at-least 0.9; 1 runs don't" in outcome.err


@pytest.mark.slow
def test_a_judge_answers_by_yes_or_no_and_is_named(
    run: Run, model: ModelServer, cases: Path
) -> None:
    (cases / "translate.yaml").write_text(JUDGED)
    yes = calls(("verdict", {"why": "it says so", "yes": True}))
    model.then(says("电梯坏了。"), yes, says("周五前。"))
    found = run.json(*OF, "--json", "--judge", "a-judge")
    assert found["jobs"][0]["versions"][0]["assertions"]["judge"]["share"] == 1.0
    assert "a-judge" in found["judge"]
    asked = model.chats[1]
    assert asked["model"] == "a-judge"
    assert "电梯坏了。" in json.dumps(asked, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [says("I'd rather not"), calls(("verdict", {"why": "it may be", "yes": "perhaps"}))],
    ids=["words", "perhaps"],
)
def test_a_judge_who_says_neither_is_an_error_and_no_pass(
    run: Run, model: ModelServer, cases: Path, said: Behaviour
) -> None:
    (cases / "translate.yaml").write_text(JUDGED)
    model.then(says("电梯坏了。"), said, says("周五前。"))
    outcome = run(*OF, "--case", "lift", "--case", "friday")
    assert outcome.status == 1
    assert "said neither yes nor no" in outcome.out
    assert "of 1 runs can't be told whether they hold" in outcome.err


@pytest.mark.slow
def test_where_no_model_answers_it_is_asked_once_more_and_then_an_error(
    run: Run, model: ModelServer, cases: Path
) -> None:
    model._script = rate_limits("0")
    outcome = run(*OF, "--case", "lift")
    assert outcome.status == 1
    assert "0.0 % [0.0, 79.3] of 1 cases pass, score 0.00; 0 calls" in outcome.out
    assert len(model.chats) == 2


@pytest.mark.slow
def test_a_key_that_is_refused_ends_it_at_once(run: Run, model: ModelServer, cases: Path) -> None:
    model._script = fails(401, "wrong key")
    assert "wrong key" in run.refused(*OF)
    assert len(model.chats) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("translat",), "job 'translat' has no cases: did you mean translate?"),
        (("--prompt", "translate-9"), "there is no prompt 'translate-9'"),
        (("--prompt", "router-1"), "job 'router' has no cases"),
        (("--prompt", "translate-1", "--against", "translate-1"), "can't be held against itself"),
        (("--case", "nope"), "no case is called nope"),
        (("--cases", "nowhere"), "nowhere:1: is no folder"),
    ],
    ids=["job", "version", "without-cases", "itself", "case", "folder"],
)
def test_what_isn_t_there_is_refused_in_words(
    run: Run, model: ModelServer, cases: Path, words: tuple[str, ...], said: str
) -> None:
    assert said in run.refused(*OF, *words)
    assert model.chats == []


@pytest.mark.slow
def test_without_a_model_it_says_what_to_set(run: Run, cases: Path) -> None:
    assert "set ROUTER_LLM_MODEL" in run.refused(*OF)


@pytest.mark.slow
def test_every_case_that_ships_can_be_asked(run: Run, model: ModelServer) -> None:
    """Whatever a model answers: nothing in a case names what this house doesn't have."""
    model._script = says("I can't tell.")
    shipped = read_all_cases(None, prompt_jobs(Settings.load()))
    found = run(*("prompts", "eval", *sorted(shipped), "--json"))
    versions = {each["job"]: each["versions"][0] for each in json.loads(found.out)["jobs"]}
    names = {job: sorted(each["case"] for each in v["cases"]) for job, v in versions.items()}
    assert names == {job: sorted(case.name for case in each) for job, each in shipped.items()}
    assert len(model.chats + model.looks) >= sum(map(len, names.values()))
    runs = [each for v in versions.values() for case in v["cases"] for each in case["runs"]]
    wrong = [each["error"] for each in runs if each["error"] and "neither" not in each["error"]]
    assert not wrong


JOB: dict[str, Any] = {"job": "router", "source": "operator", "set_by": "olga", "versions": []}
JOB["versions"] = [
    {"version": "router-1", "weight": 9, "share": 0.9, "origin": "shipped"},
    {"version": "router-2", "weight": 1, "share": 0.1, "origin": "folder"},
]
for one in JOB["versions"]:
    one["fingerprints"] = {"zh": f"{one['version']}@aaaaaaaa", "en": f"{one['version']}@bbbbbbbb"}
RATE = {"count": 1, "of": 4, "share": 0.25, "low": 0.05, "high": 0.7}
OUTCOME: dict[str, Any] = {"version": "router-1", "conversations": 3, "turns": 4, "started": 0}
OUTCOME |= dict.fromkeys(("unused", "missed", "asked_back", "handed_off"), RATE)
OUTCOME |= {name: {**RATE, "share": None} for name in ("completed", "cancelled")}


@pytest.fixture
def api() -> Iterator[Api]:
    server = Api()
    server.answers["/v1/prompts"] = {"items": [JOB], "next": None, "outcomes": [OUTCOME]}
    server.answers["/v1/prompts/router/shares"] = JOB
    server.answers["/v1/prompts/router/rollback"] = JOB
    with serving(server):
        yield server


def test_versions_are_listed_with_what_they_get(run: Run, api: Api) -> None:
    lines = run.printed("prompts", "list", "--url", api.origin).splitlines()
    assert lines[1].split() == ["router-1", "90%", "shipped", "olga", "aaaaaaaa", "bbbbbbbb"]


def test_shares_are_set_and_told(run: Run, api: Api) -> None:
    said = run.printed("prompts", "share", "router-1=9", "router-2=1", "--url", api.origin)
    assert said == "router: router-1 90%, router-2 10% (set by olga)\n"
    (asked,) = api.requests
    assert (asked.method, asked.target) == ("PUT", "/v1/prompts/router/shares")
    assert json.loads(asked.body) == {"shares": {"router-1": 9, "router-2": 1}}


def test_shares_are_rolled_back(run: Run, api: Api) -> None:
    assert "router-1 90%" in run.printed("prompts", "rollback", "router", "--url", api.origin)
    assert api.requests[0].target == "/v1/prompts/router/rollback"


def test_outcomes_are_a_row_for_each_version(run: Run, api: Api) -> None:
    printed = run.printed("prompts", "outcomes", "--days", "30", "--url", api.origin)
    assert "25% [5%, 70%]" in printed
    assert api.requests[0].target == "/v1/prompts?days=30"


@pytest.mark.parametrize(
    "words",
    [("router-1",), ("router-1=",), ("=1",), ("router-1=-1",), ("router-1=1", "phrase-1=1")],
    ids=["no-weight", "empty-weight", "no-version", "negative", "two-jobs"],
)
def test_what_is_no_share_is_a_mistake_of_usage(run: Run, api: Api, words: tuple[str, ...]) -> None:
    assert run("prompts", "share", *words, "--url", api.origin).status == 2
    assert api.requests == []
