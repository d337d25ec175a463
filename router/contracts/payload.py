"""What crosses the border of a workflow or an activity."""

from pydantic import BaseModel, ConfigDict


class Payload(BaseModel):
    """Base of it: never changed once it is made."""

    model_config = ConfigDict(frozen=True)
