"""A flow as BPMN: whole, and drawn."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from router.drawing import bpmn_of
from router.flow.loader import examine_text, load_flow
from tests.table import each_row

FLOWS = Path(__file__).parents[3] / "flows"
SHIPPED = sorted([*FLOWS.glob("*.yaml"), *FLOWS.glob("gallery/*.yaml")])
MODEL = "{http://www.omg.org/spec/BPMN/20100524/MODEL}"
DI = "{http://www.omg.org/spec/BPMN/20100524/DI}"


@pytest.mark.slow
@each_row("file", SHIPPED, ids=lambda file: file.stem)
def test_everything_has_an_id_of_its_own_a_place_and_ends_that_are_there(file: Path) -> None:
    root = ET.fromstring(bpmn_of(load_flow(file), "zh"))

    ids = [each.attrib["id"] for each in root.iter() if "id" in each.attrib]
    process = root.find(f"{MODEL}process")
    assert process is not None
    parts = {each.attrib["id"] for each in process if "id" in each.attrib}
    drawn = [each.attrib["bpmnElement"] for each in root.iter() if "bpmnElement" in each.attrib]
    assert sorted(drawn) == sorted([*parts, process.attrib["id"]])
    model = [each for each in root.iter() if each.tag.startswith(MODEL) and "id" in each.attrib]
    own = [each.attrib["id"] for each in model]
    assert len(own) == len(set(own))
    assert len(ids) > len(own)
    for way in process.iter(f"{MODEL}sequenceFlow"):
        assert {way.attrib["sourceRef"], way.attrib["targetRef"]} <= parts


def test_states_that_overlap_would_be_drawn_over_each_other_and_none_do() -> None:
    root = ET.fromstring(bpmn_of(load_flow(FLOWS / "leave_request.yaml"), "en"))
    bounds = []
    for shape in root.iter(f"{DI}BPMNShape"):
        if "." in shape.attrib["bpmnElement"]:
            continue
        (box,) = shape
        x, y, wide, high = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
        bounds.append((x, y, x + wide, y + high))

    for number, one in enumerate(bounds):
        for other in bounds[number + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]


def test_names_are_in_the_language_that_was_asked_for() -> None:
    flow = load_flow(FLOWS / "leave_request.yaml")

    assert "经理审批" in bpmn_of(flow, "zh")
    assert "Manager decides" in bpmn_of(flow, "en")


def test_a_draft_with_ways_to_nowhere_and_odd_characters_is_well_formed_all_the_same() -> None:
    text = (
        "flow: odd\ntitle: {zh: a, en: a}\ndescription: {zh: a, en: a}\nstart: gone\n"
        'states:\n  one:\n    name: {zh: "<&\\u0007", en: "<&\\u0007"}\n'
        "    say: {zh: a, en: a}\n    next: [{if: '1 < 2 && true', to: nowhere}, {to: two}]\n"
        "  two: {end: completed}\n"
    )
    flow = examine_text(Path("odd.yaml"), text).definition

    root = ET.fromstring(bpmn_of(flow, "en"))

    assert [way.attrib["targetRef"] for way in root.iter(f"{MODEL}sequenceFlow")] == ["two"]
