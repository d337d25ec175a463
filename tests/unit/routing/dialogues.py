"""Dialogues of a sub-agent, made up as they come about."""

from hypothesis import strategies as st

from router.llm.types import AssistantMessage, FunctionCall, ToolMessage
from router.routing.skill_memory import AgentMemory

TOOLS = ("search", "look", "ask_user")
EPHEMERAL = {"search": 1, "look": 0}


def step(calls: int, tool: str = "search") -> AssistantMessage:
    made = (FunctionCall(id=str(n), name=tool, arguments={"n": n}) for n in range(calls))
    return AssistantMessage(calls=tuple(made))


def worked(memory: AgentMemory, *found: str, tool: str = "search") -> AgentMemory:
    """The memory after one more step whose calls found this."""
    results = (ToolMessage(call_id=str(n), name=tool, text=text) for n, text in enumerate(found))
    return memory.saying(step(len(found), tool), *results)


latin = st.text('abcdefg <>/"\\\n', min_size=1, max_size=60)
cjk = st.text("年假报销查询，。", min_size=1, max_size=60)
texts = st.builds(lambda piece, times: piece * times, latin | cjk, st.integers(1, 60))


@st.composite
def memories(draw: st.DrawFn) -> AgentMemory:
    """A memory in which anything may have happened, in any order."""
    memory = AgentMemory(
        earlier=draw(st.just("") | texts)[:2000],
        fixed=draw(st.integers(0, 4000)),
        ratio=draw(st.floats(0.3, 3.0)),
        notes=draw(st.dictionaries(st.just("key"), texts.map(lambda text: text[:200]))),
    )
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            memory = memory.hearing(draw(texts)[:1000])
        found = draw(st.lists(texts, min_size=0, max_size=4))
        memory = worked(memory, *found, tool=draw(st.sampled_from(TOOLS)))
    return memory.saying(step(1, "ask_user")) if draw(st.booleans()) else memory
