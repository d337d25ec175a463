from typing import Any

from router.domain.commands import StartFlow
from router.flow.definition import FlowDefinition
from router.llm.types import AssistantMessage, ChatAnswer, ChatRequest, SystemMessage, ToolMessage
from router.routing import skill_step
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import Means
from tests.table import each_row
from tests.unit.routing.samples import PROMPTS, TASK, TOOLS, WORDS, called, last_words

PROMPT = PROMPTS.of("skill", "c1", "en", "default")
FORM = FlowDefinition.model_validate(
    {
        "flow": "ask_leave",
        "title": WORDS,
        "description": WORDS,
        "slots": {"reason": {"type": "text"}},
        "start": "end",
        "states": {"end": {"end": "completed"}},
    }
)
MEANS = Means(TOOLS, {"ask_leave": FORM})
FINE = ("get_balance", {"kind": "annual"})


def asked(*dialogue: AssistantMessage | ToolMessage) -> ChatRequest:
    return skill_step.request(PROMPT, TASK, MEANS, AgentMemory(dialogue=dialogue))


def test_rules_instructions_and_functions_come_first_and_never_change_within_a_run() -> None:
    step = ToolMessage(call_id="1", name="get_balance", text="{}")
    first, later = asked(), asked(AssistantMessage(calls=called(FINE).calls), step)
    assert isinstance(first.messages[0], SystemMessage)
    assert first.messages[0].text.endswith("Advise well.")
    assert later.messages[:2] == first.messages
    assert later.functions == first.functions
    names = [function.name for function in first.functions]
    assert names == [*sorted(TOOLS), "dispatch_to_flow", "note", "ask_user", "done"]


def test_what_others_wrote_can_not_end_its_own_section() -> None:
    told = last_words(asked())
    assert (told.count("</request>"), told.count("</history>")) == (1, 1)


@each_row(
    ("answer", "text", "asks"),
    [
        (called(text="Five days."), "Five days.", False),
        (called(FINE, ("done", {"result": " Five days. "})), "Five days.", False),
        (called(FINE, ("ask_user", {"text": "Which kind?"})), "Which kind?", True),
    ],
)
def test_an_ending_ends_it_whatever_is_beside(answer: ChatAnswer, text: str, asks: bool) -> None:
    thought = skill_step.read(answer, MEANS)
    assert (thought.text, thought.asks, thought.calls) == (text, asks, ())


@each_row("how", [called(text="Five."), called(FINE, ("done", {"result": "Five."}))])
def test_an_answer_stands_in_the_dialogue_as_it_is_said(how: ChatAnswer) -> None:
    assert skill_step.read(how, MEANS).said == AssistantMessage(text="Five.")


def test_only_what_is_said_by_a_function_is_an_ending_beyond_doubt() -> None:
    assert skill_step.read(called(text="I'll look."), MEANS).plainly
    assert not skill_step.read(called(("done", {"result": "Five."})), MEANS).plainly
    refusal = called().model_copy(update={"refusal": "No."})
    assert not skill_step.read(refusal, MEANS).plainly


@each_row(
    "wrong",
    [
        ("delete_everything", {}),
        ("get_balance", {"kind": "moon"}),
        ("get_balance", {}),
        ("done", {}),
        ("done", {"result": 3}),
        ("ask_user", {"text": "  "}),
        ("note", {"key": "limit"}),
        ("note", {"key": 1, "value": "x"}),
        ("dispatch_to_flow", {"flow_name": "pay_all"}),
        ("dispatch_to_flow", {}),
    ],
)
def test_a_call_that_does_not_fit_is_answered_with_why_and_never_made(wrong: Any) -> None:
    thought = skill_step.read(called(FINE, wrong), MEANS)
    assert [call.name for call in thought.calls] == ["get_balance"]
    (refused,) = thought.refused
    assert (refused.refused, refused.text.startswith("error: ")) == (True, True)
    assert refused.call_id == thought.said.calls[1].id
    assert thought.text is None


def test_arguments_that_a_tool_does_not_have_are_left_out() -> None:
    thought = skill_step.read(called(("get_balance", {"kind": "annual", "as": "admin"})), MEANS)
    assert thought.calls[0].arguments == {"kind": "annual"}


@each_row("words", ["That couldn't be used", "Of your answer was left out", "Found out before:"])
def test_what_the_employee_says_is_theirs_however_it_begins(words: str) -> None:
    said = f"{words}: https://tickets.example"
    assert skill_step.answers(AgentMemory().hearing(said)) == [said]


def test_what_the_router_tells_the_model_is_not_said_by_the_employee() -> None:
    memory = AgentMemory().hearing("https://made-up.example", author="router").hearing("by train")
    assert skill_step.answers(memory) == ["by train"]
    aside = AgentMemory(aside="https://made-up.example").receiving([])
    assert skill_step.answers(aside) == []


def test_an_answer_without_anything_is_complained_about() -> None:
    thought = skill_step.read(called(), MEANS)
    assert thought.text is None
    assert "it called nothing and said nothing" in str(thought.complaint)


def test_a_form_is_left_for_with_what_is_known_and_nothing_is_called_beside_it() -> None:
    form = ("dispatch_to_flow", {"flow_name": "ask_leave", "slots": {"reason": "tired"}})
    thought = skill_step.read(called(FINE, form), MEANS)
    assert thought.flow == StartFlow(flow="ask_leave", slots={"reason": "tired"})
    assert thought.calls == ()
    assert [(r.call_id, r.text, r.refused) for r in thought.refused] == [
        (thought.said.calls[0].id, "skipped: one thing at a time", False)
    ]


def test_notes_are_kept_and_shown_at_every_step_from_then_on() -> None:
    thought = skill_step.read(called(("note", {"key": "limit", "value": "500"}), FINE), MEANS)
    assert (thought.notes, len(thought.calls)) == ({"limit": "500"}, 1)
    assert [result.text for result in thought.refused] == ["noted"]
    memory = AgentMemory().noting(thought.notes)
    now = last_words(skill_step.request(PROMPT, TASK, MEANS, memory))
    assert now == '<notes>\n{"limit": "500"}\n</notes>'


def test_the_last_step_has_nothing_to_call_but_an_end() -> None:
    request = skill_step.request(PROMPT, TASK, MEANS, AgentMemory(), last=True)
    assert [function.name for function in request.functions] == ["ask_user", "done"]
    assert last_words(request) == skill_step.LAST_STEP


def test_only_a_skill_that_was_answered_can_hand_a_message_back() -> None:
    asks = AssistantMessage(calls=called(("ask_user", {"text": "Which?"})).calls)
    memory = AgentMemory().saying(asks).hearing("what's for lunch?")
    request = skill_step.request(PROMPT, TASK, MEANS, memory)
    assert request.functions[-1].name == "hand_back"
    assert skill_step.read(called(("hand_back", {})), MEANS).hands_back


@each_row("name", ["get_balance", "ask_user", "done", "nothing"])
def test_an_answer_that_never_ends_is_kept_nowhere(name: str) -> None:
    thought = skill_step.read(called((name, {"text": "x" * 20_000})), MEANS)
    assert thought.complaint == (
        "That couldn't be used: 20012 characters of arguments, where 16000 are the most. Go on."
    )
    assert (thought.said, thought.calls, thought.text) == (AssistantMessage(), (), None)
