"""What is explored: a flow, what its people may do, and how much may go wrong meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import JsonValue

from router.domain.messages import ENDED
from router.flow.definition import FlowDefinition
from router.flow.engine import events
from router.flow.engine.events import AnyEvent
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import Verdict
from router.tool.context import ToolContext
from router.tool.tool import Tool, tool
from tests.model import conversation, outbox, promises
from tests.model.conversation import Talk
from tests.model.outbox import Post
from tests.model.run import Intent, Row, RunWorld, Setting
from tests.unit.flow.definitions import ALICE, NOW, text
from workflows.publication import ConversationNotifier

PURCHASE: dict[str, Any] = {
    "flow": "purchase",
    "title": text("Purchase"),
    "description": text("Buy something"),
    "slots": {"what": {"type": "text", "label": text("What"), "ask": text("What?")}},
    "start": "details",
    "states": {
        "details": {"collect": ["what"], "next": "review"},
        "review": {"confirm": text("Fine?"), "confirmed": "hold", "declined": "details"},
        "hold": {
            "call": "hold",
            "with": {"what": "slots.what"},
            "undo": "free",
            "next": "boss",
        },
        "boss": {
            "approve": {
                "by": "manager(requester)",
                "title": text("A purchase"),
                "expire_after": "P3D",
            },
            "approved": "pay",
            "rejected": "sorry",
            "returned": "details",
            "expired": "sorry",
        },
        "pay": {"call": "pay", "with": {"what": "slots.what"}, "next": "done"},
        "done": {"end": "completed"},
        "sorry": {"end": "rejected"},
    },
}
LOOKUPS: dict[str, Callable[..., Any]] = {
    "manager": lambda _: "bob",
    "stand_ins": lambda people, *_: people,
    "names": lambda people: people,
}


def _tool(name: str, *, honours_keys: bool) -> Tool:
    async def called(ctx: ToolContext, what: str = "") -> JsonValue:
        """Do it."""
        return "done"

    called.__name__ = name
    return tool(permission="write", idempotent=honours_keys)(called)


def _setting(*, honours_keys: bool, **changed: Any) -> Setting:
    definition = FlowDefinition.model_validate(PURCHASE | changed)
    names = ("hold", "free", "pay")
    tools = {name: _tool(name, honours_keys=honours_keys) for name in names}
    return Setting(definition, tools, LOOKUPS, does=("hold", "pay"))


def confirms(name: str = "alice confirms") -> Intent:
    """The requester says yes to what they are asked."""

    def event(world: RunWorld) -> AnyEvent | None:
        run = world.run
        asks = run.status == "confirming" or run.approvals.asks_to_amend
        said = events.Confirmed(by="alice", value=True, question=run.question_id)
        return said if asks else None

    return Intent(name, "tell", event)


def answers(what: str) -> Intent:
    """The requester says what is to be bought, where that is asked."""

    def event(world: RunWorld) -> AnyEvent | None:
        asks = world.run.status == "collecting"
        said = events.Answered(by="alice", slots={"what": what}, question=world.run.question_id)
        return said if asks else None

    return Intent(f"alice says {what}", "tell", event)


def cancels() -> Intent:
    """The requester takes it back, at any time."""

    def event(world: RunWorld) -> AnyEvent | None:
        return None if world.run.status in ENDED else events.Cancelled(by="alice")

    return Intent("alice cancels", "tell", event)


def amends(what: str) -> Intent:
    """The requester has what was handed in be other, and is sure of it."""

    def event(world: RunWorld) -> AnyEvent | None:
        waits = world.published.status == "waiting_approval"
        wanted = events.Amended(by="alice", slots={"what": what}, word=what)
        return wanted if waits else None

    return Intent(f"alice changes it to {what}", "amend", event)


def decides(verdict: Verdict, by: str = "bob") -> Intent:
    """An approver decides on what the database shows them, however old that is."""

    def event(world: RunWorld) -> AnyEvent | None:
        row = next((row for row in world.published.approvals if _waits(row, by)), None)
        if row is None:
            return None
        about = {"approval": row.id, "digest": row.digest, "verdict": verdict}
        return events.Decided.model_validate({"by": by, **about})

    return Intent(f"{by}: {verdict}", "decide", event)


def _waits(row: Row, person: str = "bob") -> bool:
    return row.active and row.person == person


@dataclass(frozen=True)
class Scenario:
    """One world to explore; `depth` is how far a small exploration goes."""

    name: str
    first: Callable[[], Any]
    depth: int
    check: Callable[[Any], None] = promises.check


def _asking_two(mode: Literal["all", "any"]) -> Setting:
    """The flow where two are asked, of whom all have to agree, or any may."""
    states = PURCHASE["states"]
    asks = states["boss"]["approve"] | {"by": ["manager(requester)", "'carol'"], "mode": mode}
    changed = {**states, "boss": {**states["boss"], "approve": asks}}
    setting = _setting(honours_keys=True, states=changed)
    return replace(setting, consents=2 if mode == "all" else 1)


def _world(
    *intents: Intent,
    setting: Setting | None = None,
    faults: int = 0,
    again: int = 0,
    anew: int = 0,
    erasures: int = 0,
    honours_keys: bool = True,
    attempts: int = 2,
) -> RunWorld:
    setting = replace(setting or _setting(honours_keys=honours_keys), attempts=attempts)
    run = Run(id="r1", requester=ALICE, locale="en")
    budget: dict[str, Any] = {"faults": faults, "again": again, "anew": anew, "erasures": erasures}
    world = RunWorld(setting, NOW, run, intents, **budget)
    return world.take(events.Began(by="alice", slots={"what": "chair"}))


def _with_boss(*intents: Intent, setting: Setting | None = None, **budget: Any) -> RunWorld:
    """The world in which the approver has just been asked, which nothing has gone wrong in."""
    world = _world(confirms(), setting=setting)
    while not any(map(_waits, world.published.approvals)):
        _, make = next(world.moves())
        world = make()
    return replace(world, intents=intents, **budget)


def _talk(*intents: Intent, faults: int) -> Talk:
    world = replace(_world(*intents).published_now())
    run = world.run.model_copy(update={"conversation": "c1"})
    world = replace(world, run=run)
    notifier = ConversationNotifier(run)
    answer = notifier.answer(world.setting.definition, run)
    return replace(Talk(world, notifier, faults=faults, answer=answer.view))


def _with_news(**budget: Any) -> Post:
    """The mailbox with two posts that nobody is at yet."""
    return Post(said=(1, 2), news=2, **budget)


SCENARIOS = (
    Scenario("two crashes", lambda: _world(confirms(), decides("approve"), faults=2), 8),
    Scenario(
        "two crashes, tools that honour no keys",
        lambda: _world(confirms(), decides("approve"), faults=2, honours_keys=False),
        8,
    ),
    Scenario(
        "a withdrawal meets a call",
        lambda: _world(confirms(), cancels(), faults=1, again=1, anew=1, attempts=1),
        7,
    ),
    Scenario(
        "a withdrawal meets a decision",
        lambda: _with_boss(decides("approve"), cancels(), faults=1, again=1),
        8,
    ),
    Scenario(
        "three decisions at once, twice and late",
        lambda: _with_boss(
            decides("approve"), decides("reject"), decides("return"), again=1, anew=1
        ),
        8,
    ),
    Scenario(
        "a change meets a decision",
        lambda: _with_boss(amends("table"), decides("approve"), decides("reject"), again=1, anew=1),
        8,
    ),
    Scenario(
        "two have to agree",
        lambda: _with_boss(
            *(decides("approve"), decides("approve", "carol"), decides("reject", "carol")),
            cancels(),
            setting=_asking_two("all"),
            again=1,
        ),
        7,
    ),
    Scenario(
        "either may agree",
        lambda: _with_boss(
            *(decides("approve"), decides("return"), decides("approve", "carol")),
            decides("reject", "carol"),
            setting=_asking_two("any"),
            again=1,
            anew=1,
        ),
        7,
    ),
    Scenario(
        "Temporal is made to forget",
        lambda: _with_boss(
            *(decides("approve"), decides("approve", "carol"), decides("return", "carol")),
            cancels(),
            setting=_asking_two("all"),
            lapses=1,
        ),
        6,
    ),
    Scenario(
        "an erasure meets what is under way",
        lambda: _world(confirms(), cancels(), faults=2, erasures=1),
        7,
    ),
    Scenario(
        "posts, and processes that die", lambda: _with_news(to_say=1, faults=2), 9, outbox.check
    ),
    Scenario(
        "posts, and what they tell of is erased",
        lambda: _with_news(to_say=1, faults=1, erasures=1),
        9,
        outbox.check,
    ),
    Scenario(
        "news meet answers",
        lambda: _talk(
            confirms(),
            decides("return"),
            answers("table"),
            confirms("alice confirms anew"),
            faults=1,
        ),
        18,
        conversation.check,
    ),
    Scenario(
        "news meet a withdrawal",
        lambda: _talk(confirms(), decides("approve"), cancels(), faults=2),
        14,
        conversation.check,
    ),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
