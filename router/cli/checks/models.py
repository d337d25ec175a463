"""Whether models answer, and in which way they can be asked: the only place that probes."""

from router.assembly import SERVERS
from router.domain.errors import MisconfiguredError
from router.llm.abilities import ServerMemory, ServerMemoryFile
from router.llm.chat import ChatAnswer, ChatRequest, Function, UserMessage
from router.llm.errors import AccessRefused, ModelRefused
from router.llm.model import ChatModel
from router.settings import ModelAccess, Settings

SECONDS = 30.0
"""A small model on a small machine takes that long for its first word."""

_SAY = Function(
    name="say",
    description="Say one word.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 20}},
        "required": ["word"],
    },
)
_WAYS = {
    "functions": "functions",
    "json_schema": "a JSON schema",
    "json_object": "a JSON object",
    "text": "plain text",
}


async def model(settings: Settings) -> str:
    """Every model that is configured answers; what its server refuses is remembered."""
    accesses = settings.models
    if not accesses:
        return _none(settings)
    if settings.llm_skill_model:
        first = accesses[0]
        accesses.append(ModelAccess(first.base_url, settings.llm_skill_model, first.api_key))
    memory = ServerMemoryFile(settings.data / SERVERS)
    return "\n".join([await _probed(access, memory) for access in accesses])


def _none(settings: Settings) -> str:
    """Without a model rules decide; half of one is a slip."""
    if settings.llm_model:
        raise MisconfiguredError(
            f"ROUTER_LLM_MODEL={settings.llm_model} is nowhere: set ROUTER_LLM_BASE_URL to its "
            "server's address, or ROUTER_LLM_API_KEY for OpenAI's"
        )
    if settings.llm_base_url or settings.llm_api_key:
        half = "_API_KEY" if settings.llm_api_key else "_BASE_URL"
        said = f"none: something of a model is set (…{half}), and ROUTER_LLM_MODEL isn't"
        if f"ROUTER_LLM{half}" in settings.environment:
            raise MisconfiguredError(f"{said}: set it to the model's name")
        return f"{said}; set it to the model's name, or rules decide alone"
    return "none configured: rules decide, and offer what can be done"


async def _probed(access: ModelAccess, memory: ServerMemory) -> str:
    chat = ChatModel(access.base_url, access.model, access.api_key, memory)
    asked = UserMessage(text="Call the function say with the word yes.")
    probe = ChatRequest(messages=(asked,), functions=(_SAY,), max_tokens=64)
    try:
        answer = await chat.answer(probe, SECONDS)
    except ModelRefused as error:
        raise MisconfiguredError(f"{error}; {_remedy(error)}") from error
    finally:
        await chat.aclose()
    refused = ", ".join(sorted(memory.refused(chat.endpoint)))
    return f"{chat.endpoint} answers as {answer.model}, {_asked_by(answer)}" + (
        f"; it refuses {refused}" if refused else ""
    )


def _remedy(error: ModelRefused) -> str:
    if isinstance(error, AccessRefused):
        return "correct ROUTER_LLM_API_KEY, or see that it may use this model"
    return "correct ROUTER_LLM_MODEL and ROUTER_LLM_BASE_URL, which mostly ends with /v1"


def _asked_by(answer: ChatAnswer) -> str:
    way = f"asked by {_WAYS[answer.how]}"
    if any(call.known for call in answer.calls):
        return way
    return f"{way}, but it called nothing: expect it to decide little"
