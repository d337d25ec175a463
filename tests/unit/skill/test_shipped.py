"""The skills that are shipped, and the reference implementation's view of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from skills_ref.validator import validate

import skills
from activities.capabilities import Capabilities
from company.tools.expenses import ExpenseLimitList
from router.domain.errors import DefinitionError
from router.domain.principals import DEFAULT_TENANT, EVERYONE, Principal
from router.extensions.evaluation.commands.labels import known_of
from router.extensions.evaluation.dataset import NumberedLine, read_labelled
from router.routing.offer import FLOW
from router.routing.skill_step import ASK_USER, CREATE_SUBAGENT, DONE
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from router.skill.loader import LARGEST, load_all, read_skill
from router.skill.skill import Skill
from tests.table import each_row
from tests.unit.skill.test_loader import BODY, HEAD, beside, write

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


def names_in(schema: object) -> Iterator[str]:
    """The names of all properties and values of all enumerations in a JSON schema, however deep."""
    if isinstance(schema, dict):
        yield from (*schema.get("properties", {}), *map(str, schema.get("enum", [])))
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from names_in(inner)


def lines(name: str, settings: Settings) -> list[NumberedLine]:
    file = EVALS / f"{name}.jsonl"
    users = frozenset({"alice", "frank"})
    return read_labelled(file.read_bytes(), file.name, known_of(settings, users)).lines


def bare(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


@of_each
def test_its_instructions_name_what_it_is_allowed_and_nothing_that_is_not_there(
    skill: Skill, offered: Capabilities, employee: Principal
) -> None:
    tools = offered.tools_of(skill, employee)
    flows = offered.flows_of(skill, employee)
    slots = [slot for flow in flows.values() for slot in flow.slots.items()]
    known = {*tools, *flows, ASK_USER, DONE, FLOW, *ExpenseLimitList.model_fields}
    known |= {name for name, _ in slots}
    known |= {field for _, slot in slots if slot.of for field in slot.of.fields}
    known |= {name for tool in tools.values() for name in names_in(tool.parameters)}
    if skill.subagents:
        known.add(CREATE_SUBAGENT)
    allowed = skill.allowed_tools or frozenset()
    assert allowed <= {*tools, *flows}, "not all of it is an employee's to use"
    assert allowed <= quoted(skill) <= known


def test_only_the_general_assistant_has_no_ceiling() -> None:
    assert [one.name for one in SHIPPED if one.allowed_tools is None] == ["general-assistant"]


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
    assert skill.title.zh != skill.title.en


@of_each
def test_its_eval_is_in_both_languages_and_has_no_example(skill: Skill, settings: Settings) -> None:
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
    assert [sum(line.split == skill for line in near) for skill in NAMES] == [5] * len(NAMES)
    assert len(near) == 5 * len(NAMES)
    assert {line.label for line in near}.isdisjoint(NAMES)


EVERYTHING = (
    "license: MIT\ncompatibility: needs git\nallowed-tools: Bash(git add:*) Read\n"
    "metadata:\n  author: me\n  version: 1.0"
)
LEAST = "name: a\ndescription: d"
ACCEPTED = {
    "the least": ("a", LEAST, BODY),
    "every field": ("a", f"{LEAST}\n{EVERYTHING}", BODY),
    "a name in Chinese": ("行程", "name: 行程\ndescription: 安排行程", BODY),
    "a name in Cyrillic": ("план-поездки", "name: план-поездки\ndescription: d", BODY),
    "a name with full-width letters": ("ａ", "name: ａ\ndescription: d", BODY),
    "a name that is a number": ("2026", "name: 2026\ndescription: d", BODY),
    "a name that is a word of YAML": ("null", "name: null\ndescription: d", BODY),
    "a name in quotes": ("a", 'name: " a "\ndescription: d', BODY),
    "a description that is a number": ("a", "name: a\ndescription: 1.50", BODY),
    "a description of many lines": ("a", "name: a\ndescription: >-\n  one\n  two", BODY),
    "a description as long as may be": ("a", f"name: a\ndescription: {'d' * 1024}", BODY),
    "no instructions": ("a", LEAST, ""),
    "no compatibility": ("a", f"{LEAST}\ncompatibility:", BODY),
    "no license": ("a", f"{LEAST}\nlicense:", BODY),
    "no tools": ("a", f"{LEAST}\nallowed-tools:", BODY),
    "tools below each other": ("a", f"{LEAST}\nallowed-tools:\n  - x\n  - y", BODY),
    "tools that are fields": ("a", f"{LEAST}\nallowed-tools:\n  x: y", BODY),
    "no metadata": ("a", f"{LEAST}\nmetadata:", BODY),
    "metadata that is a text": ("a", f"{LEAST}\nmetadata: x", BODY),
    "metadata that is a list": ("a", f"{LEAST}\nmetadata:\n  - x", BODY),
    "metadata that is nested": ("a", f"{LEAST}\nmetadata:\n  x:\n    y: z", BODY),
    "metadata by numbers": ("a", f"{LEAST}\nmetadata:\n  1: x\n  true: y", BODY),
    "comments": ("a", "# head\nname: a # name\ndescription: d", BODY),
    "a rule in the body": ("a", LEAST, "one\n\n---\n\ntwo"),
    "a link to nowhere": ("a", LEAST, "See [this](references/none.md)."),
    "a long body": ("a", LEAST, "line\n" * 5000),
}
REFUSED = {
    "no name": ("a", "description: d"),
    "another name": ("a", "name: b\ndescription: d"),
    "capitals": ("A", "name: A\ndescription: d"),
    "underscores": ("a_b", "name: a_b\ndescription: d"),
    "a long name": ("a" * 65, f"name: {'a' * 65}\ndescription: d"),
    "no description": ("a", "name: a"),
    "a long description": ("a", f"name: a\ndescription: {'d' * 1025}"),
    "a long compatibility": ("a", f"{LEAST}\ncompatibility: {'c' * 501}"),
}


@each_row("case", ACCEPTED)
def test_what_the_reference_accepts_can_be_loaded(tmp_path: Path, case: str) -> None:
    name, head, body = ACCEPTED[case]
    folder = write(tmp_path, head, body, name)
    assert validate(folder) == []
    assert read_skill(folder).skill.name == name


@each_row("case", REFUSED)
def test_what_breaks_a_rule_of_the_format_is_refused_by_both(tmp_path: Path, case: str) -> None:
    name, head = REFUSED[case]
    folder = write(tmp_path, head, name=name)
    assert validate(folder) != []
    with pytest.raises(DefinitionError):
        read_skill(folder)


def test_a_file_in_small_letters_is_a_skill_too(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "SKILL.md").rename(folder / "skill.md")
    assert validate(folder) == []
    assert read_skill(folder).skill.name == "trip-planner"


def test_a_folder_that_is_linked_goes_by_the_name_of_the_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere", name="v2")
    (tmp_path / "trip-planner").symlink_to(tmp_path / "elsewhere" / "v2")
    assert validate(tmp_path / "trip-planner") == []
    assert read_skill(tmp_path / "trip-planner").skill.name == "trip-planner"


def test_files_beyond_all_bounds_are_left_out_of_a_skill_that_can_be_used(tmp_path: Path) -> None:
    folder = write(tmp_path)
    beside(folder, "assets/film.mp4", b"\0" * (1024 * 1024 + 1))
    assert validate(folder) == []
    assert read_skill(folder).skill.files == ()


@each_row(
    ("head", "body"),
    [(HEAD, "x" * LARGEST), (f"{HEAD}\nmetadata:\n  router.max-turns: many", BODY)],
    ids=["instructions that no prompt would hold", "a slip in a key of ours"],
)
def test_only_this_is_refused_here_and_accepted_there(tmp_path: Path, head: str, body: str) -> None:
    folder = write(tmp_path, head, body)
    assert validate(folder) == []
    with pytest.raises(DefinitionError):
        read_skill(folder)
