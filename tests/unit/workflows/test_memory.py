from router.contracts.conversation import ConversationState
from router.domain.messages import Route
from workflows import memory

FLOW = Route(kind="flow", target="leave_request", by="pattern")
REPLY = Route(kind="reply", by="llm")


def talked(*said: str, route: Route = REPLY) -> ConversationState:
    state = ConversationState()
    for text in said:
        state = memory.remembering(state, text, f"answer to {text}", route)
    return state


def test_the_last_few_exchanges_are_kept_whole() -> None:
    state = talked(*(f"m{n}" for n in range(20)))
    assert [line.text for line in state.history if line.role == "user"] == [
        f"m{n}" for n in range(14, 20)
    ]


def test_what_came_before_them_is_kept_in_short_lines() -> None:
    state = talked(*(f"m{n}" for n in range(20)), route=FLOW)
    earlier = memory.earlier(state)
    assert earlier == [f"m{n} ▸ flow leave_request" for n in range(14)]


def test_nothing_is_told_twice_while_all_is_kept_whole() -> None:
    assert memory.earlier(talked("one", "two")) == []
    assert memory.earlier(ConversationState()) == []


def test_however_long_a_conversation_is_the_memory_is_bounded() -> None:
    state = talked(*("x " * 5000 for _ in range(300)))
    assert len(state.history) == memory.LINES
    assert len(memory.earlier(state)) == memory.GISTS
    assert len(state.model_dump_json()) < 20_000
