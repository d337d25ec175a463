"""The skills that ship: what their instructions name is there, and their evals are sound."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import skills
from activities.capabilities import Capabilities
from activities.tools.expenses import ExpenseLimitList
from router.cli.dry_run import known_of
from router.domain.principals import DEFAULT_TENANT, EVERYONE, Principal
from router.evaluation.dataset import NumberedLine, read_labelled
from router.routing.offer import FLOW
from router.routing.skill_step import ASK_USER, DONE
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from router.skill.loader import load_all
from router.skill.skill import Skill

FOLDER = Path(next(iter(skills.__path__)))
EVALS = FOLDER / "tests"
SHIPPED = list(load_all([FOLDER]).catalog)
NAMES = [skill.name for skill in SHIPPED]
CJK = re.compile(r"[一-鿿]")
"""What tells a Chinese request from an English one here."""


@pytest.fixture(scope="module")
def settings() -> Settings:
    return Settings.load(llm_base_url="http://127.0.0.1:9/v1", llm_model="never-asked")


@pytest.fixture(scope="module")
def offered(settings: Settings) -> Capabilities:
    return load_capabilities(settings)


@pytest.fixture
def employee() -> Principal:
    return Principal(tenant=DEFAULT_TENANT, id="alice", name="Alice", roles=frozenset({EVERYONE}))


@pytest.fixture
def skill(request: pytest.FixtureRequest) -> Skill:
    return next(one for one in SHIPPED if one.name == request.param)


of_each = pytest.mark.parametrize("skill", NAMES, indirect=True)


def quoted(skill: Skill) -> set[str]:
    """What stands between backticks in the instructions and is a name."""
    return {q for q in re.findall(r"`([^`]+)`", skill.instructions) if re.fullmatch(r"[a-z_]+", q)}


def fields(schema: object) -> Iterator[str]:
    """The names of all properties in a JSON schema, however deep."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from fields(inner)


def choices(schema: object) -> Iterator[str]:
    """The values of all enumerations in a JSON schema, however deep."""
    if isinstance(schema, dict):
        yield from (str(value) for value in schema.get("enum", []))
        for inner in schema.values():
            yield from choices(inner)
    if isinstance(schema, list):
        for inner in schema:
            yield from choices(inner)


def lines(name: str, settings: Settings) -> list[NumberedLine]:
    file = EVALS / f"{name}.jsonl"
    users = frozenset({"alice", "frank"})
    return read_labelled(file.read_bytes(), file.name, known_of(settings, users)).lines


def bare(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


@of_each
def test_whatever_it_is_allowed_an_employee_may_use(
    skill: Skill, offered: Capabilities, employee: Principal
) -> None:
    usable = {**offered.tools_of(skill, employee), **offered.flows_of(skill, employee)}
    assert skill.allowed_tools is not None
    assert skill.allowed_tools <= set(usable)


@of_each
def test_its_instructions_name_nothing_that_is_not_there(
    skill: Skill, offered: Capabilities, employee: Principal
) -> None:
    tools = offered.tools_of(skill, employee)
    flows = offered.flows_of(skill, employee)
    slots = [slot for flow in flows.values() for slot in flow.slots.items()]
    known = {*tools, *flows, ASK_USER, DONE, FLOW}
    known |= {name for name, _ in slots}
    known |= {field for _, slot in slots if slot.of for field in slot.of.fields}
    known |= {field for tool in tools.values() for field in fields(tool.parameters)}
    known |= {choice for tool in tools.values() for choice in choices(tool.parameters)}
    known |= set(ExpenseLimitList.model_fields)
    assert quoted(skill) <= known


@of_each
def test_it_is_told_to_use_whatever_it_is_allowed(skill: Skill) -> None:
    assert skill.allowed_tools is not None
    assert skill.allowed_tools <= quoted(skill)


@of_each
def test_its_files_are_those_that_its_instructions_link_to(skill: Skill) -> None:
    folder = FOLDER / skill.name
    there = {path.relative_to(folder).as_posix() for path in folder.glob("*/**/*.*")}
    assert set(re.findall(r"\]\(([^)]+)\)", skill.instructions)) == there


@of_each
def test_it_is_found_by_requests_in_both_languages(skill: Skill) -> None:
    chinese = [example for example in skill.examples if CJK.search(example)]
    assert 4 <= len(chinese) < len(skill.examples)
    assert len(skill.examples) - len(chinese) >= 4
    assert CJK.search(skill.description.zh)
    assert not CJK.search(skill.description.en)


@of_each
def test_its_eval_has_five_requests_in_each_language_and_none_is_an_example(
    skill: Skill, settings: Settings
) -> None:
    asked = lines(skill.name, settings)
    assert {labelled.line.label for labelled in asked} == {skill.name}
    assert sum(bool(CJK.search(labelled.line.text)) for labelled in asked) == 5
    assert len(asked) == 10
    examples = {bare(example) for one in SHIPPED for example in one.examples}
    for labelled in asked:
        text = bare(labelled.line.text)
        assert not any(text in example or example in text for example in examples), text


def test_the_near_misses_are_five_for_each_skill_and_for_none_of_them(settings: Settings) -> None:
    near = [labelled.line for labelled in lines("near-misses", settings)]
    assert {skill: sum(line.split == skill for line in near) for skill in NAMES} == dict.fromkeys(
        NAMES, 5
    )
    assert len(near) == 5 * len(NAMES)
    assert {line.label for line in near}.isdisjoint(NAMES)
