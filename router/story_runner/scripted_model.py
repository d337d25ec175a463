"""A model that answers as a story says, question by question, and knows what it was asked.

A question that the story has no answer to is refused, so that the desk goes on as without a model;
the story fails of it, and says which question it was.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from router.domain.locale import Localised
from router.llm.prices import ModelPrice
from router.llm.request import estimated_prompt_tokens
from router.llm.types import (
    AssistantMessage,
    ChatAnswer,
    ChatRequest,
    FunctionCall,
    ModelRefused,
    OnText,
    TokenUsage,
)
from router.story.entries import ModelAnswer, end_of, written
from router.story.expectations import Mismatch

LONGEST = 200
"""Characters of a question's end that are told, where what it is about stands; and of an answer."""


@dataclass
class ScriptedModel:
    """Answers from a script, which is another one at each step."""

    endpoint: str = "the story's model"
    name: str = "scripted"
    price: ModelPrice | None = None
    may_see: bool = False
    """A story scripts what is answered to its messages, not what is found on papers."""
    _left: deque[ModelAnswer] = field(default_factory=deque)
    _scripted: int = 0
    _asked: list[str] = field(default_factory=list)
    _unseen: list[Mismatch] = field(default_factory=list)

    def expect(self, answers: Iterable[ModelAnswer]) -> None:
        """Have these be the answers from now on."""
        self._left = deque(answers)
        self._scripted = len(self._left)
        self._asked, self._unseen = [], []

    async def answer(
        self,
        request: ChatRequest,
        seconds: float,  # noqa: ARG002 - the protocol's
        on_text: OnText | None,  # noqa: ARG002 - a story sees what was said in the end
    ) -> ChatAnswer:
        """The next answer of the script; raises `ModelRefused` where there is none."""
        self._asked.append(_told(request))
        if not self._left:
            raise ModelRefused("the story scripts no answer to this question")
        given = self._left.popleft()
        if (missed := _missed(given, request)) is not None:
            self._unseen.append(missed)
        offered = {function.name for function in request.functions}
        calls = tuple(
            FunctionCall(id=f"call-{n}", name=name, arguments=arguments, known=name in offered)
            for n, (name, arguments) in enumerate(given.call or (), start=1)
        )
        tokens = estimated_prompt_tokens(request.messages, request.functions)
        return ChatAnswer(
            text=given.says or "",
            calls=calls,
            finish="calls" if calls else "stop",
            usage=TokenUsage(prompt_tokens=tokens, completion_tokens=1, estimated=True),
            model="scripted",
            how="functions",
            prompt=request.prompt,
        )

    async def aclose(self) -> None:
        """Nothing is held."""

    def mismatch(self) -> Mismatch | None:
        """What was asked otherwise than scripted since the script was given; None for nothing."""
        if len(self._asked) == self._scripted:
            return next(iter(self._unseen), None)
        wanted = Localised(
            zh=f"问模型 {self._scripted} 次",
            en=f"{self._scripted} question{'s' * (self._scripted != 1)} to the model",
        )
        left = [
            Localised(zh=f"没有用到：{one}", en=f"not asked for: {one}")
            for one in (written(each.model_dump(exclude_unset=True)) for each in self._left)
        ]
        found = [
            Localised(zh=f"第 {n} 次：{one}", en=f"question {n}: {one}")
            for n, one in enumerate(self._asked, start=1)
        ]
        return Mismatch([wanted, *left], found or [_UNASKED])


_UNASKED = Localised(zh="没有问模型", en="no question to the model")


def _missed(given: ModelAnswer, request: ChatRequest) -> Mismatch | None:
    """What the answer should have seen in the question and didn't."""
    whole, at = "\n".join(_texts(request)), 0
    for pattern in given.sees:
        end = end_of(pattern, whole, at)
        if end is None:
            zh, en = f"模型看到的内容里有：{pattern}", f"in what the model sees: {pattern}"
            return Mismatch([Localised(zh=zh, en=en)], [_told(request)])
        at = end
    return None


def _told(request: ChatRequest) -> str:
    """A question for people: what it was asked with, and how it ends."""
    last = " ".join(next(reversed([*_texts(request)]), "").split())
    shown = last if len(last) <= LONGEST else f"…{last[-LONGEST:]}"
    return f"{request.prompt or 'a prompt without a name'}: {shown}"


def _texts(request: ChatRequest) -> Iterator[str]:
    for message in request.messages:
        yield message.text
        if isinstance(message, AssistantMessage):
            yield from (f"{call.name} {written(call.arguments)}" for call in message.calls)
