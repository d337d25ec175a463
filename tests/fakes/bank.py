"""A bank over real HTTP, which remembers every effect that it ever had.

It honours the header `Idempotency-Key` at `/pay`: the same key has one effect, and its first
answer is given again. At `/shoot` it does what it is asked as often as it is asked.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.fakes.web_server import Got, Reply, WebServer, json_reply


@dataclass(frozen=True)
class Effect:
    """Something that can't be undone: what, for whom, under which key."""

    what: str
    order: str
    key: str


class Bank(WebServer):
    """Listens while it is entered; `effects` are in the order in which they happened."""

    def __init__(self) -> None:
        super().__init__(self._apply)
        self.effects: list[Effect] = []
        self._answered: dict[str, Any] = {}

    def count(self, order: str) -> int:
        """How often this order had an effect."""
        return Counter(effect.order for effect in self.effects)[order]

    def asked(self, order: str) -> int:
        """How often this order was asked for, with an effect or without."""
        return sum(json.loads(got.body)["order"] == order for got in self.requests)

    def _apply(self, got: Got) -> Reply:
        key = got.headers.get("idempotency-key", "")
        honoured = got.target == "/pay"
        if honoured and key in self._answered:
            return json_reply(self._answered[key])
        effect = Effect(got.target, json.loads(got.body)["order"], key)
        self.effects.append(effect)
        receipt = {"receipt": f"R{len(self.effects)}", "order": effect.order}
        if honoured:
            self._answered[key] = receipt
        return json_reply(receipt)
