"""Every process of the gallery: sound, in both languages, in nobody's way, and on a page."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from router.directory.file import FileDirectory
from router.domain.locale import Locale
from router.drawing import graph_of, svg_of
from router.entities.normalisation import normalise
from router.extensions.http.declarations import load_http_tools
from router.extensions.http.settings import HttpSettings
from router.flow.definition import FlowDefinition
from router.flow.gallery import Gallery, GalleryFlow
from router.flow.loader import FlowFile, examine_all, load_flows
from router.formats.yaml_document import read_yaml
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.runtime.definitions import load_registry, vocabulary
from router.settings import Settings
from router.understanding.triggers.patterns import PatternIndex, rivalries
from tests.table import each_row
from tests.unit.understanding.flows import EMPLOYEE, SHIPPED

DOCS = Path(__file__).parents[3] / "docs"
HELD_OUT = Path(__file__).parents[1] / "understanding" / "data" / "gallery"
UNSEEN = HELD_OUT.with_name("gallery_unseen.jsonl")
STRANGERS = Path(__file__).parents[3] / "bench" / "requests.jsonl"
GALLERY = SHIPPED / "gallery"
OFFICE = "http://127.0.0.1:8070"
ALL = list(Gallery())
NAMES = [one.name for one in ALL]
FLOOR = 0.85
"""Of the requests held out that mean a process, how many start it by rules alone."""


@pytest.fixture(scope="module")
def files() -> dict[str, FlowFile]:
    """Each flow file as `flows validate` reads it, with the tools that it calls declared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROUTER_TOOL_OFFICE_URL", OFFICE)
        tools = GALLERY / "tools"
        loaded = Settings.load(flows=GALLERY).having(HttpSettings(tools=tools, allow=[OFFICE]))
        known = vocabulary(load_registry(loaded))
    found, problems = examine_all([GALLERY], known)
    assert problems == []
    return {file.definition.flow: file for file in found}


@cache
def everyone() -> PatternIndex:
    return PatternIndex(every_flow())


@cache
def every_flow() -> tuple[FlowDefinition, ...]:
    return (*load_flows(SHIPPED), *(one.definition for one in ALL))


def started(text: str) -> set[str]:
    found = everyone().find(normalise(text), EMPLOYEE)
    return {match.hit.flow for match in found if match.hit.blocked_by is None}


def held_out(name: str) -> list[tuple[str, str]]:
    rows = (json.loads(line) for line in (HELD_OUT / f"{name}.jsonl").open(encoding="utf-8"))
    return [(row["text"], row["label"]) for row in rows]


def worded(data: Any) -> Iterator[tuple[str, str]]:
    """Every text of a file that is there in both languages."""
    if isinstance(data, dict) and data.keys() == {"zh", "en"}:
        yield str(data["zh"]), str(data["en"])
    elif isinstance(data, dict):
        for value in data.values():
            yield from worded(value)
    elif isinstance(data, list):
        for value in data:
            yield from worded(value)


def has_han(text: str) -> bool:
    return any("\u4e00" <= char <= "\u9fff" for char in text)


@pytest.mark.slow
@each_row("name", NAMES)
def test_a_process_is_sound_and_nothing_is_to_be_remarked(
    files: dict[str, FlowFile], name: str
) -> None:
    people = FileDirectory.load(GALLERY / "directory" / "sample.yaml")
    roles = {role for person in people.everyone() for role in person.roles}
    assert files[name].problems == ()
    assert files[name].remarks(roles) == []


@pytest.mark.slow
@each_row("name", NAMES)
def test_a_process_speaks_both_languages(name: str) -> None:
    one = Gallery().find(name)
    texts = list(worded(read_yaml(one.text).data))
    assert len(texts) > 10
    for zh, en in texts:
        assert has_han(zh), zh
        assert en.strip(), zh
        assert not has_han(en), en
    languages = {has_han(example) for example in one.definition.triggers.examples}
    assert languages == {True, False}


@pytest.mark.slow
@each_row("name", NAMES)
def test_its_tools_are_declared_beside_it_for_flows_alone(name: str) -> None:
    one = Gallery().find(name)
    file = one.path.parent / "tools" / f"{name}.json"
    sender = Sender(OutboundGuard([OFFICE]))
    declared = load_http_tools(file, {"ROUTER_TOOL_OFFICE_URL": OFFICE}, sender).tools
    assert {tool.name for tool in declared} == called(one.definition)
    for tool in declared:
        assert set(tool.roles) == {"flow"}, tool.name
        assert has_han(tool.title.zh), tool.name
        assert tool.idempotent or not tool.writes, tool.name


def called(flow: FlowDefinition) -> set[str]:
    return {name for state in flow.states.values() for name in state.tools.values()}


@each_row("name", NAMES)
def test_its_approvals_remind_and_end_and_what_it_did_can_be_taken_back(name: str) -> None:
    flow = Gallery().find(name).definition
    asked = [state.asks for state in flow.states.values() if state.asks]
    for ask in asked:
        assert ask.remind_every, name
        assert ask.expire_after, name
        assert ask.otherwise, name
    assert any(state.undoes for state in flow.states.values())


@pytest.mark.slow
def test_no_example_is_another_flows() -> None:
    told = [f"{one.flow}: {one}" for one in rivalries(every_flow())]
    assert told == []


@pytest.mark.slow
@each_row("name", NAMES)
def test_requests_held_out_start_their_own_flow_and_no_other(name: str) -> None:
    """Where a sentence steals, mend the patterns by sentences of your own, not by this one."""
    outcomes = [(text, label, started(text)) for text, label in held_out(name)]
    stolen = [one for one in outcomes if one[2] - {one[1]}]
    assert stolen == []
    own = [one for one in outcomes if one[1] == name]
    assert len(own) >= 40
    assert len(outcomes) - len(own) >= 20
    missed = [text for text, _, got in own if not got]
    assert len(missed) <= (1 - FLOOR) * len(own), missed


def test_sentences_that_came_after_the_patterns_start_what_they_should() -> None:
    """Where this fails, don't look at its file: collect other sentences, and mend by those."""
    rows = map(json.loads, UNSEEN.read_text(encoding="utf-8").splitlines())
    outcomes = [(row["label"], started(row["text"])) for row in rows]
    assert [one for one in outcomes if one[0] == "none" and one[1]] == []
    begun = [(label, flow) for label, flows in outcomes for flow in flows]
    wanted = [flows == {label} for label, flows in outcomes if label != "none"]
    assert sum(label == flow for label, flow in begun) >= 0.98 * len(begun)
    assert sum(wanted) >= 0.75 * len(wanted)


@pytest.mark.slow
def test_what_strangers_asked_of_the_flows_that_ship_starts_no_process_as_well() -> None:
    rows = map(json.loads, STRANGERS.read_text(encoding="utf-8").splitlines())
    shipped = {flow.flow for flow in load_flows(SHIPPED)}
    asked = [(row["text"], row["label"]) for row in rows if row.get("label") in shipped]
    assert len(asked) > 500
    assert [one for one in asked if started(one[0]) & set(NAMES)] == []


def test_every_process_has_requests_held_out() -> None:
    assert sorted(path.stem for path in HELD_OUT.glob("*.jsonl")) == NAMES


@pytest.mark.slow
@each_row("one", ALL, ids=NAMES)
def test_a_process_is_on_a_page_with_its_picture_as_it_is(one: GalleryFlow) -> None:
    page = (DOCS / "gallery" / f"{one.name}.md").read_text(encoding="utf-8")
    assert f"../images/gallery/{one.name}.svg" in page
    for role in sorted(told_roles(one.definition)):
        assert f"`{role}`" in page, "the page doesn't say who holds it"
    index = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")
    assert f"({one.name}.md)" in index
    picture = DOCS / "images" / "gallery" / f"{one.name}.svg"
    locale: Locale = "en"
    assert picture.read_text(encoding="utf-8") == svg_of(graph_of(one.definition, locale)), (
        f"intent-router flows graph {one.path} --format svg --locale en > {picture}"
    )


def told_roles(flow: FlowDefinition) -> set[str]:
    """The roles that a process asks, or hears events from."""
    asked = set(re.findall(r"role\('(\w+)'\)", flow.model_dump_json()))
    waits = [state.awaits for state in flow.states.values() if state.awaits]
    return asked.union(*(wait.roles for wait in waits))
