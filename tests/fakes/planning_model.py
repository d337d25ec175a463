"""A scripted model that works by plans: what it answers goes by what it is asked.

Steps run side by side, so that the order of their questions is nobody's to know.

    model = PlanningModel()
    model.plans += [drawn(("a", "Find A"), ("b", "Find B", "a"))]
    model.steps["Find A"] += [says("A is 1.")]
    model.reflections += [calls(("accept", {"result": "A is 1."}))]
    async with ModelServer(model) as server: ...
"""

import re
from collections import defaultdict
from typing import Any

from tests.fakes.behaviours import Behaviour, calls, decides, fails
from tests.fakes.http_exchange import Received, Reply

spent = fails(418, "the script has no behaviour left for this")
_STEP = re.compile(r"<step>\n(.*)\n</step>")


class PlanningModel:
    """Each list in its order; `others` are the router's questions, and those of a loop."""

    def __init__(self) -> None:
        self.plans: list[Behaviour] = []
        self.reflections: list[Behaviour] = []
        self.others: list[Behaviour] = []
        self.steps: defaultdict[str, list[Behaviour]] = defaultdict(list)
        self.asked: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)

    def __call__(self, received: Received) -> Reply:
        """The next behaviour for a question of this kind."""
        kind, script = self._script(received.body)
        self.asked[kind].append(received.body)
        return (script.pop(0) if script else spent)(received)

    def _script(self, body: dict[str, Any]) -> tuple[str, list[Behaviour]]:
        told = "\n".join(str(message.get("content")) for message in body["messages"])
        if step := _STEP.search(told):
            return step[1], self.steps[step[1]]
        offered = _offered(body)
        if "plan" in offered:
            return "plan", self.plans
        if "accept" in offered:
            return "reflect", self.reflections
        return "other", self.others


def _offered(body: dict[str, Any]) -> set[str]:
    """The names of the functions, however they are put."""
    if "tools" in body:
        return {tool["function"]["name"] for tool in body["tools"]}
    schema = body["response_format"]["json_schema"]["schema"]
    either = schema["properties"]["calls"]["items"]["anyOf"]
    return {one["properties"]["name"]["enum"][0] for one in either}


def drawn(*steps: tuple[str, ...], as_json: bool = False) -> Behaviour:
    """A plan of steps, each its id, its task, and the ids of those that it depends on."""
    listed = [{"id": id_, "task": task, "depends_on": on} for id_, task, *on in steps]
    call = ("plan", {"steps": listed})
    return decides(call) if as_json else calls(call)
