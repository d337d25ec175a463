"""How large values are when they are carried: as JSON."""

from collections.abc import Sequence

from pydantic import BaseModel


def measure_bytes(*values: BaseModel | Sequence[BaseModel] | None) -> int:
    """Return the bytes of these values as JSON, which is how they are carried.

    >>> class Greeting(BaseModel):
    ...     text: str
    >>> measure_bytes(Greeting(text="hi"), None)
    13
    """
    found = 0
    for value in values:
        match value:
            case BaseModel():
                found += len(value.model_dump_json().encode())
            case [*several]:
                found += sum(len(one.model_dump_json().encode()) + 1 for one in several)
    return found
