"""What was recognised in a message, and the shapes of its values."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

EntityType = Literal[
    "date", "date_range", "duration", "money", "number", "time", "boolean", "choice"
]


class Entity(BaseModel):
    """One thing recognised. `span` is half-open and counts characters of the text as typed.

    date        "2026-11-19"
    date_range  {"start", "end"[, "start_half"][, "end_half"]}, both ends included; halves am, pm
    duration    {"days": 3.5}, or hours, or weeks
    money       {"amount": "58.00", "currency": "CNY"}
    number      "3.5"
    time        "14:30"
    boolean     true, false
    choice      the value chosen
    """

    model_config = ConfigDict(frozen=True)

    type: EntityType
    text: str
    span: tuple[int, int]
    value: JsonValue
