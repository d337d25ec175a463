"""Which models are asked, where, in which protocol and how: by role, and where the first fails."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    model_validator,
)

from router.domain.extension_names import EXTENSION_NAME_PATTERN, is_extension_name
from router.domain.value import Value
from router.settings import values

ModelRole = Literal["router", "skill", "plan", "phrase"]
"""What a model is asked for: to decide, to lead a skill, to plan for one, to say what was found."""
ROLES: tuple[ModelRole, ...] = get_args(ModelRole)

OPENAI = "https://api.openai.com/v1"
ADDRESSES: Mapping[str, str] = {
    "chat_completions": OPENAI,
    "responses": OPENAI,
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}
"""Where the provider of each protocol of the core is, for who sets no address."""


def _protocol_name(written: str) -> str:
    if not is_extension_name(written):
        raise ValueError(f"write {', '.join(ADDRESSES)}, or the name of an extension's protocol")
    return written


ProtocolName = Annotated[
    str,
    AfterValidator(_protocol_name),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [*ADDRESSES]},
                {"type": "string", "pattern": f"^{EXTENSION_NAME_PATTERN}$"},
            ]
        }
    ),
]
"""A protocol of the core, or of an extension, which is loaded once there are settings: whether
there is one of this name is checked where models are connected to."""


def check_address(protocol: str | None, base_url: str | None) -> None:
    """Raise `ValueError` for a protocol that has no address of its own, if none is set."""
    if protocol is not None and protocol not in ADDRESSES and base_url is None:
        raise ValueError(
            f"{protocol!r} is none of {', '.join(ADDRESSES)}: correct it, or, if an extension has "
            "it, say where the model is"
        )


class ModelOptions(Value):
    """How a model is asked, where it isn't as each question has it."""

    model_config = ConfigDict(extra="forbid")

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """None: 0, where the server takes it."""
    max_tokens: Annotated[int, Field(ge=16)] | None = None
    """Of an answer, thoughts included; None: what each question needs without them."""
    effort: str | None = None
    """How hard to think, in the provider's own word: `low`, `high`…; None: as the model does."""
    extra_body: dict[str, JsonValue] = {}
    """Put into every request, object by object; a null takes out what is there."""


NO_OPTIONS = ModelOptions()


class RoleModel(ModelOptions):
    """The model of a role: what isn't said is as for the usual one.

    With an address of its own it has a key of its own, or none.
    """

    base_url: values.WebUrl | None = None
    """Where it is."""
    model: str | None = None
    """Its name there."""
    api_key_env: str | None = None
    """The variable that holds its key."""
    protocol: ProtocolName | None = None
    """How it is spoken to. With that of an extension the address is needed."""

    @model_validator(mode="after")
    def _has_address(self) -> Self:
        check_address(self.protocol, self.base_url)
        return self


class Fallback(ModelOptions):
    """A further model to ask; `api_key_env` names the variable that holds its key."""

    base_url: values.WebUrl
    """Where it is."""
    model: str
    """Its name there."""
    api_key_env: str | None = None
    """The variable that holds its key; None: it wants none."""
    protocol: ProtocolName | None = None
    """How it is spoken to; None: as `ROUTER_LLM_PROTOCOL` says."""


class ThriftModel(RoleModel):
    """A cheaper model, asked once less than a share of some budget is left."""

    below: Annotated[float, Field(gt=0, lt=1)]
    """The share, such as 0.3."""
    model: str
    """Its name; what else isn't said is as for the usual one."""


def _told_apart(models: list[ThriftModel]) -> list[ThriftModel]:
    if len({one.below for one in models}) < len(models):
        raise ValueError("two of them are for the same share: give each a `below` of its own")
    return models


Thrift = Annotated[list[ThriftModel], AfterValidator(_told_apart)]


def _escalation(value: Any) -> Any:
    """A model's name, or JSON of a `RoleModel`."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("{"):
        return {"model": value} if value.strip() else None
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"write a model's name, or it as JSON ({error})") from None


Escalation = Annotated[RoleModel | None, BeforeValidator(_escalation)]
RoleModels = dict[ModelRole, RoleModel]


@dataclass(frozen=True)
class ModelAccess:
    """Where a model is, the key it wants, and how it is asked."""

    base_url: str
    model: str
    api_key: str | None = field(repr=False)
    protocol: ProtocolName = "chat_completions"
    options: ModelOptions = NO_OPTIONS

    def changed(self, by: RoleModel, variables: Mapping[str, str]) -> "ModelAccess":
        """The access of a role: this one's, but for what the role says."""
        protocol = by.protocol or self.protocol
        elsewhere = by.base_url is not None or protocol_family(protocol) != protocol_family(
            self.protocol
        )
        key = variables.get(by.api_key_env) if by.api_key_env else None
        return ModelAccess(
            base_url=by.base_url or (ADDRESSES[protocol] if elsewhere else self.base_url),
            model=by.model or self.model,
            # A key goes to nobody but whom it was given for.
            api_key=key if elsewhere or by.api_key_env else self.api_key,
            protocol=protocol,
            options=options_of(by, self.options if not elsewhere else NO_OPTIONS),
        )

    @classmethod
    def of(
        cls, fallback: Fallback, usual: ProtocolName, variables: Mapping[str, str]
    ) -> "ModelAccess":
        """The access of a fallback."""
        key = variables.get(fallback.api_key_env) if fallback.api_key_env else None
        protocol = fallback.protocol or usual
        own = options_of(fallback, NO_OPTIONS)
        return cls(fallback.base_url, fallback.model, key, protocol, own)


def protocol_family(protocol: ProtocolName) -> str:
    """Whose protocol it is: at one address both of OpenAI's may be spoken."""
    return ADDRESSES.get(protocol, protocol)


def options_of(given: ModelOptions, usual: ModelOptions) -> ModelOptions:
    """The options that are set, and the usual ones for the rest."""
    named = {name: getattr(given, name) for name in ModelOptions.model_fields}
    told = {name: value for name, value in named.items() if name in given.model_fields_set}
    return usual.replace(**told)
