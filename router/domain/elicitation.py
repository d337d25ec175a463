"""What a tool wants to know from the person, in the middle of its call."""

from pydantic import BaseModel, ConfigDict, JsonValue


class Elicitation(BaseModel):
    """One question, answered by calling the tool again with the answer under its `key`.

    `schema_` describes a flat object to fill in, empty for a plain yes or no; `url` is an
    address to visit instead.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    """The same for the same question, so that no answer is taken for that of another."""
    message: str
    schema_: dict[str, JsonValue] = {}
    url: str | None = None
