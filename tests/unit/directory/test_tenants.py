"""Files of tenants and personas: what they say, what is wrong with them, how they are followed."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from router.directory.persona import MOST_RULES, MOST_WORDS, NAME, load_persona
from router.directory.tenants import KnownNames, LiveTenants, Tenants
from router.domain.errors import DefinitionError
from router.domain.principals import ALL_NAMES, EVERYTHING
from router.routing.prompts import IN_PERSON, JOBS, Prompts
from tests.table import each_row

PERSONA = """
name: {zh: 小桥, en: Bridge}
tone: {zh: 简短, en: brief}
words: {OKR: {zh: 季度目标, en: the goals of a quarter}}
do: [{zh: 先说结果, en: Say the result first}]
dont: [Make no jokes]
"""
KNOWN = KnownNames(
    {
        "flow": {"leave_request", "reimbursement"},
        "skill": {"trip-planner"},
        "tool": {"get_weather", "record_leave", "crm__*"},
    },
    {"leave_request": [("tool", "record_leave")], "reimbursement": [("flow", "leave_request")]},
)


def written(folder: Path, text: str, name: str = "file.yaml") -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def of(folder: Path, text: str) -> Tenants:
    return Tenants.load(written(folder, text, "tenants.yaml"), None)


def test_a_persona_is_told_in_one_language(tmp_path: Path) -> None:
    persona = load_persona(written(tmp_path, PERSONA))
    zh, en = persona.within("zh"), persona.within("en")
    assert all(said in en for said in ("Bridge", "brief", "- OKR: the goals", "- Say the", "jokes"))
    assert all(said in zh for said in ("小桥", "简短", "- OKR：季度目标", "- 先说结果", "jokes"))
    assert "小桥" not in en
    assert persona.introduction("en") == "Hello, I'm Bridge."


@each_row(
    ("text", "said"),
    [
        ("", "there is no usable"),
        ("[]", "there is no usable"),
        ("just words", "there is no usable"),
        ("name: ''", "it is empty in zh"),
        ("name: 3", "there is no usable name"),
        ("name: {zh: 桥}", "there is no en"),
        ("nmae: Bridge", "did you mean name?"),
        ("name: Bridge\nname: Ada", "name comes twice"),
        (f"name: {'x' * (NAME + 1)}", "write at most 40"),
        ('name: "a\\nb"', "it has several lines"),
        ('name: "a\\u202eb"', "that nobody sees"),
        ("name: B\ntone: []", "there is no usable tone"),
        ("name: B\nwords: [a]", "words"),
        ("name: B\nwords: {a: ''}", "it is empty"),
        ('name: B\nwords: {"a\\nb": c}', "a term stands on one line"),
        ("name: B\nwords:\n" + "".join(f"  w{n}: m\n" for n in range(MOST_WORDS + 1)), "at most"),
        (f"name: B\ndo: [{', '.join(['a'] * (MOST_RULES + 1))}]", "at most"),
        ("name: B\ndo: a", "do"),
        ("name: !!python/object:os.system B", "the tag"),
        ("name: B\ndo: &a [*a]", "an alias contains itself"),
        ("name: " + "[" * 300, "nested"),
        ("name: B\n# " + "x" * 70_000, "KiB"),
    ],
)
def test_what_is_wrong_with_a_persona_is_told_at_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        load_persona(written(tmp_path, text))
    problems = [str(problem) for problem in refused.value.problems]
    assert [each for each in problems if said in each], problems
    assert all("file.yaml:" in each and "; " in each for each in problems)


def test_a_persona_stands_behind_the_rules_of_what_people_read(tmp_path: Path) -> None:
    prompts = Prompts.load()
    prompts.personas = Tenants.load(None, written(tmp_path, PERSONA))
    for job in JOBS:
        bare, told = (
            Prompts.load().of(job, "c", "en", "default"),
            prompts.of(job, "c", "en", "default"),
        )
        assert told.text.startswith(bare.text.rstrip())
        assert ("Bridge" in told.text) == (job in IN_PERSON)
        assert told.fingerprint.startswith(bare.fingerprint)
        assert ("+persona@" in told.fingerprint) == (job in IN_PERSON)
    assert all("+persona@" in each.fingerprint for each in prompts.shared("router"))


def test_a_tenant_has_what_the_file_says_and_another_the_rest(tmp_path: Path) -> None:
    tenants = of(
        tmp_path,
        "acme: {flows: [leave_*], tools: {except: [get_*]}}\nfree:\n'*': {skills: []}\n",
    )
    acme, other = tenants.entitlement("acme"), tenants.entitlement("globex")
    assert acme.covers("flow", "leave_request")
    assert not acme.covers("flow", "reimbursement")
    assert not acme.covers("tool", "get_weather")
    assert acme.covers("skill", "trip-planner")
    assert not other.covers("skill", "trip-planner")
    assert tenants.entitlement("free") == EVERYTHING
    assert Tenants().entitlement("anybody") == EVERYTHING


def test_a_tenant_s_authors_may_call_fewer_tools_than_its_people_have(tmp_path: Path) -> None:
    tenants = of(tmp_path, "acme: {author_tools: {except: [record_leave]}}")
    assert not tenants.author_tools("acme").has("record_leave")
    assert tenants.entitlement("acme").covers("tool", "record_leave")
    assert tenants.author_tools("globex") == ALL_NAMES


def test_each_tenant_has_its_own_persona_or_the_houses(tmp_path: Path) -> None:
    written(tmp_path, "name: Ada", "ada.yaml")
    file = written(tmp_path, "acme: {persona: ada.yaml}\nfree: {}\n", "tenants.yaml")
    tenants = Tenants.load(file, written(tmp_path, "name: Lobby", "house.yaml"))
    found = {name: tenants.persona_of(name) for name in ("acme", "free", "globex")}
    assert {n: p.name.en for n, p in found.items() if p} == {
        "acme": "Ada",
        "free": "Lobby",
        "globex": "Lobby",
    }


@each_row(
    ("text", "said"),
    [
        ("", "it names no tenant"),
        ("[acme]", "it names no tenant"),
        ("acme: [x]", "there is no usable acme"),
        ("acme: {origins: {tools: [crm.corp]}}", "write origins alone"),
        ("acme: {origins: {tools: ['http://a:90000']}}", "its port can't be read"),
        ("acme: {origins: {servers: ['http://0x7f.1']}}", "an address in disguise"),
        ("acme: {flow: []}", "did you mean flows?"),
        ("acme: {flows: leave}", "flows"),
        ("acme: {flows: ['']}", "at least 1"),
        ("acme: {flows: [3]}", "string"),
        ("acme: {models: {routr: {model: x}}}", "routr can't be used"),
        ("acme: {models: {router: {}}}", "says nothing"),
        ("acme: {models: {router: {model: x, api_key: k}}}", "api_key"),
        ("acme: {persona: nope.yaml}", "there is no such file"),
        ("acme: {}\nacme: {}", "acme comes twice"),
        ("acme: {flows: " + "[" * 300, "nested"),
    ],
)
def test_what_is_wrong_with_a_file_of_tenants_is_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        of(tmp_path, text)
    problems = [str(problem) for problem in refused.value.problems]
    assert [each for each in problems if said in each], problems


@each_row(
    ("text", "said"),
    [
        ("acme:\n  flows: [leave_reqest]", ":2: no flow is called leave_reqest; did you mean"),
        ("acme: {skills: {except: [x*]}}", "no skill is called x*; there are: trip-planner"),
        ("acme:\n  author_tools: [x*]", ":2: no tool is called x*"),
        (
            "acme: {tools: [get_*]}",
            "the flow leave_request needs the tool record_leave, which acme",
        ),
        ("acme: {flows: [reimbursement]}", "needs the flow leave_request"),
    ],
)
def test_a_name_that_is_not_there_and_a_flow_without_its_parts_are_told(
    tmp_path: Path, text: str, said: str
) -> None:
    problems = [str(problem) for problem in of(tmp_path, text).misfits(KNOWN)]
    assert [each for each in problems if said in each], problems


@each_row(
    "text",
    ["acme: {tools: {except: [crm__*, crm__find]}}", "acme: {flows: [], tools: []}", "'*': {}"],
)
def test_names_that_are_still_to_come_and_empty_lists_are_fine(tmp_path: Path, text: str) -> None:
    assert of(tmp_path, text).misfits(KNOWN) == []


def test_tenants_follow_their_file_and_stay_where_it_is_of_no_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path, "acme: {skills: []}", "tenants.yaml")
    live = LiveTenants(lambda: Tenants.load(file, None))
    live.check(lambda: KNOWN)

    def edited(text: str, later: int) -> Any:
        written(tmp_path, text, "tenants.yaml")
        os.utime(file, (file.stat().st_mtime + later, file.stat().st_mtime + later))
        return live.refresh()

    assert not live.refresh()
    assert edited("acme: {flows: []}", 5)
    assert not live.now.entitlement("acme").covers("flow", "leave_request")
    assert not edited("acme: {flows: {except: [nope]}}", 10)
    assert "no flow is called nope" in caplog.text
    assert not live.now.entitlement("acme").covers("flow", "leave_request")


def test_a_name_that_a_document_is_to_bring_may_come_first_while_the_program_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path, "acme: {flows: []}", "tenants.yaml")
    live = LiveTenants(lambda: Tenants.load(file, None))
    live.check(lambda: KNOWN)
    written(tmp_path, "acme: {flows: [overtime]}", "tenants.yaml")
    os.utime(file, (1, 1))
    assert live.refresh()
    assert live.now.entitlement("acme").covers("flow", "overtime")
    assert "no flow is called overtime" in caplog.text


@pytest.mark.parametrize("selection", ["[overtime]", "{except: [overtime]}"])
def test_a_name_without_its_document_keeps_a_house_with_documents_from_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, selection: str
) -> None:
    tenants = of(tmp_path, f"acme: {{flows: {selection}}}")
    with pytest.raises(DefinitionError, match="no flow is called overtime"):
        LiveTenants(lambda: tenants).check(lambda: KNOWN)
    documented = replace(KNOWN, awaiting=("only", "except"))
    LiveTenants(lambda: tenants).check(lambda: documented)
    assert "no flow is called overtime" in caplog.text


def test_a_flow_without_its_parts_keeps_a_house_with_documents_from_starting_too(
    tmp_path: Path,
) -> None:
    tenants = of(tmp_path, "acme: {tools: [get_*]}")
    with pytest.raises(DefinitionError, match="needs the tool record_leave"):
        LiveTenants(lambda: tenants).check(lambda: replace(KNOWN, awaiting=("only", "except")))
