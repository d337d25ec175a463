"""Two people, their conversations and requests, and an approver, in any order of doing things.

What must hold whatever is done: nobody sees what is another's, the same request has the same
answer, an event is the same each time it is read and none is missing, what is decided stays
decided, and lists have everything once.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from tests.e2e.house import House, Person


@dataclass(frozen=True)
class Event:
    """One event of a stream, as it came."""

    name: str
    id: str | None
    data: Any


def pages(person: Person, path: str, limit: int) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        page = person.get(f"{path}?limit={limit}{after}")
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next"] is None:
            return found
        assert len(page["items"]) == limit
        after = f"&after={page['next']}"


def events(person: Person, path: str, after: str, last_turn: str) -> list[Event]:
    """Those behind the id `after`, up to the turn of the message `last_turn`, but passing ones."""
    found: list[Event] = []
    with person.http.stream("GET", path, headers={"Last-Event-ID": after}) as answer:
        assert answer.status_code == 200
        for event in _parsed(answer.iter_lines()):
            if event.id is not None:
                found.append(event)
            if event.name == "turn" and event.data["message_id"] == last_turn:
                return found
    raise AssertionError(f"the stream ended before the turn of {last_turn}: {found}")


def _parsed(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            data = json.loads(fields["data"])
            yield Event(fields.get("event", "message"), fields.get("id"), data)
            fields = {}
        else:
            fields = {}


OWNERS = ("alice", "frank")
EVERYBODY = (*OWNERS, "bob", "gina")
"""bob is the manager of both; gina has to do with neither."""
DAY = {"start": "2027-01-04", "end": "2027-01-04"}
LEAVE = {"leave_type": "personal", **DAY, "reason": "a day off"}
SAID = ("hello", "你好", "I want to take leave", "取消", "yes", "年假", "what is 𝟚 + 2?", "'); --")
ACTS = (
    {"type": "confirm", "value": True, "question": ""},
    {"type": "confirm", "value": False, "question": ""},
    {"type": "choose", "value": "annual"},
    {"type": "form", "values": {"reason": "moving"}},
    {"type": "start", "flow": "leave_request", "slots": LEAVE},
)
BODIES = st.one_of(
    st.sampled_from([{"text": text} for text in SAID]),
    st.sampled_from([{"action": act} for act in ACTS]),
)
VERDICTS = st.sampled_from(["approve", "reject"])


class Requests(RuleBasedStateMachine):
    """The API as its users use it; `house` is set by whoever runs this."""

    house: House
    talks = Bundle("talks")
    said = Bundle("said")
    runs = Bundle("runs")
    files = Bundle("files")
    made = Bundle("made")

    def __init__(self) -> None:
        super().__init__()
        self.people = {name: Person(self.house, name) for name in EVERYBODY}
        self.own: dict[str, list[str]] = {name: [] for name in OWNERS}
        self.told: dict[str, dict[str, Any]] = {}
        self.log: dict[str, list[Event]] = {}
        self.closed: dict[str, tuple[str, dict[str, Any]]] = {}
        self.digests: dict[str, str] = {}

    def teardown(self) -> None:
        for person in self.people.values():
            person.http.close()

    @initialize(target=talks, owner=st.sampled_from(OWNERS))
    def begin(self, owner: str) -> tuple[str, str]:
        return self._begun(owner, self.people[owner].post("/v1/conversations"))

    def _begun(self, owner: str, answer: httpx.Response) -> tuple[str, str]:
        assert answer.status_code == 201, answer.text
        self.own[owner].append(answer.json()["id"])
        return owner, answer.json()["id"]

    @rule(target=made, owner=st.sampled_from(OWNERS), locale=st.sampled_from(["zh", "en"]))
    def begin_with_a_key(self, owner: str, locale: str) -> tuple[str, str, str, Any]:
        key = uuid4().hex
        header = {"Idempotency-Key": key}
        answer = self.people[owner].post("/v1/conversations", {"locale": locale}, **header)
        self._begun(owner, answer)
        return owner, key, locale, answer.json()

    @rule(one=made, same=st.booleans(), quoted=st.booleans())
    def begin_again(self, one: tuple[str, str, str, Any], same: bool, quoted: bool) -> None:
        owner, key, locale, first = one
        wanted = locale if same else {"zh": "en", "en": "zh"}[locale]
        header = {"Idempotency-Key": f'"{key}"' if quoted else key}
        answer = self.people[owner].post("/v1/conversations", {"locale": wanted}, **header)
        assert answer.status_code == (201 if same else 422), answer.text
        assert not same or answer.json() == first

    @rule(target=said, talk=talks, body=BODIES)
    def say(self, talk: tuple[str, str], body: dict[str, Any]) -> tuple[str, str, Any, Any]:
        owner, conversation = talk
        sent = {**body, "message_id": uuid4().hex}
        answer = self.people[owner].post(f"/v1/conversations/{conversation}/messages", sent)
        assert answer.status_code == 200, answer.text
        self.told.setdefault(conversation, {})[sent["message_id"]] = answer.json()
        return owner, conversation, sent, answer.json()

    @rule(message=said)
    def say_the_same_again(self, message: tuple[str, str, Any, Any]) -> None:
        owner, conversation, sent, first = message
        path = f"/v1/conversations/{conversation}/messages"
        again = self.people[owner].post(path, sent)
        assert (again.status_code, again.json()) == (200, first)
        assert self.people[owner].get(f"{path}/{sent['message_id']}") == first

    @rule(message=said, body=BODIES)
    def say_something_else_under_the_same_id(
        self, message: tuple[str, str, Any, Any], body: dict[str, Any]
    ) -> None:
        owner, conversation, sent, first = message
        other = {**body, "message_id": sent["message_id"]}
        answer = self.people[owner].post(f"/v1/conversations/{conversation}/messages", other)
        assert answer.status_code == (200 if other == sent else 422), answer.text
        assert other != sent or answer.json() == first

    @rule(talk=talks, turn=st.integers(0, 40))
    def read_events(self, talk: tuple[str, str], turn: int) -> None:
        """From the first one, and from behind any of them: the same ones, in the same order."""
        owner, conversation = talk
        if not self.told.get(conversation):
            return
        path, last = f"/v1/conversations/{conversation}/events", list(self.told[conversation])[-1]
        every = events(self.people[owner], path, "0", last)
        before = self.log.get(conversation, [])
        assert every[: len(before)] == before
        self.log[conversation] = every
        turns = [event.data["message_id"] for event in every if event.name == "turn"]
        assert turns == list(self.told[conversation])
        assert len({event.id for event in every}) == len(every)
        at = turn % len(every)
        if at < len(every) - 1:
            rest = events(self.people[owner], path, str(every[at].id), last)
            assert rest == every[at + 1 :]

    @rule(target=runs, owner=st.sampled_from(OWNERS))
    def ask_for_leave(self, owner: str) -> tuple[str, str, str]:
        """A request that waits for bob; the ids of run and approval."""
        chat = self.people[owner].chat()
        self.own[owner].append(chat.id)
        turn = chat.act_start("leave_request", LEAVE)
        assert turn["flow"]["status"] == "confirming", turn
        turn = chat.act("confirm", True)
        assert turn["flow"]["status"] == "waiting_approval", turn
        run = turn["flow"]["id"]
        waiting = (a for a in self.people["bob"].approvals() if a["flow_run"] == run)
        one = next(waiting)
        self.digests[one["id"]] = one["digest"]
        return owner, run, one["id"]

    @rule(one=runs, verdict=VERDICTS)
    def decide(self, one: tuple[str, str, str], verdict: str) -> None:
        _, run, approval = one
        key = uuid4().hex
        path, body = (
            f"/v1/approvals/{approval}/decision",
            {"decision": verdict, "digest": self.digests[approval]},
        )
        answer = self.people["bob"].post(path, body, **{"Idempotency-Key": key})
        if run in self.closed:
            closed_by, first_answer = self.closed[run]
            if verdict == closed_by:
                assert (answer.status_code, answer.json()) == (200, first_answer), answer.text
            else:
                assert answer.status_code == 409, answer.text
            return
        assert answer.status_code == 200, answer.text
        self.closed[run] = (verdict, answer.json())
        again = self.people["bob"].post(path, body, **{"Idempotency-Key": key})
        assert (again.status_code, again.json()["decision"]) == (200, verdict)
        other = {**body, "decision": "reject" if verdict == "approve" else "approve"}
        differs = self.people["bob"].post(path, other, **{"Idempotency-Key": key})
        assert differs.status_code == 422, differs.text

    @rule(one=runs, verdict=VERDICTS, who=st.sampled_from([*OWNERS, "gina"]))
    def decide_what_isnt_asked_of_one(
        self, one: tuple[str, str, str], verdict: str, who: str
    ) -> None:
        answer = self.people[who].decide(one[2], verdict)
        assert answer.status_code == 404, answer.text

    @rule(one=runs, who=st.sampled_from(EVERYBODY))
    def withdraw(self, one: tuple[str, str, str], who: str) -> None:
        owner, run, _ = one
        answer = self.people[who].post(f"/v1/flow-runs/{run}/withdraw")
        if who == "bob":
            assert answer.status_code == 403, answer.text
        elif who != owner:
            assert answer.status_code == 404, answer.text
        elif run not in self.closed:
            assert answer.status_code == 200, answer.text
            self.closed[run] = ("withdrawn", answer.json())

    @rule(target=files, owner=st.sampled_from(OWNERS), more=st.binary(max_size=40))
    def hand_in(self, owner: str, more: bytes) -> tuple[str, str, bytes]:
        content = b"%PDF-1.7\n" + more
        answer = self.people[owner].http.post("/v1/files", files={"file": ("x.pdf", content)})
        assert answer.status_code == 201, answer.text
        return owner, answer.json()["id"], content

    @rule(file=files, who=st.sampled_from(EVERYBODY))
    def fetch(self, file: tuple[str, str, bytes], who: str) -> None:
        owner, id_, content = file
        answer = self.people[who].http.get(f"/v1/files/{id_}")
        assert answer.status_code == (200 if who == owner else 404)
        assert who != owner or answer.content == content

    @rule(talk=talks, who=st.sampled_from(EVERYBODY), message=said)
    def look_at_anothers(
        self, talk: tuple[str, str], who: str, message: tuple[str, str, Any, Any]
    ) -> None:
        _, conversation, sent, _ = message
        for owner, path in (
            (talk[0], f"/v1/conversations/{talk[1]}"),
            (message[0], f"/v1/conversations/{conversation}/messages"),
            (message[0], f"/v1/conversations/{conversation}/messages/{sent['message_id']}"),
        ):
            answer = self.people[who].http.get(path)
            assert answer.status_code == (200 if who == owner else 404), answer.text

    @rule(owner=st.sampled_from(OWNERS), limit=st.sampled_from([3, 50, 200]))
    def leaf_through(self, owner: str, limit: int) -> None:
        """Each page once: everything is there, and nothing twice."""
        newest = pages(self.people[owner], "/v1/conversations", limit)
        found = [item["id"] for item in newest]
        assert len(set(found)) == len(found)
        assert found[: len(self.own[owner])] == self.own[owner][::-1]

    @rule(talk=talks, limit=st.sampled_from([1, 2, 3, 200]))
    def read_the_transcript(self, talk: tuple[str, str], limit: int) -> None:
        owner, conversation = talk
        lines = pages(self.people[owner], f"/v1/conversations/{conversation}/messages", limit)
        order = [int(line["id"]) for line in lines]
        assert order == sorted(set(order))
        heard = [line["message_id"] for line in lines if line["role"] == "user"]
        assert heard == list(self.told.get(conversation, {}))

    @invariant()
    def what_is_closed_waits_for_nobody(self) -> None:
        if self.closed:
            waiting = {approval["flow_run"] for approval in self.people["bob"].approvals()}
            assert not waiting & self.closed.keys()
