"""A model that answers as it should, or in any of the ways in which model servers don't.

What it should do stands in the message, as a mark such as `#look-17-1`: people whose marks it
finds want a tool called, a skill, or an answer.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import model_server as fake
from tests.fakes.web_server import Received, Reply

MARK = re.compile(r"#(?:ask|look|adjust|advise)-\d+-\d+")
SHARE = 0.35
"""Of answers that come to something else than they should."""
ADJUSTED = "frank"

Fault = Callable[[fake.Behaviour], fake.Behaviour]


def _called(name: str, arguments: Any) -> Fault:
    return lambda right: fake.calls((name, arguments))


FAULTS: dict[str, Fault] = {
    "429": lambda right: fake.rate_limits(),
    "429, Retry-After": lambda right: fake.rate_limits("1"),
    "500": lambda right: fake.fails(500),
    "503": lambda right: fake.fails(503),
    "never answers": lambda right: fake.hangs(),
    "drops at once": lambda right: fake.drops(right, 0),
    "drops before [DONE]": lambda right: fake.drops(right, 2),
    "ends without [DONE]": lambda right: fake.stops(right, 2),
    "drips": lambda right: fake.drips(right, 0.002),
    "a web page": lambda right: fake.sends_bytes(b"<html>", b"</html>"),
    "no choices": lambda right: fake.sends({"choices": []}),
    "null content": lambda right: fake.says(None),
    "a refusal": lambda right: fake.says(None, refusal="No."),
    "cut short": lambda right: fake.says("…", finish="length"),
    "garbled arguments": _called("respond_message", '{"text": '),
    "wrong arguments": _called("get_leave_balance", {"leave_type": ["annual", 7]}),
    "unknown function": _called("delete_everything", {}),
    "a write nobody asked for": _called("record_leave", {"leave_type": "annual"}),
}


@dataclass
class Wayward:
    """A behaviour for every request, and how often it did what."""

    draws: random.Random
    faults: Counter[str] = field(default_factory=Counter)
    right: int = 0

    def __call__(self, received: Received) -> Reply:
        behaviour = right_answer(received.body)
        if self.draws.random() < SHARE:
            name = self.draws.choice([*FAULTS])
            self.faults[name] += 1
            return FAULTS[name](behaviour)(received)
        self.right += 1
        return behaviour(received)


def right_answer(body: dict[str, Any]) -> fake.Behaviour:
    """What a model that understands marks does with a request."""
    mark = _last_mark(body)
    call = _wanted(body, mark)
    if call is None:
        return fake.says(f"好的，OK {mark}")
    return fake.calls(call) if "tools" in body else fake.decides(call)


def _last_mark(body: dict[str, Any]) -> str:
    for message in reversed(body.get("messages", [])):
        found = MARK.findall(str(message.get("content"))) if message["role"] == "user" else []
        if found:
            return str(found[-1])
    return ""


def _wanted(body: dict[str, Any], mark: str) -> fake.Call | None:
    offered = json.dumps([body.get("tools"), body.get("response_format")])
    wanted: dict[str, list[fake.Call]] = {
        "look": [("get_leave_balance", {"leave_type": "annual"})],
        "adjust": [("adjust_leave_balance", adjustment(mark))],
        "advise": [
            ("dispatch_to_skill", {"skill_name": "policy-advisor", "request": f"年假 {mark}"}),
            ("search_policies", {"question": "年假"}),
        ],
    }
    if body["messages"][-1]["role"] == "tool":
        return None
    about = mark[1:].partition("-")[0]
    return next((call for call in wanted.get(about, []) if f'"{call[0]}"' in offered), None)


def adjustment(mark: str) -> dict[str, Any]:
    """The arguments of an adjustment: what is expected on record, by its reason."""
    return {"employee": ADJUSTED, "leave_type": "compensatory", "days": 0.5, "reason": mark}
