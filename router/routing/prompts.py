"""Prompts: versioned files in both languages, and what a model is told of the conversation.

A file is `<job>-<version>.<language>.md`, such as `router-1.zh.md`. A version that is released
isn't edited; what is better becomes the next one, and gets a share of the traffic.

A model is told what never changes first, so that servers can keep most of it:
rules and what is always offered ▸ what is near ▸ history ▸ state and the message, marked as
somebody's words.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, get_args

from router.domain.errors import MisconfiguredError
from router.domain.locale import LOCALES, Locale, Localised
from router.domain.messages import RecalledCall, SpokenLine
from router.flow.paused import Situation
from router.llm.types import (
    NO_REASONING,
    AssistantMessage,
    FunctionCall,
    Message,
    Reasoning,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

Job = Literal[
    "router",
    "phrase",
    "skill",
    "review",
    "plan",
    "step",
    "reflect",
    "condense",
    "translate",
    "summarise",
    "suggest",
    "document",
    "structure",
]
JOBS: tuple[Job, ...] = get_args(Job)

SHIPPED = Path(__file__).parent / "prompts"

_FILE = re.compile(rf"(?P<job>{'|'.join(JOBS)})-(?P<number>[0-9]+)\.(?P<locale>zh|en)\.md")


@dataclass(frozen=True)
class Prompt:
    """The rules for one job, in one language."""

    version: str
    text: str

    @property
    def fingerprint(self) -> str:
        """The version with the digest of its text: recorded with every call.

        >>> Prompt("router-1", "Decide.").fingerprint
        'router-1@55f749c8'
        """
        return f"{self.version}@{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"


class Prompts:
    """Every version there is, and its share of the traffic.

    `shares` are weights by version. Of a job that none of them names, the newest version is
    used alone. A conversation keeps its version for as long as the shares stay the same.

    >>> Prompts.load().of("router", "conversation-1", "zh").version
    'router-1'
    """

    def __init__(self, texts: Mapping[str, Localised], shares: Mapping[str, int]) -> None:
        self._texts = texts
        self._shares: dict[str, dict[str, int]] = {}
        for job in JOBS:
            versions = [version for version in texts if _job(version) == job]
            versions.sort(key=lambda version: int(version.rpartition("-")[2]))
            named = {version: shares[version] for version in versions if shares.get(version)}
            self._shares[job] = named or {versions[-1]: 1}

    @classmethod
    def load(cls, folder: Path | None = None, shares: Mapping[str, int] | None = None) -> Self:
        """Those that ship and those of `folder`; raises `MisconfiguredError` for one of no use."""
        texts = _read(SHIPPED) | (_read(folder) if folder else {})
        shares = shares or {}
        for version in shares:
            if version not in texts:
                raise MisconfiguredError(
                    f"ROUTER_PROMPT_SHARES names {version!r}; there are: {', '.join(sorted(texts))}"
                )
        for job in set(map(_job, shares)):
            if not any(share for version, share in shares.items() if _job(version) == job):
                raise MisconfiguredError(
                    f"ROUTER_PROMPT_SHARES leaves nothing to any version of {job}: "
                    "give one of them more than 0"
                )
        return cls(texts, shares)

    @property
    def versions(self) -> list[str]:
        """The versions that get a share of the traffic."""
        return [version for shares in self._shares.values() for version in shares]

    def shared(self, job: Job) -> list[Prompt]:
        """All that questions of this job are asked with by now, in every language."""
        versions = self._shares[job]
        return [Prompt(v, self._texts[v].within(locale)) for v in versions for locale in LOCALES]

    def of(self, job: Job, conversation: str, locale: Locale) -> Prompt:
        """What this conversation's questions are asked with."""
        shares = self._shares[job]
        digest = hashlib.sha256(f"{job}:{conversation}".encode()).digest()
        drawn = int.from_bytes(digest[:8]) % sum(shares.values())
        for version, share in shares.items():
            drawn -= share
            if drawn < 0:
                return Prompt(version, self._texts[version].within(locale))
        raise AssertionError("shares add up to more than was drawn")


def _job(version: str) -> str:
    return version.rpartition("-")[0]


def _read(folder: Path) -> dict[str, Localised]:
    found: dict[str, dict[str, str]] = {}
    try:
        for path in sorted(folder.iterdir()):
            if match := _FILE.fullmatch(path.name):
                version = f"{match['job']}-{int(match['number'])}"
                found.setdefault(version, {})[match["locale"]] = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"{folder}: prompts can't be read: {error}") from error
    for version, texts in found.items():
        missing = [locale for locale in LOCALES if not texts.get(locale, "").strip()]
        if missing:
            raise MisconfiguredError(
                f"{folder}: {version} has no text in {' and '.join(missing)}; "
                f"write {version}.{missing[0]}.md"
            )
    return {version: Localised(**texts) for version, texts in found.items()}


LONGEST = 8_000
"""Characters: as many as a person may say."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def shown(text: str) -> str:
    r"""The text without control characters but tab and newline, and no longer than a message."""
    clean = _UNPRINTABLE.sub("", text).strip()
    return clean if len(clean) <= LONGEST else f"{clean[:LONGEST]}…"


LONGEST_QUESTION = 200
"""Characters of what a flow asks that a model is told."""


def messages(
    prompt: Prompt,
    text: str,
    history: Sequence[SpokenLine],
    state: str,
    beside: Callable[[str], UserMessage] = lambda text: UserMessage(text=text),
) -> tuple[Message, ...]:
    """The messages of one decision; `state` is what `state_of` gives.

    The last one is made by what it has `beside` its text.
    """
    said: list[Message] = [SystemMessage(text=prompt.text)]
    for line in history:
        written = f"<message>\n{material(line.text)}\n</message>"
        said += made(line.calls)
        of_user = line.role == "user"
        said.append(UserMessage(text=written) if of_user else AssistantMessage(text=line.text))
    return (*said, beside(f"{state}\n<message>\n{material(text)}\n</message>"))


def made(calls: Sequence[RecalledCall], reasoning: Reasoning = NO_REASONING) -> list[Message]:
    """Calls of before, each with its result, and what the model thought before them."""
    if not calls:
        return []
    asked = (FunctionCall(id=c.id, name=c.name, arguments=c.arguments) for c in calls)
    results = (ToolMessage(call_id=c.id, name=c.name, text=material(c.result)) for c in calls)
    return [AssistantMessage(calls=tuple(asked), reasoning=reasoning), *results]


def state_of(situation: Situation, earlier: Sequence[str] = ()) -> str:
    """When it is, which flows are under way, and what was wanted long before, in a line each."""
    lines = [f"Now: {situation.now:%A %Y-%m-%d %H:%M}."]
    active = situation.active
    if active is None or not active.asking:
        lines.append("No flow is active.")
    else:
        asked = ", ".join(active.awaiting) or "a confirmation"
        question = material(active.replies[-1].text)[:LONGEST_QUESTION] if active.replies else ""
        known = ", ".join(f"{name}={value}" for name, value in active.slots.items())
        lines.append(
            f"Active flow: {active.flow}, asking for {asked}{f' ({question})' if question else ''}"
            f"; known: <known>{material(known or 'nothing yet')}</known>."
        )
    if situation.paused:
        lines.append(f"Paused, to be taken up after it: {', '.join(situation.paused)}.")
    if situation.answered:
        lines.append(
            f"The skill {situation.answered} has just answered; what continues or changes its "
            f"answer is for it."
        )
    if earlier:
        lines += ["Before all that, in short:", *(f"- {material(gist)}" for gist in earlier)]
    return "\n".join(lines)


def material(text: str) -> str:
    """Somebody's words, unable to end the section that they stand in, whatever it is called."""
    return text.replace("</", "<\\/")
