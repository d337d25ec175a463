"""What a turn costs Temporal, without a model: activities that it writes down, and local ones."""

from collections import Counter

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from router.contracts.activities import TellAnswer
from router.contracts.conversation_state import ConversationState, Transcript
from router.runtime.composition import Parts
from tests.workflow.desk import Talk, person

SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
LOCAL = EventType.EVENT_TYPE_MARKER_RECORDED


async def spent(talk: Talk) -> tuple[int, int]:
    """How many activities the conversation has scheduled, and how many local ones it ran."""
    events = Counter([event.event_type async for event in talk.handle.fetch_history_events()])
    return events[SCHEDULED], events[LOCAL]


async def test_what_a_tool_found_is_said_with_no_activity_beside_the_tools_own(talk: Talk) -> None:
    turn = await talk.say("我的申请到哪一步了")
    assert [call.name for call in turn.tool_calls] == ["get_my_requests"]
    assert (await spent(talk))[0] == 1


async def test_only_a_clients_own_id_is_looked_for_in_the_log(client: Client, parts: Parts) -> None:
    alice = await person(parts, "alice")
    long_ago = ConversationState(transcript=Transcript(has_older=True))
    took = []
    for fresh in (True, False):
        talk = await Talk(client, parts, alice, state=long_ago).open()
        await talk.say("你好", fresh=fresh)
        took.append(await spent(talk))
    assert took == [(0, 2), (0, 3)]


async def test_a_run_sends_the_definitions_of_its_slots_once(talk: Talk) -> None:
    for text in ("我要请假", "年假", "12月7日", "12月8日"):
        await talk.say(text)
    answers = [
        TellAnswer.model_validate_json(payload.data).answer
        async for event in talk.handle.fetch_history_events()
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
        for payload in event.activity_task_completed_event_attributes.result.payloads
    ]
    sent = [sorted(answer.fillable) for answer in answers if answer is not None]
    assert len(sent) == 4
    assert "reason" in sent[0]
    assert sent[1:] == [[], [], []]
