"""A question about an answer that a model answers by yes or no, where no rule can.

Only evaluation asks: nothing that a person is shown depends on it.
"""

from router.llm.types import ChatAnswer, ChatRequest, SystemMessage, UserMessage
from router.routing.offer import function
from router.routing.prompts import Prompt, material, shown

VERDICT = "verdict"
MOST_TOKENS = 200
_FUNCTION = function(
    VERDICT,
    "Say whether the answer to the question is yes.",
    why={"type": "string", "maxLength": 400, "description": "in a sentence"},
    yes={"type": "boolean"},
)


def request(prompt: Prompt, question: str, answer: str) -> ChatRequest:
    """What the judge is asked: the question, and what it is about, marked as material."""
    told = f"<answer>\n{material(answer)}\n</answer>\n<question>\n{material(question)}\n</question>"
    return ChatRequest(
        messages=(SystemMessage(text=prompt.text), UserMessage(text=told)),
        functions=(_FUNCTION,),
        max_calls=1,
        max_tokens=MOST_TOKENS,
        prompt=prompt.fingerprint,
    )


def read(answer: ChatAnswer) -> tuple[bool, str] | None:
    """Whether it is yes, and why; None where the judge said neither yes nor no."""
    call = next((call for call in answer.calls if call.name == VERDICT), None)
    yes = call.arguments.get("yes") if call else None
    if call is None or not isinstance(yes, bool):
        return None
    why = call.arguments.get("why")
    return yes, shown(why) if isinstance(why, str) else ""
