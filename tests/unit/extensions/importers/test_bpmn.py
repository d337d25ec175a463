"""A process in BPMN becomes a draft: what maps is mapped, and everything else is told."""

from pathlib import Path
from typing import Any

import pytest

from router.domain.errors import InvalidInput
from router.extensions.importers.beginning import Beginning, BeginningContext
from router.extensions.importers.bpmn_flow import beginning_of_bpmn
from router.extensions.importers.conditions import Untranslated, compared, translated
from router.flow.loader import FlowFile, Vocabulary, examine_text
from tests.table import each_row

HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" '
    'xmlns:camunda="http://camunda.org/schema/1.0/bpmn">'
)


def bpmn(inner: str, flows: str = "", around: str = "") -> bytes:
    """A file with one process; `flows` is `start>task task>end:condition`, a way each."""
    ways = ""
    for number, way in enumerate(flows.split()):
        ends, _, condition = way.partition(":")
        source, _, target = ends.partition(">")
        said = f"<conditionExpression>{condition}</conditionExpression>" if condition else ""
        ways += (
            f'<sequenceFlow id="f{number}" sourceRef="{source}" targetRef="{target}">{said}'
            "</sequenceFlow>"
        )
    process = f'<process id="p" name="Order paper">{inner}{ways}</process>'
    return f"{HEAD}{around}{process}</definitions>".encode()


START, END = '<startEvent id="s"/>', '<endEvent id="e"/>'
APPROVE = '<userTask id="a" name="Approve it" camunda:candidateGroups="finance"/>'
FORM = """<userTask id="t" name="Fill in"><extensionElements><camunda:formData>
<camunda:formField id="kind" label="Kind" type="enum"><camunda:value id="a4" name="A4"/>
<camunda:value id="a3" name="A3"/></camunda:formField>
<camunda:formField id="netAmount" label="Amount" type="long"/>
<camunda:formField id="urgent" label="Urgent" type="boolean"/>
</camunda:formData></extensionElements></userTask>"""


def loaded(beginning: Beginning, known: Vocabulary | None = None) -> FlowFile:
    return examine_text(Path(f"{beginning.flow}.yaml"), beginning.text, known)


def states_of(content: bytes) -> dict[str, Any]:
    states: dict[str, Any] = loaded(beginning_of_bpmn(content)).document.data["states"]
    return states


def test_form_fields_become_slots_with_types_and_choices() -> None:
    made = beginning_of_bpmn(bpmn(START + FORM + END, "s>t t>e"))

    slots = loaded(made).definition.slots
    assert {name: slot.type for name, slot in slots.items()} == {
        "kind": "choice",
        "net_amount": "integer",
        "urgent": "boolean",
    }
    assert list(slots["kind"].choices) == ["a4", "a3"]


def test_a_task_of_a_group_that_approves_asks_the_role_and_goes_by_the_gateway_after_it() -> None:
    inner = START + APPROVE + '<exclusiveGateway id="g"/><userTask id="r" name="Revise"/>' + END
    flows = "s>a a>g g>e:${approved} g>r:${!approved} r>a"

    state = states_of(bpmn(inner, flows))["approve_it"]

    assert state["approve"]["by"] == "role('finance')"
    assert (state["approved"], state["rejected"]) == ("done", "revise")


def test_an_approval_that_nobody_may_refuse_in_the_file_is_asked_about() -> None:
    made = beginning_of_bpmn(bpmn(START + APPROVE + END, "s>a a>e"))

    asked = [each for each in made.questions if each.place == ("states", "approve_it", "rejected")]
    assert "refused" in asked[0].what.en
    assert loaded(made).definition.states["refused"].ends == "rejected"


def test_conditions_that_are_sure_are_translated_and_two_opposite_ones_need_no_third_way() -> None:
    inner = START + FORM + '<exclusiveGateway id="g" default="f3"/>' + END
    inner += '<endEvent id="big" name="Big"/>'

    state = states_of(bpmn(inner, "s>t t>g g>big:${netAmount&gt;100} g>e"))["fill_in"]

    assert state["next"][0] == {"if": "slots.net_amount > 100", "to": "big"}
    assert state["next"][-1] == {"to": "done"}


def test_a_condition_that_nobody_understands_is_a_question_and_a_problem_at_its_place() -> None:
    inner = START + FORM + '<exclusiveGateway id="g" default="f3"/>' + END
    inner += '<endEvent id="big" name="Big"/>'
    made = beginning_of_bpmn(bpmn(inner, "s>t t>g g>big:${rules.apply(execution)} g>e"))

    problems = loaded(made).problems
    places = [each.place for each in made.questions]
    assert [each.place for each in problems] == [("states", "fill_in", "next", 0, "if")]
    assert ("states", "fill_in", "next") in places


def test_branches_of_a_parallel_gateway_join_where_it_joins() -> None:
    inner = START + END + '<parallelGateway id="fork"/><parallelGateway id="join"/>'
    inner += '<serviceTask id="x" name="Pack"/><serviceTask id="y" name="Bill"/>'
    inner += '<serviceTask id="z" name="Ship"/>'

    states = states_of(bpmn(inner, "s>fork fork>x fork>y x>join y>join join>z z>e"))

    (fork,) = (state for state in states.values() if "parallel" in state)
    assert (fork["parallel"], fork["join"]) == (["pack", "bill"], "ship")


def test_branches_that_end_apart_join_at_one_end_which_is_told() -> None:
    inner = START + '<parallelGateway id="fork"/><serviceTask id="x" name="Pack"/>'
    inner += '<serviceTask id="y" name="Bill"/>' + END + '<endEvent id="e2"/>'
    made = beginning_of_bpmn(bpmn(inner, "s>fork fork>x fork>y x>e y>e2"))

    assert not loaded(made).problems
    assert [each.where for each in made.unmapped] == ["fork"]


TIMER = "<timerEventDefinition><timeDuration>{}</timeDuration></timerEventDefinition>"


def test_timers_remind_expire_and_wait() -> None:
    inner = START + APPROVE + END + '<endEvent id="late" name="Too late"/>'
    inner += f'<boundaryEvent id="b" attachedToRef="a">{TIMER.format("P14D")}</boundaryEvent>'
    inner += (
        '<boundaryEvent id="n" attachedToRef="a" cancelActivity="false"><timerEventDefinition>'
        "<timeCycle>R/PT24H</timeCycle></timerEventDefinition></boundaryEvent>"
    )
    inner += f'<intermediateCatchEvent id="w" name="Cool off">{TIMER.format("PT2H")}'
    inner += '</intermediateCatchEvent><sendTask id="m" name="Mail them"/>'
    made = beginning_of_bpmn(bpmn(inner, "s>a a>w w>e b>late n>m m>e"))

    states = loaded(made).document.data["states"]
    approve = states["approve_it"]
    assert approve["approve"]["expire_after"] == "P14D"
    assert approve["approve"]["remind_every"] == "PT24H"
    assert approve["expired"] == "too_late"
    assert states["cool_off"]["wait"] == {"for": "PT2H"}
    assert [each.where for each in made.unmapped] == ["Mail them (m)"]


def test_messages_are_events_and_of_a_race_the_timer_is_its_latest() -> None:
    inner = START + END + '<eventBasedGateway id="g" name="Answer"/><endEvent id="l" name="Late"/>'
    inner += (
        '<intermediateCatchEvent id="m"><messageEventDefinition messageRef="paid"/>'
        f'</intermediateCatchEvent><intermediateCatchEvent id="w">{TIMER.format("P3D")}'
        "</intermediateCatchEvent>"
    )
    around = '<message id="paid" name="Payment received"/>'

    state = states_of(bpmn(inner, "s>g g>m g>w m>e w>l", around))["answer"]

    assert state["wait"]["event"] == "payment_received"
    assert (state["wait"]["for"], state["late"]) == ("P3D", "late")


def test_a_called_process_is_a_flow_and_an_error_on_its_boundary_the_other_way_out() -> None:
    inner = START + END + '<callActivity id="c" name="Check stock" calledElement="stock-check"/>'
    inner += '<boundaryEvent id="b" attachedToRef="c"><errorEventDefinition/></boundaryEvent>'
    inner += '<endEvent id="f" name="Failed"><errorEventDefinition/></endEvent>'

    states = states_of(bpmn(inner, "s>c c>e b>f"))

    assert states["check_stock"]["flow"] == "stock_check"
    assert states["check_stock"]["otherwise"] == "failed"
    assert states["failed"]["end"] == "failed"


def test_a_sub_process_is_taken_apart() -> None:
    inner = START + END + '<subProcess id="sub" name="Do it"><startEvent id="s1"/>'
    inner += '<serviceTask id="x" name="Pack"/><endEvent id="e1"/>'
    inner += '<sequenceFlow id="i1" sourceRef="s1" targetRef="x"/>'
    inner += '<sequenceFlow id="i2" sourceRef="x" targetRef="e1"/></subProcess>'
    inner += '<serviceTask id="y" name="Bill"/>'

    states = states_of(bpmn(inner, "s>sub sub>y y>e"))

    assert list(states) == ["pack", "bill", "done"]
    assert states["pack"]["next"] == "bill"


@each_row(
    ("inner", "where", "said"),
    [
        (
            '<serviceTask id="x" name="Pack"><multiInstanceLoopCharacteristics/></serviceTask>',
            "Pack (x)",
            "multi-instance",
        ),
        (
            '<serviceTask id="x" name="Pack"><standardLoopCharacteristics/></serviceTask>',
            "Pack (x)",
            "loop",
        ),
        (
            '<serviceTask id="x"/><dataStoreReference id="d" name="Ledger"/>',
            "Ledger (d)",
            "data store",
        ),
        (
            '<serviceTask id="x"/><subProcess id="v" name="On cancel" triggeredByEvent="true"/>',
            "On cancel (v)",
            "event sub-process",
        ),
        ('<serviceTask id="x"/><serviceTask id="alone"/>', "alone", "left out"),
        (
            (
                '<serviceTask id="x"/><boundaryEvent id="b" attachedToRef="x">'
                "<compensateEventDefinition/></boundaryEvent>"
            ),
            "b",
            "compensate",
        ),
    ],
)
def test_what_has_no_place_is_named_in_both_languages(inner: str, where: str, said: str) -> None:
    made = beginning_of_bpmn(bpmn(START + inner + END, "s>x x>e"))

    (told,) = [each for each in made.unmapped if each.where == where]
    assert said in told.what.en
    assert not told.what.zh.isascii()


def test_a_tool_that_nobody_has_is_the_problem_that_its_question_is_about() -> None:
    known = Vocabulary.of(tools={"order_paper": frozenset()})
    content = bpmn(START + '<serviceTask id="x" name="Pack"/>' + END, "s>x x>e")
    made = beginning_of_bpmn(content, BeginningContext(known))

    assert [each.place for each in loaded(made, known).problems] == [("states", "pack", "call")]
    assert ("states", "pack", "call") in [each.place for each in made.questions]


def test_a_file_in_chinese_keeps_its_words() -> None:
    inner = START + '<userTask id="Activity_0x8f2k1" name="部门经理审批"/>' + END
    content = bpmn(inner, "s>Activity_0x8f2k1 Activity_0x8f2k1>e").replace(
        b"Order paper", "领用申请".encode()
    )

    flow = loaded(beginning_of_bpmn(content)).definition

    assert flow.title.zh == "领用申请"
    assert flow.states[flow.start].asks is not None
    assert flow.states[flow.start].name is not None


ODD = {
    "no start event": bpmn('<serviceTask id="x"/>' + END, "x>e"),
    "nothing leads on": bpmn('<serviceTask id="x"/>'),
    "a cycle of gateways": bpmn(
        START + '<exclusiveGateway id="g"/><exclusiveGateway id="h"/>', "s>g g>h h>g"
    ),
    "a cycle without an end": bpmn(START + '<serviceTask id="x"/>', "s>x x>x"),
    "ways to nowhere": bpmn(START + END, "s>e s>gone"),
    "a fork at once": bpmn(
        START + '<task id="x"/><task id="y"/><exclusiveGateway id="g"/>' + END,
        "s>g g>x:${a} g>y:${b} x>e y>e",
    ),
    "a task that forks": bpmn(
        START + '<task id="x"/><task id="y"/><task id="z"/>' + END, "s>x x>y x>z y>e z>e"
    ),
    "a boundary without a task": bpmn(START + '<boundaryEvent id="b"/>' + END, "s>e b>e"),
    "an empty sub-process": bpmn(START + '<subProcess id="x"/>' + END, "s>x x>e"),
    "names that would be filled in": bpmn(
        START + '<userTask id="x" name="{{ 7*7 }} {% x %}"/>' + END, "s>x x>e"
    ),
    "a ladder of gateways": bpmn(
        START
        + END
        + "".join(f'<exclusiveGateway id="{side}{n}"/>' for n in range(39) for side in "abc"),
        "s>a0 "
        + " ".join(f"a{n}>b{n}:${{x}} a{n}>c{n} b{n}>a{n + 1} c{n}>a{n + 1}" for n in range(38))
        + " a38>e",
    ),
    "a join that joins itself": HEAD.encode()
    + b'<process id="p" name="p"><startEvent id="s"/><task id="x" kind="say"/>'
    b'<parallelGateway id="y.join"/><sequenceFlow id="1" sourceRef="s" targetRef="x"/>'
    b'<sequenceFlow id="2" sourceRef="x" targetRef="y.join" exit="next"/>'
    b'<sequenceFlow id="3" sourceRef="y.join" targetRef="y.join" exit="join"/>'
    b"</process></definitions>",
    "a fork into its own join": bpmn(
        START + '<parallelGateway id="f"/><parallelGateway id="j"/><task id="x"/>' + END,
        "s>f f>j f>x x>j j>e",
    ),
}


@pytest.mark.slow
@each_row("name", ODD)
def test_whatever_is_drawn_the_draft_loads_but_for_what_a_question_is_about(name: str) -> None:
    made = beginning_of_bpmn(ODD[name])

    asked = [each.place for each in made.questions if each.place]
    for problem in loaded(made).problems:
        assert any(problem.place[: len(place)] == place for place in asked), problem


def chain(length: int) -> bytes:
    name = "Pack it all " * 9
    tasks = "".join(f'<serviceTask id="t{n}" name="{name}{n}"/>' for n in range(length))
    return bpmn(tasks, " ".join(f"t{n}>t{n + 1}" for n in range(length - 1)))


HOSTILE = {
    "no XML": (b"not xml", "damaged"),
    "another XML": (b"<html/>", "BPMN"),
    "no process": (f"{HEAD}</definitions>".encode(), "no process"),
    "an empty process": (bpmn(""), "no process"),
    "an outside entity": (
        b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + bpmn(START + "&x;"),
        "unread for safety",
    ),
    "a billion laughs": (
        b'<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><definitions>&b;</definitions>',
        "unread for safety",
    ),
    "too deep": (b"<definitions>" + b"<a>" * 500 + b"</a>" * 500 + b"</definitions>", "unpacks"),
    "too many elements": (chain(2_001), "2001 elements"),
    "too large": (b"<definitions>" + b" " * (5 * 1024 * 1024) + b"</definitions>", "5 MiB"),
    "one id twice": (bpmn(START + '<task id="s"/>'), "comes twice"),
    "no id": (bpmn("<task/>"), "empty"),
    "a flow too large": (chain(1_999), "too large"),
}


@pytest.mark.slow
@each_row("name", HOSTILE)
def test_files_that_mean_harm_are_refused_with_words(name: str) -> None:
    content, said = HOSTILE[name]

    with pytest.raises(InvalidInput) as refused:
        beginning_of_bpmn(content)

    assert said in str(refused.value)
    assert not refused.value.said.zh.isascii()


SLOTS: dict[str, dict[str, Any]] = {
    "days": {"type": "number"},
    "net_amount": {"type": "integer"},
    "urgent": {"type": "boolean"},
    "kind": {"type": "choice", "choices": {"a4": {}}},
    "note": {"type": "text"},
    "on": {"type": "date"},
}


@each_row(
    ("given", "expected"),
    [
        ("${days > 3}", "slots.days > 3.0"),
        ("= days >= 2.5 and urgent", "slots.days >= 2.5 && slots.urgent"),
        ("#{netAmount lt 100}", "slots.net_amount < 100"),
        ("${!urgent}", "!slots.urgent"),
        ("not(urgent)", "!(slots.urgent)"),
        ("${kind == 'a4' || kind eq 'a4'}", "slots.kind == 'a4' || slots.kind == 'a4'"),
        ("${kind.equals('a4')}", "slots.kind == 'a4'"),
        ('note = "x"', "slots.note == 'x'"),
        ("${urgent == true}", "(slots.urgent == true)"),
    ],
)
def test_conditions_are_translated_where_that_is_sure(given: str, expected: str) -> None:
    assert translated(given, SLOTS) == expected


@each_row(
    "given",
    [
        "",
        "${unknown}",
        "${days}",
        "${kind == 'a5'}",
        "${netAmount > 2.5}",
        "${note > 'a'}",
        "${on > '2026-01-01'}",
        "${bean.ok(execution)}",
        "${days > 3",
        "${days > }",
        "${a.days > 3}",
        "(" * 400 + "urgent",
        "urgent" + " and urgent" * 400,
        "${days > 3 ? urgent : note}",
    ],
)
def test_conditions_that_are_not_sure_are_left_alone(given: str) -> None:
    with pytest.raises(Untranslated):
        translated(given, SLOTS)


def test_what_an_approval_decides_is_told_from_either_way_of_writing_it() -> None:
    said = [compared("${approved == false}"), compared('result = "reject"'), compared("${a > 3}")]

    assert said == [("approved", False), ("result", "reject"), None]
