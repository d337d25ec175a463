"""The Python client against the whole house, as another program uses it."""

from contextlib import aclosing
from pathlib import Path

import pytest

from router.client import AsyncClient, Client, Refused, Retries, Unavailable
from router.domain.messages import ConfirmAction, ConfirmReply
from tests.e2e.house import House
from tests.ports import free_ports
from tests.raw_pdf import page_of

pytestmark = pytest.mark.xdist_group("dev")


@pytest.mark.slow
def test_a_request_is_made_approved_and_read_without_a_word_of_http(house: House) -> None:
    with Client(house.url, "alice") as alice, Client(house.url, "bob") as bob:
        conversation = alice.begin(locale="en")
        turn = alice.send(conversation.id, "annual leave, please, from 2027-03-01 to 2027-03-02")
        turn = alice.send(conversation.id, "a family matter")
        (reply,) = [each for each in turn.replies if isinstance(each, ConfirmReply)]
        yes = ConfirmAction(type="confirm", value=True, question=reply.question)
        turn = alice.send(conversation.id, yes)
        assert turn.flow is not None
        (waiting,) = (each for each in bob.approvals() if each.flow_run == turn.flow.id)

        decided = bob.decide(waiting, "approve")

        assert decided.flow_run.id == turn.flow.id
        for event in alice.follow(conversation.id, after="0"):
            if event.name == "flow" and event.data["status"] == "completed":
                break
        assert alice.flow_run(turn.flow.id).status == "completed"
        assert turn.flow.id in [run.id for run in alice.flow_runs(status="completed")]
        said = [item.text for item in alice.transcript(conversation.id) if item.role == "user"]
        assert "a family matter" in said


@pytest.mark.slow
def test_the_same_message_is_answered_once_however_often_it_is_sent(house: House) -> None:
    with Client(house.url, "alice") as alice:
        conversation = alice.begin()

        first = alice.send(conversation.id, "你好", message_id="once")
        second = alice.send(conversation.id, "你好", message_id="once")

        assert first == second
        assert alice.conversation(conversation.id).turns == 1


async def test_a_turn_is_followed_as_it_happens(house: House) -> None:
    async with AsyncClient(house.url, "frank") as frank:
        conversation = await frank.begin()

        async with aclosing(frank.stream(conversation.id, "我要请假")) as events:
            told = [event async for event in events]

        assert told[-1].name == "turn"
        assert told[-1].data["route"]["target"] == "leave_request"
        named = [each.name async for each in frank.capabilities() if each.kind == "flow"]
        assert "leave_request" in named
        assert (await frank.explain("我要请假")).decision["target"] == "leave_request"


async def test_what_has_happened_is_followed_from_its_first_event_and_from_behind_any(
    house: House,
) -> None:
    async with AsyncClient(house.url, "frank") as frank:
        conversation = await frank.begin()
        await frank.send(conversation.id, "你好")
        async with aclosing(frank.follow(conversation.id, after="0")) as events:
            first = await anext(events)
            second = await anext(events)
        assert first.id is not None

        async with aclosing(frank.follow(conversation.id, after=first.id)) as events:
            assert (await anext(events)).id == second.id

        await frank.forget(conversation.id)
        with pytest.raises(Refused):
            await frank.conversation(conversation.id)


async def test_a_file_is_handed_in_and_read(house: House, tmp_path: Path) -> None:
    async with AsyncClient(house.url, "frank") as frank:
        path = tmp_path / "note.pdf"
        path.write_bytes(page_of())

        file = await frank.upload(path)

        assert file.name == "note.pdf"
        assert (await frank.document(file.id)).status in {"read", "unreadable"}


def test_what_is_not_ones_own_is_refused_with_its_status(house: House) -> None:
    with Client(house.url, "alice") as alice, Client(house.url, "frank") as frank:
        conversation = alice.begin()

        with pytest.raises(Refused) as raised:
            frank.send(conversation.id, "hello")

        assert raised.value.status == 404


def test_where_nobody_answers_it_says_where_it_asked() -> None:
    (port,) = free_ports(1)
    quick = Retries(1, first=0.01)

    with (
        Client(f"http://127.0.0.1:{port}", "alice", retries=quick) as nobody,
        pytest.raises(Unavailable, match=f"127.0.0.1:{port}"),
    ):
        nobody.begin()
