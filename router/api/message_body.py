"""The body of a message request, as clients send it."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from router.api.plain import IS_SCHEMA, PLAIN_JSON, Key, SaidText, check_plain
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.messages import Action, Message


def _plain(action: Action) -> Action:
    check_plain(action.model_dump(mode="json"))
    return action


class MessageBody(BaseModel):
    """A text or an action, one of the two."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": "我要请假"}, {"action": {"type": "confirm", "value": True}}],
            "oneOf": [
                {"required": ["text"], "properties": {"text": {"type": "string"}}},
                {"required": ["action"], "properties": {"action": {"type": "object"}}},
            ],
        },
    )

    text: SaidText | None = None
    action: Annotated[
        Annotated[Action, AfterValidator(_plain)] | None,
        Field(json_schema_extra={"allOf": [{IS_SCHEMA: PLAIN_JSON}]}),
    ] = None
    message_id: Key | None = None
    """Chosen by the client, so that a repeat is answered and nothing done twice."""
    on_busy: Literal["queue", "steer", "reject"] = "queue"

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.text is None and self.action is None:
            raise ValueError("neither text nor action is given; send one of them")
        if self.text is not None and self.action is not None:
            raise ValueError("both text and action are given; send one of them")
        return self

    @property
    def message(self) -> Message:
        """What was said or done, without how it was sent."""
        return Message(text=self.text, action=self.action)

    def id_with(self, key: str | None) -> str | None:
        """The message's id, which an Idempotency-Key is another way to give; None where none is.

        Raises:
            InvalidInput: both are given, and differ.
        """
        if key is not None and self.message_id not in {None, key}:
            raise InvalidInput(
                "message_id and Idempotency-Key are the same thing for a message, but differ.",
                [FieldProblem("message_id", "differs from Idempotency-Key")],
            )
        return self.message_id or key
