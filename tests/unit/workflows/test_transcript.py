"""What a conversation keeps of what was said: turns to be sent again, and lines for a model."""

from router.contracts.conversation_state import (
    MAX_GISTS,
    MAX_HELD_TURNS,
    MAX_HISTORY_LINES,
    MAX_KNOWN_MESSAGES,
    ConversationState,
    HeldTurn,
    Transcript,
)
from router.domain.messages import Route, TextReply, Turn
from tests.table import each_row
from workflows import carrying, transcript

FLOW = Route(kind="flow", target="leave_request", by="pattern")
REPLY = Route(kind="reply", by="llm")


def talked(*said: str, route: Route = REPLY) -> Transcript:
    spoken = Transcript()
    for text in said:
        spoken = transcript.remember(spoken, text, f"answer to {text}", [route])
    return spoken


def test_the_last_few_exchanges_are_kept_whole_and_those_before_in_short_lines() -> None:
    spoken = talked(*(f"m{n}" for n in range(20)), route=FLOW)
    whole = [line.text for line in spoken.history if line.role == "user"]
    assert whole == [f"m{n}" for n in range(14, 20)]
    assert transcript.earlier_gists(spoken) == [f"m{n} ▸ flow leave_request" for n in range(14)]
    for few in (talked("one", "two"), Transcript()):
        assert transcript.earlier_gists(few) == []


def test_however_long_a_conversation_is_the_memory_is_bounded() -> None:
    spoken = talked(*("x " * 5000 for _ in range(300)))
    assert len(spoken.history) == MAX_HISTORY_LINES
    assert len(transcript.earlier_gists(spoken)) == MAX_GISTS
    assert len(spoken.model_dump_json()) < 20_000


def test_what_is_cut_again_tells_the_length_that_it_had_at_first() -> None:
    once, chars = transcript._cut("x" * 50_000, 800)
    again = f"{'x' * 200}… (50000 characters in all)"
    assert transcript._cut(once, 200, chars) == (again, 50_000)
    assert transcript._cut(once, 800, chars) == (once, 50_000)


def test_what_a_person_says_of_a_length_is_no_length() -> None:
    said = "x" * 5_000 + "… (7 characters in all)"
    spoken = talked(said, *("y" * 5_000 for _ in range(3)))
    assert spoken.history[0].text.endswith(f"… ({len(said)} characters in all)")


def told(number: int) -> HeldTurn:
    turn = Turn(message_id=f"m{number}", turn=number, route=REPLY, replies=[TextReply(text="好的")])
    return HeldTurn(message_id=f"m{number}", digest=f"{number:016x}", turn=turn)


def after(turns: int) -> Transcript:
    spoken = Transcript()
    for number in range(turns):
        spoken = transcript.add_turn(spoken, told(number))
    return spoken


def test_the_last_few_answers_are_held_and_of_two_hundred_messages_what_they_were() -> None:
    spoken = after(500)
    held = {n for n in range(500) if transcript.find_turn(spoken, f"m{n}")}
    known = {n for n in range(500) if transcript.find_digest(spoken, f"m{n}") == f"{n:016x}"}
    assert held == set(range(500 - MAX_HELD_TURNS, 500))
    assert known == set(range(500 - MAX_KNOWN_MESSAGES, 500))
    assert (spoken.turn_count, spoken.has_older) == (500, True)


@each_row("turns", [0, 1, 8, 9, 199, 200, 201])
def test_what_is_carried_into_a_new_run_knows_the_same_messages(turns: int) -> None:
    spoken = after(turns)
    sent = carrying.fit_state(ConversationState(transcript=spoken)).state.model_dump_json()
    carried = ConversationState.model_validate_json(sent).transcript
    assert carried == spoken
    assert carried.has_older == (turns > MAX_KNOWN_MESSAGES)
    assert len(carried.last_turns) + len(carried.earlier_digests) == min(turns, MAX_KNOWN_MESSAGES)
    further = transcript.add_turn(carried, told(turns))
    assert transcript.find_digest(further, f"m{turns}") == f"{turns:016x}"


def test_what_is_carried_is_as_small_after_many_turns_as_after_some() -> None:
    some, many = (len(after(turns).model_dump_json()) for turns in (200, 2_000))
    assert many < some + 2_000
    assert many < 20_000
