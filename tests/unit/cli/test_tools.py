"""`tools` and `skills`."""

import json
import re
from pathlib import Path

import pytest

import skills
from router.formats.validation import keys_at
from router.skill.front_matter import SkillMetadata
from router.skill.loader import load_all
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.unit.cli.conftest import Run, serving
from tests.unit.skill.test_loader import HEAD, beside, write

GOOD = {"name": "a", "description": "b", "endpoint": {"url": "https://a.example"}}


def test_list_says_who_may_call_what_of_which_kind_and_where_it_is_declared(run: Run) -> None:
    lines = {line.split()[0]: line for line in run("tools", "list").out.splitlines()}
    assert re.fullmatch(
        r"get_leave_balance +read +everyone +code +\S+/tools/leave\.py +\S.*",
        lines["get_leave_balance"],
    )
    assert re.search(r" http +\S+/tools/http/weather\.json ", lines["get_weather"])


@pytest.mark.slow
def test_call_prints_json_and_needs_nothing_but_a_folder(run: Run, elsewhere: Path) -> None:
    call = ("tools", "call", "get_leave_balance", '{"leave_type": "annual"}', "--user", "alice")
    assert run.json(*call, "--data", "some/where")["days"] > 0
    assert (elsewhere / "some" / "where" / "router.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days", "line"),
    [
        (-300, "300 days are more than the 15 that are left"),
        (400, "days: Input should be less than or equal to 366"),
        (1, "add --yes"),
    ],
)
def test_what_would_be_refused_is_said_before_a_yes(run: Run, days: int, line: str) -> None:
    given = {"employee": "frank", "leave_type": "annual", "days": days, "reason": "why"}
    call = ("tools", "call", "adjust_leave_balance", json.dumps(given), "--user", "dave")
    assert line in run.refused(*call)


def test_list_tells_operations_of_a_document_from_what_is_declared_alone(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = {"operationId": "getCustomer", "summary": "A customer"}
    crm = "https://crm.example.com"
    offer = {"openapi": "crm.json", "server": crm, "operations": ["getCustomer"]}
    paths = {"openapi": "3.1.0", "paths": {"/customer": {"get": operation}}}
    for name, document in {"crm.json": paths, "offer.json": offer, "a.json": GOOD}.items():
        (elsewhere / name).write_text(json.dumps(document))
    monkeypatch.setenv("ROUTER_HTTP_TOOLS", ".")
    kinds = {each["name"]: each["kind"] for each in json.loads(run("tools", "list", "--json").out)}
    assert (kinds["getCustomer"], kinds["a"]) == ("openapi", "http")


def test_list_names_what_is_not_offered_and_the_setting_that_would_give_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run("tools", "list").err.splitlines()
    assert "not offered to anybody: convert_currency; set ROUTER_RATES_URL" in said
    assert "not offered to anybody: run_skill_script; set ROUTER_SKILL_SANDBOX" in said
    assert "tools/http/web_search.json: ROUTER_TOOL_SEARCH_URL isn't set; set it" in said[-1]
    found = {each["name"]: each for each in json.loads(run("tools", "list", "--json").out)}
    assert found["convert_currency"]["lacks"] == "ROUTER_RATES_URL"
    assert found["calculate"]["lacks"] is None
    monkeypatch.setenv("ROUTER_RATES_URL", "https://rates.example/daily.json")
    assert "convert_currency" not in run("tools", "list").err


def test_the_declared_tools_in_use_are_checked(run: Run) -> None:
    outcome = run("tools", "validate")
    assert outcome.status == 0
    assert re.search(r"^ok  get_weather in .*weather\.json$", outcome.out, re.MULTILINE)
    assert "web_search.json: ROUTER_TOOL_SEARCH_URL isn't set" in outcome.out


def test_every_problem_of_a_declared_tool_is_told(run: Run, elsewhere: Path) -> None:
    (elsewhere / "a.json").write_text(json.dumps({**GOOD, "nam": 1, "retries": "x"}))
    outcome = run("tools", "validate", "a.json")
    assert outcome.status == 1
    assert outcome.first_line == "error: a.json:1: there is no nam; did you mean name?"
    assert "retries is 'x'" in outcome.err


def test_a_folder_of_declared_tools_is_checked_whole(run: Run, elsewhere: Path) -> None:
    for name in "ab":
        (elsewhere / f"{name}.json").write_text(json.dumps({**GOOD, "name": name}))
    assert run("tools", "validate", ".").out == "ok  a in a.json\nok  b in b.json\n"


@pytest.mark.slow
def test_a_declared_tool_is_called_like_any_other(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = WebServer(lambda got: json_reply({"target": got.target}))
    call = ("tools", "call", "get_ticket", '{"id": "a/7"}', "--user", "alice")
    monkeypatch.setenv("ROUTER_HTTP_TOOLS", "ticket.json")
    with serving(web):
        declared = {
            **GOOD,
            "name": "get_ticket",
            "parameters": {"properties": {"id": {"type": "string"}}, "required": ["id"]},
            "endpoint": {"url": f"{web.origin}/tickets/{{id}}?by={{context.user_id}}"},
        }
        (elsewhere / "ticket.json").write_text(json.dumps(declared))
        assert "isn't https" in run.refused(*call)
        monkeypatch.setenv("ROUTER_HTTP_ALLOW", json.dumps([web.origin]))
        assert run.json(*call) == {"target": "/tickets/a%2F7?by=alice"}


@pytest.mark.slow
@pytest.mark.parametrize(("busy", "tries"), [(2, 3), (9, 4)])
def test_a_call_is_tried_as_often_as_a_turn_would(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, busy: int, tries: int
) -> None:
    asked: list[str] = []

    def answer(got: Got) -> Reply:
        asked.append(got.target)
        return json_reply({"n": len(asked)}, 503 if len(asked) <= busy else 200, retry_after="0")

    web = WebServer(answer)
    call = ("tools", "call", "a", "{}", "--user", "alice")
    monkeypatch.setenv("ROUTER_HTTP_TOOLS", "a.json")
    with serving(web):
        (elsewhere / "a.json").write_text(json.dumps({**GOOD, "endpoint": {"url": web.origin}}))
        monkeypatch.setenv("ROUTER_HTTP_ALLOW", json.dumps([web.origin]))
        if busy < tries:
            assert run.json(*call) == {"n": 3}
        else:
            assert "a isn't working: it failed 4 times" in run.refused(*call)
    assert len(asked) == tries


PAGE = (Path(__file__).parents[3] / "docs" / "skills.md").read_text()


def test_without_paths_the_skills_in_use_are_checked(run: Run) -> None:
    assert "ok  policy-advisor: " in run.printed("skills", "validate")


def test_the_first_skill_of_the_docs_is_sound(run: Run, elsewhere: Path) -> None:
    example = re.search(r"```markdown\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (elsewhere / "trip-helper").mkdir()
    (elsewhere / "trip-helper" / "SKILL.md").write_text(example[1])
    printed = run.printed("skills", "validate", "trip-helper")
    assert re.fullmatch(r"ok  trip-helper: \d+ words, 3 tools\n", printed)
    assert run("skills", "validate", ".").out == printed


def test_every_problem_has_a_line(run: Run, elsewhere: Path) -> None:
    (elsewhere / "broken").mkdir()
    (elsewhere / "broken" / "SKILL.md").write_text("---\nname: Broken\n---\nDo it.\n")
    outcome = run("skills", "validate", ".")
    assert outcome.status == 1
    lines = outcome.err.splitlines()
    assert all(re.match(r"(error: )?broken/SKILL\.md:\d+: ", line) for line in lines)
    assert len(lines) == 3


def test_a_path_without_a_skill_is_refused(run: Run) -> None:
    told = run.refused("skills", "validate", "nowhere")
    assert told == "error: nowhere/SKILL.md:1: there is no such file; check the path"


def test_two_skills_of_one_name_are_refused(run: Run, elsewhere: Path) -> None:
    for place in ("one", "two"):
        folder = elsewhere / place / "same"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\nname: same\ndescription: d\n---\nDo it.\n")
    outcome = run("skills", "validate", "one", "two")
    assert outcome.status == 1
    assert "there is a skill same in one/same already; rename one" in outcome.err


def test_every_key_of_ours_is_described() -> None:
    keys = {key for key in keys_at(SkillMetadata, ()) if not key.endswith(("-zh", "-en"))}
    assert {key for key in keys if f"`{key}`" not in PAGE} == set()


def test_the_skills_that_ship_are_listed_with_what_they_may_use() -> None:
    rows = {row.split("`")[1]: row for row in PAGE.splitlines() if row.startswith("| `")}
    for skill in load_all([Path(next(iter(skills.__path__)))]).catalog:
        listed = frozenset(re.findall(r"`(\w+)`", rows[skill.name]))
        # One that names none may be offered any, which the page says in words.
        assert listed == (skill.allowed_tools or frozenset()), skill.name


def test_flaws_are_named_with_their_lines_and_end_with_1(run: Run, elsewhere: Path) -> None:
    folder = write(elsewhere, body="See [a](references/a.md)\nand [b](references/b.md).")
    beside(folder, "references/b.md")
    (folder / "passwd").symlink_to("/etc/passwd")
    beside(folder, "assets/film.mp4", b"x" * (1024 * 1024 + 1))
    outcome = run("skills", "validate", "trip-planner")
    told = """\
error: trip-planner/SKILL.md:5: it links to references/a.md, which is not there; did you mean \
references/b.md?
trip-planner/assets/film.mp4:1: it is over 1 MiB; split it or make it less; it is left out
trip-planner/passwd:1: it links out of the folder; put a copy in its place; it is left out
"""
    assert (outcome.status, outcome.err) == (1, told)


def test_what_might_be_better_is_a_warning(run: Run, elsewhere: Path) -> None:
    allowed = "allowed-tools: calculat leave_request Bash(git add:*) Read"
    folder = write(elsewhere, f"{HEAD}\n{allowed}", "line\n" * 501)
    beside(folder, "references/a.md")
    outcome = run("skills", "validate", "trip-planner")
    assert (outcome.status, outcome.out) == (0, "ok  trip-planner: 501 words, 4 tools, 1 file\n")
    told = """\
warning: trip-planner/SKILL.md:6: the instructions have 501 lines; move what is long into \
references/
warning: trip-planner/SKILL.md:4: there is no tool or flow calculat; did you mean calculate?
"""
    assert outcome.err == told
