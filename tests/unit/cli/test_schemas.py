"""`intent-router schema`: what an editor says of a file is what the loaders say, and no less."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

import flows
import skills
from router.cli.schema import FOLDER, schema_files, text_of
from router.cli.schemas import BUILDERS, built
from router.directory.file import SAMPLE, FileDirectory
from router.domain.errors import DefinitionError
from router.flow.loader import load_flow
from router.formats.yaml_document import read_yaml
from router.skill.loader import read_skill
from tests.unit.cli.conftest import Run
from tests.unit.flow.test_validation import SOUND as FLOW
from tests.unit.flow.test_validation import WORD
from tests.unit.story.test_story import read as read_stories

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "router" / "cli" / "templates"


def problems(name: str, data: Any) -> list[ValidationError]:
    return list(Draft202012Validator(json.loads(text_of(name))).iter_errors(data))


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDERS)
def test_what_ships_says_what_the_loaders_read_and_explains_the_keys(name: str) -> None:
    assert text_of(name) == built(name), "run `python -m router.cli.schemas`"
    Draft202012Validator.check_schema(json.loads(text_of(name)))
    assert len(re.findall(r'"description": "[^"]{10,}', text_of(name))) >= 5


def yaml_of(path: Path) -> Any:
    return read_yaml(path.read_text()).data


def head_of(path: Path) -> Any:
    return read_yaml(path.read_text().split("---")[1]).data


def json_of(path: Path) -> Any:
    return json.loads(path.read_text())


SHIPPED: Mapping[str, tuple[Callable[[Path], Any], list[Path]]] = {
    "flow": (yaml_of, [*Path(flows.__path__[0]).glob("*.yaml"), TEMPLATES / "my_flow.yaml"]),
    "story": (
        yaml_of,
        [*Path(flows.__path__[0]).glob("tests/*.yaml"), TEMPLATES / "my_flow_story.yaml"],
    ),
    "skill": (head_of, [*Path(skills.__path__[0]).glob("*/SKILL.md"), TEMPLATES / "SKILL.md"]),
    "directory": (yaml_of, [SAMPLE]),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param(name, path, id=f"{name} {path.stem}")
        for name, (_, paths) in SHIPPED.items()
        for path in paths
    ],
)
def test_nothing_is_said_against_what_ships(name: str, path: Path) -> None:
    assert problems(name, SHIPPED[name][0](path)) == []


@pytest.mark.parametrize(
    "path",
    [p for name in ("flow", "story", "directory") for p in SHIPPED[name][1]],
    ids=lambda path: path.name,
)
def test_what_ships_names_its_schema_where_an_editor_finds_it_offline(path: Path) -> None:
    first = path.read_text()[:200]
    named = re.search(r'(?:\$schema=|"\$schema": ")([^"\n]+)', first)
    assert named is not None
    found = (path.parent / named[1]).resolve()
    assert found.is_file()
    assert found.parent == FOLDER.resolve()


def flow(old: str, new: str) -> str:
    assert old in FLOW, old
    return FLOW.replace(old, new, 1)


FLOWS = {
    "a key that nobody knows": flow("version: 1", "version: 1\nversoin: 2"),
    "a misspelt key of a state": flow("forget: [city]", "forgot: [city]"),
    "a misspelt key of a slot": flow("lookup:", "look_up:"),
    "a type that there isn't": flow("type: text, ask", "type: string, ask"),
    "one language": flow(f"title: {WORD}", 'title: {zh: "好"}'),
    "a title that is a text": flow(f"title: {WORD}", "title: trip"),
    "no description": flow(f"description: {WORD}\n", ""),
    "no states": FLOW.partition("states:")[0],
    "a state that does two things": flow("{say", "{collect: [city], say"),
    "a state that does nothing": flow("{wait: {until:", "{with: {until:"),
    "an end that there isn't": flow("end: completed", "end: done"),
    "a choice without choices": flow("{type: text, required: false}", "{type: choice}"),
    "choices of a date": flow("type: choice", "type: date"),
    "a duration in words": flow("P14D", "two weeks"),
    "a version that is zero": flow("version: 1", "version: 0"),
    "a version that is a text": flow("version: 1", "version: one"),
    "a list where a mapping belongs": flow("states:\n", "states: []\nother:\n"),
    "patterns that are a mapping": flow("unless: ['no trip']", "unless: {a: b}"),
    "a slot's name with a space": flow("  note: {", '  "my note": {'),
    "a name in capitals": flow("flow: trip", "flow: TRIP"),
    "a list of fewer than none": flow("type: list\n", "type: list\n    min: -1\n"),
    "a word in small letters": flow("WAY:", "way:"),
    "a guard that there isn't": flow("unless:", "without: [everything]\n  unless:"),
}


def test_sound_flows_and_stories_are_sound_for_the_schema_too() -> None:
    page = (ROOT / "docs" / "flows.md").read_text()
    written = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    whole = [text for text in written if text.startswith("flow: ")]
    stories = [text for text in written if text.startswith("- story: ")]
    assert len(whole) > 1
    assert stories
    for name, texts in (("flow", [FLOW, *whole]), ("story", stories)):
        for text in texts:
            assert problems(name, read_yaml(text).data) == []


STORY = "- story: a\n  steps: [{user: hello}]\n"
STORIES = {
    "nothing": "",
    "a text": "hello",
    "no steps": "- story: a\n",
    "steps that are none": STORY.replace("[{user: hello}]", "[]"),
    "a key that nobody knows": STORY + "  usr: bob\n",
    "a language that there isn't": STORY + "  locale: fr\n",
    **{
        what: STORY.replace("user: hello", step)
        for what, step in {
            "a step that nobody knows": "usr: hello",
            "a step that is two": "user: hello, bot: hello",
            "what stands beside another step": "user: hello, times: 2",
            "a time that isn't": "after: soon",
            "a number of times below none": "tool: make_badge, times: -1",
            "a status that there isn't": "expect: {status: over}",
            "a decision that there isn't": "approver: {bob: agree}",
            "a way to fail that there isn't": "tool_fails: {make_badge: x}",
            "a nudge that isn't": "nudge: false",
        }.items()
    },
}


SKILL = "name: a\ndescription: d\n"
SKILLS = {
    "no name": "description: d\n",
    "capitals": SKILL.replace("name: a", "name: A"),
    "underscores": SKILL.replace("name: a", "name: a_b"),
    "a long name": SKILL.replace("name: a", f"name: {'a' * 65}"),
    "no description": "name: a\n",
    "a long description": SKILL.replace("d\n", f"{'d' * 1025}\n"),
    "a description that is blank": SKILL.replace(": d", ': " "'),
    "a key of ours that there isn't": f"{SKILL}metadata: {{router.max-turn: 3}}\n",
    "a mode that there isn't": f"{SKILL}metadata: {{router.mode: fast}}\n",
    "turns that are no number": f"{SKILL}metadata: {{router.max-turns: many}}\n",
    "a role that is a list": f"{SKILL}metadata: {{router.roles: [hr]}}\n",
}


PEOPLE = {
    "nobody": "users: []",
    "something else": "people: [{id: ann, name: Ann}]",
    "no name": "users: [{id: ann}]",
    "an id that is a number": "users: [{id: 42, name: Ann}]",
    "an id with a space": "users: [{id: a b, name: Ann}]",
    "a key that nobody knows": "users: [{id: ann, name: Ann, boss: bob}]",
    "a language that there isn't": "users: [{id: ann, name: Ann, locale: fr}]",
    "roles that are a text": "users: [{id: ann, name: Ann, roles: hr}]",
    "hours in words": "users: [{id: ann, name: Ann, hours: [mornings]}]",
    "an absence without an end": (
        "users: [{id: ann, name: Ann, delegate: ann, away: [{from: 2026-01-01}]}]"
    ),
}


def load_stories(file: Path) -> None:
    assert read_stories(file.read_text())[1] == []


WRONG: Mapping[str, tuple[str, Callable[[Path], object], Mapping[str, Any]]] = {
    "flow": ("trip.yaml", load_flow, FLOWS),
    "story": ("s.yaml", load_stories, STORIES),
    "skill": ("a/SKILL.md", lambda file: read_skill(file.parent), SKILLS),
    "directory": ("people.yaml", FileDirectory.load, PEOPLE),
}
"""By schema: a file's name, what loads it, and what is wrong with which content."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, _, cases) in WRONG.items() for case in cases]
)
def test_a_file_of_the_wrong_shape_is_refused_by_schema_and_loader(
    name: str, case: str, elsewhere: Path
) -> None:
    file, load, cases = WRONG[name]
    content = cases[case]
    text = content if isinstance(content, str) else json.dumps(content)
    assert problems(name, read_yaml(text).data)
    (elsewhere / file).parent.mkdir(exist_ok=True)
    (elsewhere / file).write_text(f"---\n{text}---\nDo it.\n" if name == "skill" else text)
    with pytest.raises((DefinitionError, AssertionError)):
        load(elsewhere / file)


def test_one_is_printed_and_all_are_copied_and_again(run: Run, elsewhere: Path) -> None:
    assert run.json("schema", "flow")["title"] == "A flow of intent-router"
    for _ in range(2):
        run.printed("schema", "--write", ".schemas")
    copies = {path.name: path.read_text() for path in (elsewhere / ".schemas").iterdir()}
    assert copies == {f"{name}.json": text_of(name) for name in schema_files()}


def test_what_is_no_schema_is_not_written_over(run: Run, elsewhere: Path) -> None:
    (elsewhere / "flow.json").write_text("mine")
    told = run.refused("schema", "--write", ".")
    assert told == "error: flow.json is there and no schema: name another folder for --write"
    assert [path.name for path in elsewhere.iterdir()] == ["flow.json"]


@pytest.mark.parametrize("words", ["", "flows", "flow --write x"])
def test_what_names_no_schema_is_a_usage_error(run: Run, words: str) -> None:
    outcome = run("schema", *words.split())
    assert (outcome.status, outcome.out) == (2, "")
    assert "directory" in outcome.err
